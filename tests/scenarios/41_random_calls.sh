#!/usr/bin/env bash
# Every function of both extensions, called with extreme arguments: a result or a clear error, in bounded time and memory.
#   CALLS=...   number of calls of each function; SEED=... for other arguments
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

CALLS=${CALLS:-25}
SEED=${SEED:-1}
server_start main "jit = off" "max_parallel_workers_per_gather = 0"
server_psql main -c "CREATE EXTENSION pg_lsbf; CREATE TABLE golden (id serial, f lsbf)"
sed -e '$a\' crates/lsbf/tests/golden/*.txt | server_psql main -c "COPY golden (f) FROM STDIN"
[[ ! -f $("$TREE_PG_CONFIG" --sharedir)/extension/vector.control ]] ||
  server_psql main -c "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector"

server_psql main <<'SQL'
INSERT INTO golden (f) VALUES
  (dsbf_new(capacity => 10, near => 0.1)), (lsbf_new(capacity => 10, near => 1)), (ilbf_new(capacity => 10, near => 1)),
  (lsbf_new(match => 'any', capacity => 10, near => 0.1, metric => 'jaccard')), (lsqf_new(near => 1)), (lsqf_new(metric => 'cosine', dims => 3, near => 0.1, max_theta => 16)),
  (dsbf_new(metric => 'l2', dims => 65536, tables => 255, hashes => 1, capacity => 1000, near => 1)),
  (dsbf_new(metric => 'jaccard', tables => 255, hashes => 64, capacity => 10, near => 1e-300, far => 1)),
  (ilbf_new(dims => 24, near => 1e305, capacity => 2)), (ilbf_new(dims => 24, near => 1e-300, capacity => 2));
-- Filters with enough members to be words, as most of the golden files become lists when they are read.
INSERT INTO golden (f)
  SELECT lsbf_agg(('x' || md5(id::text))::bit(24), p) FROM generate_series(1, 40) AS id, (VALUES
    (dsbf_new(dims => 24, capacity => 20, near => 0.05, far => 0.4)), (lsbf_new(metric => 'hamming', dims => 24, capacity => 20, near => 0.05))) AS t(p) GROUP BY p;
INSERT INTO golden (f) SELECT lsbf_agg(ARRAY[sin(id), cos(id), sin(id * id)]::real[], lsqf_new(dims => 3, near => 0.1)) FROM (VALUES (5), (100)) AS t(n), generate_series(1, n) AS id GROUP BY n;
-- Declared immutable, so that the planner sees a constant, as it does with a literal.
CREATE FUNCTION filter(n int) RETURNS lsbf IMMUTABLE LANGUAGE sql AS 'SELECT f FROM golden WHERE id = n';
CREATE TABLE data (id int, v real[], b bit(24), t text, s int[], n numeric[], "odd ""name" float8[]);
INSERT INTO data SELECT i, ARRAY[i::real, 'NaN', 1]::real[], B'1'::bit(24), '', '{}', '{NaN}', ARRAY[i, 2 * i, 3] FROM generate_series(1, 20) i;

-- Extreme arguments by type: each line of extremes.tsv has types and an expression. Types that are not listed get NULL only.
CREATE TABLE listed (types text, value text);
SQL
server_psql main -c "COPY listed FROM STDIN (FORMAT csv, DELIMITER E'\\t', QUOTE E'\\b')" <tests/scenarios/extremes.tsv
server_psql main <<'SQL'
CREATE TABLE extremes AS
  SELECT type, value FROM listed, unnest(string_to_array(types, ',')) AS type
  UNION ALL SELECT 'lsbf', format('filter(%s)', id) FROM golden
  UNION ALL SELECT 'lsbf', format('(SELECT f FROM golden WHERE id = %s)', id) FROM golden;
CREATE INDEX ON extremes (type);

-- Ordinary arguments, so that the other ones are reached.
CREATE TABLE plain (name text, type text, value text);
INSERT INTO plain VALUES ('near', 'double precision', '0.1'), ('capacity', 'bigint', '100'), ('dims', 'integer', '24'), ('metric', 'text', '''l2'''),
  ('theta', 'double precision', '1'), ('distance', 'double precision', '1'), ('prefer', 'text', '''fast'''), ('points', 'integer', '5'),
  ('relation', 'regclass', '''data'''), ('attribute', 'text', '''odd "name'''), ('sample', 'integer', '20'), ('n', 'integer', '3'), ('unit', 'text', '''word''');

CREATE FUNCTION draw(n bigint, salt bigint, below bigint) RETURNS int IMMUTABLE LANGUAGE sql AS
  $$ SELECT ((hashint8extended(n, salt) % below + below) % below)::int $$;

-- An argument; extreme ones are more frequent if the function has few arguments.
CREATE FUNCTION argument(arg_name text, arg_type text, args int, n bigint) RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(CASE
    WHEN draw(n, 1, 20) = 0 THEN NULL
    WHEN draw(n, 2, 100) < 150 / greatest(args, 5) OR arg_type IN ('lsbf', 'bytea', 'cstring') OR arg_name = 'vec' THEN
      (SELECT value FROM extremes WHERE type = arg_type ORDER BY hashtextextended(value, n) LIMIT 1)
    ELSE (SELECT value FROM plain p WHERE p.name = arg_name AND p.type = arg_type) END, 'NULL')
$$;

CREATE TABLE calls (function text, call text, state text, message text, ms float8, kb bigint);

\i scripts/lib/peak.sql

-- A call of a function. Results are counted as text, so that they must be computed.
CREATE FUNCTION call_of(function oid, n bigint) RETURNS text LANGUAGE sql AS $$
  SELECT format(CASE prokind WHEN 'w' THEN 'SELECT count(r::text) FROM (SELECT %s(%s) OVER () AS r FROM generate_series(1, 3)) s'
      WHEN 'a' THEN 'SELECT count(r::text) FROM (SELECT %s(%s) AS r FROM generate_series(1, 3)) s'
      ELSE 'SELECT count(r::text) FROM (SELECT %s(%s) AS r OFFSET 0) s' END,
    oid::regproc, (SELECT string_agg(format('%s::%s', argument(proargnames[i], format_type(proargtypes[i - 1], NULL), pronargs, n * 64 + i),
      CASE format_type(proargtypes[i - 1], NULL) WHEN 'bit' THEN 'pg_catalog."bit"' ELSE format_type(proargtypes[i - 1], NULL) END), ', ' ORDER BY i)
      FROM generate_series(1, pronargs) i))
  FROM pg_proc WHERE oid = function
$$;

CREATE PROCEDURE call_all(times int, seed int) LANGUAGE plpgsql AS $$
DECLARE
  f record;
  call text;
  start timestamptz;
  before bigint;
  state text;
  message text;
  answered boolean;
BEGIN
  FOR f IN SELECT p.oid, p.oid::regprocedure::text AS name FROM pg_proc p
    JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname IN ('pg_lsbf', 'pg_lsbf_vector')
    -- Functions with an internal argument cannot be called from SQL.
    WHERE NOT 'internal'::regtype = ANY (proargtypes) ORDER BY 2
  LOOP
    answered := false;
    -- More calls for a function that has not succeeded yet.
    FOR i IN 1..10 * times LOOP
      EXIT WHEN i > times AND answered;
      call := call_of(f.oid, seed * 1000003::bigint + hashtext(f.name) + i);
      -- If the backend crashes, the log ends with the call.
      RAISE LOG 'calling %', call;
      start := clock_timestamp();
      before := peak();
      state := '00000';
      message := '';
      BEGIN
        EXECUTE call;
        answered := true;
      EXCEPTION WHEN OTHERS THEN
        state := SQLSTATE;
        message := SQLERRM;
      END;
      INSERT INTO calls VALUES (f.name, call, state, message, extract(epoch FROM clock_timestamp() - start) * 1000, peak() - before);
    END LOOP;
    COMMIT;
  END LOOP;
END $$;
SQL

query() { server_query main "$1"; }
server_psql main -o /dev/null -c "SET client_min_messages = error" -c "CALL call_all($CALLS, $SEED)"
# For the hash functions of a filter and the cached ones, 64 MB each, and the simulations that predict rates.
assert_eq "no call takes more than 200 MB" "$(query "SELECT kb, call FROM calls WHERE kb > 200000")" ""
kb=$(query "SELECT sum(kb) FROM calls")
assert_at_most "memory stays within bounds (grew by $kb kB)" "$kb" 786432
functions=$(query "SELECT count(DISTINCT function) FROM calls")
assert_at_most "more than 100 functions were called ($functions, $(query "SELECT count(*) FROM calls") calls)" 100 "$functions"
# Invalid data, parameters and text, exceeded limits, missing tables and columns, and unsupported types.
assert_eq "every error has a suitable SQLSTATE" \
  "$(query "SELECT state, message, call FROM calls WHERE state !~ '^(00000|22...|54000|42P01|42703|42809|42846|0A000|55000)\$' LIMIT 5")" ""
assert_eq "no message shows a panic" \
  "$(query "SELECT message, call FROM calls WHERE message ~* 'panic|unwrap|out of range for slice|out of bounds|attempt to|\.rs\y|internal error' LIMIT 5")" ""
assert_eq "every error says what is wrong" "$(query "SELECT call FROM calls WHERE state <> '00000' AND length(message) < 10 LIMIT 5")" ""
assert_eq "no call takes more than 10 s" "$(query "SELECT round(ms), call FROM calls WHERE ms > 10000 ORDER BY ms DESC LIMIT 5")" ""
assert_eq "every function succeeded at least once" \
  "$(query "SELECT function FROM calls GROUP BY function HAVING bool_and(state <> '00000')")" ""
assert_eq "the server did not crash or panic" \
  "$(grep -cE 'PANIC|panicked|terminated by signal|was terminated' "$(server_dir main)/log" || true)" 0
