#!/usr/bin/env bash
# The extension scripts refer to the intended objects only: both extensions are installed in schemas with unusual names, by a
# superuser and by an unprivileged role, among traps for every name in the scripts. No object of the extensions depends on a
# trap, and no trap is called.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main "max_parallel_workers_per_gather = 4" "min_parallel_table_scan_size = 0" "parallel_setup_cost = 0" "parallel_tuple_cost = 0" \
  "client_min_messages = error"
# Unusual names for the schemas of pg_lsbf, pgvector and pg_lsbf_vector.
base='"base $'"'"'s ""x"'
vec='"Vec %2$I"'
here='"%1$I @extschema@"'
has_vector=
[[ -f $("$TREE_PG_CONFIG" --sharedir)/extension/vector.control ]] && has_vector=1
# Every word of the scripts.
grep -ohE '[A-Za-z_][A-Za-z0-9_]*' sql/pg_lsbf.sql vector/pg_lsbf_vector.sql | tr A-Z a-z | sort -u | grep -vx '_' >"$WORK/words"

# prepare DATABASE ROLE: a database with the list of words, the schemas and pgvector
prepare() {
  server_run createdb main "$1"
  server_psql main -d "$1" <<SQL
CREATE TABLE public.words (word text);
\copy public.words FROM '$WORK/words'
GRANT CREATE ON DATABASE "$1" TO mallory;
GRANT CREATE ON SCHEMA public TO mallory;
GRANT SELECT ON public.words TO mallory;
CREATE SCHEMA $vec;
GRANT USAGE ON SCHEMA $vec TO mallory;
SET ROLE $2;
CREATE SCHEMA traps; CREATE SCHEMA $base; CREATE SCHEMA $here;
SQL
  [[ -z $has_vector ]] || server_query main "CREATE EXTENSION vector SCHEMA $vec" "$1"
}

# set_traps DATABASE ROLE: functions and types in the schemas of both extensions, in public and in traps, where they can be
# created
set_traps() {
  server_psql main -d "$1" <<SQL
SET ROLE $2;
DO \$do\$
DECLARE
  place regnamespace;
  word text;
  body text := \$\$ BEGIN RAISE EXCEPTION 'trapped by %', 'a name'; END \$\$;
  f record;
BEGIN
  FOREACH place IN ARRAY ARRAY['traps', 'public', \$\$$base\$\$, \$\$$here\$\$]::regnamespace[] LOOP
    FOR word IN SELECT w.word FROM public.words w WHERE w.word <> 'words' LOOP
      BEGIN EXECUTE format('CREATE FUNCTION %s.%I(anyelement) RETURNS anyelement LANGUAGE plpgsql AS %L', place, word, body); EXCEPTION WHEN OTHERS THEN NULL; END;
      BEGIN EXECUTE format('CREATE FUNCTION %s.%I(anyelement, anyelement) RETURNS anyelement LANGUAGE plpgsql PARALLEL SAFE AS %L', place, word, body); EXCEPTION WHEN OTHERS THEN NULL; END;
      BEGIN EXECUTE format('CREATE DOMAIN %s.%I AS bigint', place, word); EXCEPTION WHEN OTHERS THEN NULL; END;
    END LOOP;
    -- Functions with the signatures of the extension, if it exists and they do not.
    FOR f IN SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS args, format_type(p.prorettype, NULL) AS result FROM pg_proc p
        JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'pg_lsbf' LOOP
      BEGIN EXECUTE format('CREATE FUNCTION %s.%I(%s) RETURNS %s LANGUAGE plpgsql PARALLEL SAFE AS %L', place, f.proname, f.args, f.result, body); EXCEPTION WHEN OTHERS THEN NULL; END;
    END LOOP;
  END LOOP;
END \$do\$;
SQL
}

# without_types DATABASE ROLE: drops the traps that would only prevent the installation
without_types() {
  server_query main "SET ROLE $2; DROP DOMAIN IF EXISTS $base.lsbf, $base.lsbf_choice" "$1"
}

# depends DATABASE: dependencies of the extensions on objects that belong neither to an extension nor to PostgreSQL
depends() {
  server_query main "
    WITH ours AS (SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
        WHERE d.deptype = 'e' AND e.extname ^@ 'pg_lsbf'),
      any_extension AS (SELECT d.classid, d.objid FROM pg_depend d WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass)
    SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0) || ' depends on ' || pg_describe_object(d.refclassid, d.refobjid, 0)
    FROM pg_depend d JOIN ours USING (classid, objid)
    WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass)
      AND (d.refclassid, d.refobjid) NOT IN (SELECT * FROM any_extension) AND (d.refclassid, d.refobjid) NOT IN (SELECT * FROM ours)
      AND NOT EXISTS (SELECT FROM pg_depend i WHERE i.classid = d.refclassid AND i.objid = d.refobjid AND i.deptype = 'i') LIMIT 5" "$1"
}

server_psql main -c "CREATE ROLE mallory"
for role in postgres mallory; do
  prepare "by_$role" "$role"
  set_traps "by_$role" "$role"
  without_types "by_$role" "$role"
  query() { server_query main "$1" "by_$role"; }
  assert_at_most "$role: traps are set" 1000 "$(query "SELECT count(*) FROM pg_proc WHERE prosrc ~ 'trapped by'")"
  query "SET ROLE $role; SET search_path = traps, public; CREATE EXTENSION pg_lsbf SCHEMA $base"
  assert_eq "$role: pg_lsbf depends on no trap" "$(depends "by_$role")" ""
  set_traps "by_$role" "$role"
  if [[ -n $has_vector ]]; then
    # Membership in the extension proves nothing: its owner can add objects.
    query "SET ROLE $role; CREATE SCHEMA mine; CREATE DOMAIN mine.lsbf AS bigint; ALTER EXTENSION pg_lsbf ADD DOMAIN mine.lsbf;
      CREATE FUNCTION mine.lsbf_union(mine.lsbf, mine.lsbf) RETURNS mine.lsbf LANGUAGE sql AS 'SELECT \$1'"
    query "SET ROLE $role; SET search_path = traps, mine, public; CREATE EXTENSION pg_lsbf_vector SCHEMA $here"
    assert_eq "$role: pg_lsbf_vector depends on no trap" "$(depends "by_$role")" ""
    assert_eq "$role: pg_lsbf_vector does not depend on objects added to pg_lsbf" \
      "$(query "SELECT count(*) FROM pg_depend WHERE refobjid = 'mine.lsbf'::regtype AND deptype = 'n' AND classid = 'pg_proc'::regclass
        AND objid <> 'mine.lsbf_union(mine.lsbf, mine.lsbf)'::regprocedure")" 0
  fi
  vectors=
  if [[ -n $has_vector ]]; then
    vectors="SELECT 'vector ' || $base.lsbf_members($here.lsbf_agg(v::$vec.vector, (SELECT p FROM pg_temp.p))) FROM $base.many;
      EXPLAIN (COSTS off) SELECT $here.lsbf_agg(v::$vec.vector, (SELECT p FROM pg_temp.p)) FROM $base.many;
      SELECT 'member ' || $here.approx_member(p, '[1,2]'::$vec.vector) FROM pg_temp.p;"
  fi
  output=$(server_psql main -d "by_$role" -At -v ON_ERROR_STOP=0 2>&1 <<SQL
SET search_path = traps, public, $here, $base;
CREATE TABLE $base.many AS SELECT ARRAY[i, 2 OPERATOR(pg_catalog.*) i]::pg_catalog.float4[] AS v FROM pg_catalog.generate_series(1, 20000) i;
ANALYZE $base.many;
CREATE VIEW pg_temp.p AS SELECT $base.lsbf_new(dims => 2, capacity => 20000, near => 0.5) AS p;
SELECT 'real ' || $base.lsbf_members($base.lsbf_agg(v, (SELECT p FROM pg_temp.p))) FROM $base.many;
SELECT 'union ' || $base.lsbf_members($base.lsbf_union_agg(p)) FROM pg_temp.p;
SELECT 'equal ' || pg_catalog.count(DISTINCT p) FROM pg_temp.p;
$vectors
SQL
  )
  assert_eq "$role: no trap is called, and no error is raised" "$(grep -E "ERROR|trapped" <<<"$output" || true)" ""
  assert_match "$role: a filter of arrays is built" "$output" "real 19[0-9]{3}"
  if [[ -n $has_vector ]]; then
    assert_match "$role: a filter of vectors is built in parallel" "$output" "vector 19[0-9]{3}.*Partial Aggregate"
  fi
done

if [[ -n $has_vector ]]; then
  # A function that was replaced is detected, whatever its name: the script checks what the new objects refer to.
  server_run createdb main moved
  server_psql main -d moved <<'SQL'
CREATE EXTENSION vector; CREATE SCHEMA ext; CREATE EXTENSION pg_lsbf SCHEMA ext; CREATE SCHEMA elsewhere;
ALTER FUNCTION ext.lsbf_union(ext.lsbf, ext.lsbf) SET SCHEMA elsewhere;
CREATE FUNCTION ext.lsbf_union(ext.lsbf, ext.lsbf) RETURNS ext.lsbf LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
SQL
  assert_match "a function that was replaced is refused" \
    "$(server_psql main -d moved -v ON_ERROR_STOP=0 -v VERBOSITY=verbose -c "CREATE EXTENSION pg_lsbf_vector" 2>&1)" \
    '55000: "(ext.)?lsbf_union" does not belong to pg_lsbf or pgvector'
  assert_eq "the failed installation leaves nothing behind" "$(server_query main "SELECT count(*) FROM pg_extension WHERE extname = 'pg_lsbf_vector'" moved)" 0
  assert_match "an old pgvector is refused" "$(server_psql main -d moved -v ON_ERROR_STOP=0 -v VERBOSITY=verbose 2>&1 <<'SQL'
DROP FUNCTION ext.lsbf_union(ext.lsbf, ext.lsbf);
ALTER FUNCTION elsewhere.lsbf_union(ext.lsbf, ext.lsbf) SET SCHEMA ext;
UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector';
CREATE EXTENSION pg_lsbf_vector;
SQL
)" '55000: pg_lsbf_vector needs pgvector 0.7 or later'
  assert_eq "pgvector 0.10 counts as later than 0.7" "$(server_query main "UPDATE pg_extension SET extversion = '0.10.0-dev' WHERE extname = 'vector';
    CREATE EXTENSION pg_lsbf_vector; SELECT count(*) FROM pg_extension WHERE extname = 'pg_lsbf_vector'" moved | tail -1)" 1
fi
assert_eq "the server did not crash" "$(grep -c "was terminated by signal" "$(server_dir main)/log" || true)" 0
