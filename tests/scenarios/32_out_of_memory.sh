#!/usr/bin/env bash
# A backend that runs out of memory (its address space is limited while it runs) reports 53200, whatever it is doing; no other
# session is affected, and every member is found.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/faults.sh"

if ! command -v prlimit >/dev/null; then
  echo "skip - $SCENARIO: no prlimit here"
  exit 0
fi
server_start main "jit = off" "max_parallel_workers_per_gather = 0"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 20000) AS id;
CREATE TABLE reals AS
  SELECT id, ARRAY(SELECT (100 * sin(id * j ^ 1.5))::real FROM generate_series(1, 32) AS j) AS v FROM generate_series(1, 2000) AS id;
CREATE TABLE filters AS
  SELECT lsbf_agg(v, dsbf_new(dims => 256, capacity => 1000000, near => 0.02, far => 0.4)) AS f FROM vectors;
CREATE TABLE sets AS
  SELECT array_agg(id)::text AS t, lsbf_new(metric => 'jaccard', match => 'any', near => 0.2, capacity => 1000) AS f FROM generate_series(1, 300000) AS id;
\i scripts/lib/peak.sql
CREATE TABLE nothing (line text);
-- Limits the address space of this backend to `more` kB above its current size. The server's user may lower its own limits.
CREATE FUNCTION limit_memory(more bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY nothing FROM PROGRAM %L', format('prlimit --pid %s --as=%s', pg_backend_pid(),
    1024 * (more + (regexp_match(pg_read_file('/proc/self/status'), 'VmSize:\s+(\d+)'))[1]::bigint)));
END $$;
SQL

# A session that stays connected throughout.
started=$(server_query main "SELECT pg_postmaster_start_time()")
session_start main bystander "SELECT pg_sleep(600)"
bystander=$(session_busy main bystander)

# runs_out NAME SQL KB...: an error if only KB more memory is available, no error if there is enough
runs_out() {
  local name=$1 sql=$2 kb output first
  shift 2
  for kb in "$@" 400000; do
    output=$(server_psql main -v ON_ERROR_STOP=0 -v VERBOSITY=verbose 2>&1 <<SQL || true
SELECT approx_member(dsbf_new(capacity => 10, near => 0.1), B'01') \g /dev/null
SELECT limit_memory($kb) \g /dev/null
$sql \g /dev/null
SQL
    )
    first=$(grep -v NOTICE <<<"$output" | head -1)
    if ((kb == 400000)); then
      assert_eq "$name, enough memory: no error" "$(grep ERROR <<<"$output" || true)" ""
    else
      assert_match "$name, $kb kB more: an error" "$first" "^(ERROR|FATAL): +53200: out of memory"
    fi
  done
}

large="dsbf_new(dims => 256, capacity => 1000000, near => 0.02, far => 0.4)"
runs_out "lsbf_agg" "SELECT pg_column_size(lsbf_agg(v, $large)) FROM vectors" 1000 32000
runs_out "lsbf_add" "SELECT pg_column_size(lsbf_add(f, v)) FROM filters, vectors LIMIT 1" 1000 32000
runs_out "lsbf_union_agg" "SELECT pg_column_size(lsbf_union_agg(f)) FROM (SELECT f FROM filters UNION ALL SELECT f FROM filters) s" 1000 32000
runs_out "approx_member" "SELECT count(*) FROM vectors, filters WHERE approx_member(f, v)" 1000 8000
runs_out "random projections" "SELECT approx_member(lsbf_new(dims => 16000, tables => 100, hashes => 10, near => 0.5, capacity => 1000, transform => 'dense'),
  array_fill(1::real, ARRAY[16000]))" 1000 32000
runs_out "choosing parameters" "SELECT lsbf_new(metric => 'l1', dims => 32, match => 'any', near => 0.5, capacity => 1000)" 1000 8000
runs_out "lsbf_design_for" "SELECT count(*) FROM lsbf_design_for('reals', 'v', near => 20)" 1000 8000 16000
runs_out "lsbf_shingles" "SELECT lsbf_shingles(string_agg(md5(id::text), ' ')) FROM vectors" 1000 8000 16000
# The text is parsed into memory whose allocation cannot fail: the session ends with FATAL.
runs_out "a set of 300,000 elements as text" "SELECT lsbf_kind(lsbf_add(f, t)) FROM sets" 1000 4000 6000
runs_out "lsbf_seen" "SELECT count(*) FROM (SELECT lsbf_seen(v, $large) OVER (ORDER BY id) AS seen FROM vectors) s WHERE seen" 1000 8000
runs_out "text form" "SELECT length(f::text) FROM filters" 1000 32000

# takes NAME SQL: growth of a backend's peak memory, without shared buffers, as a multiple of the filter's size
takes() {
  local times
  times=$(server_psql main -At <<SQL
SELECT approx_member(dsbf_new(capacity => 10, near => 0.1), B'01') \g /dev/null
SELECT peak() AS before \gset
$2;
SELECT round((peak() - :before) * 1024.0 / pg_column_size(f), 1) FROM filters;
SQL
  )
  assert_at_most "$1 takes ${times##*$'\n'} times the size of the filter, within the documented limit of 6" "${times##*$'\n'}" 6
}
takes "lsbf_union_agg" "SELECT lsbf_kind(lsbf_union_agg(f)) FROM (SELECT f FROM filters UNION ALL SELECT f FROM filters) s"
takes "dumping" "COPY filters TO '$(server_dir main)/filters.copy'"
takes "restoring" "CREATE TEMP TABLE restored (f lsbf); COPY restored FROM '$(server_dir main)/filters.copy'"

assert_eq "no other session was affected" "$(server_query main "SELECT pg_postmaster_start_time(), pid FROM pg_stat_activity WHERE application_name = 'bystander'")" \
  "$started|$bystander"
assert_eq "no process was terminated by a signal" "$(grep 'terminated by signal' "$(server_dir main)/log" || true)" ""
assert_eq "every member is found" "$(server_query main "SELECT count(*) FROM vectors, filters WHERE approx_member(f, v)")" 20000
server_query main "SELECT pg_terminate_backend($bystander)" >/dev/null
wait "$SESSION" || true
