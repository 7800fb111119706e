#!/usr/bin/env bash
# A value is read as a type only if the function was declared with that type: every C function, declared with another type
# for each of its arguments and for its result, raises an error and never crashes.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main
server_psql main -c "CREATE EXTENSION pg_lsbf"
if [[ -f $("$TREE_PG_CONFIG" --sharedir)/extension/vector.control ]]; then
  server_psql main -c "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector"
fi
server_psql main <<'SQL'
CREATE TABLE plain AS SELECT ARRAY[i, 2 * i, 3 * i]::real[] AS v FROM generate_series(1, 50) i;
CREATE DOMAIN lsbf_domain AS bigint;
-- A valid value of each type, and of arguments that need another one.
CREATE TABLE samples (type text, value text);
CREATE TABLE words (name text, value text);
INSERT INTO words VALUES ('metric', '''l2''::text'), ('alphabet', '''bits''::text'), ('transform', '''dense''::text'), ('match', '''any''::text'), ('prefer', '''small''::text'),
  ('attribute', '''v''::text'), ('unit', '''word''::text'), ('far', '5::float8'), ('fpr', '0.1::float8'), ('fnr', '0.1::float8'), ('sample', '50::int'), ('length', '9::float8');
INSERT INTO samples VALUES ('lsbf', '(SELECT lsbf_add(lsbf_new(capacity => 10, near => 1), ''{1,2,3}''::real[]))'),
  ('bit', 'B''101'''), ('bit varying', 'B''101''::varbit'), ('bytea', '''\x05''::bytea'), ('real[]', '''{1,2,3}''::real[]'),
  ('double precision[]', '''{1,2,3}''::float8[]'), ('numeric[]', '''{1,2,3}''::numeric[]'), ('integer[]', '''{1,2,3}''::int[]'),
  ('bigint[]', '''{1,2,3}''::bigint[]'), ('text[]', '''{1,2,3}''::text[]'), ('text', '''{1,2,3}''::text'), ('double precision', '1::float8'),
  ('integer', '3::int'), ('bigint', '3::bigint'), ('boolean', 'true'), ('regclass', '''plain''::regclass'), ('cstring', '''x''::cstring'),
  ('vector', '''[1,2,3]''::vector'), ('halfvec', '''[1,2,3]''::halfvec'), ('sparsevec', '''{1:1}/3''::sparsevec');

-- Declares a function of the library with these types and calls it: the SQLSTATE of the error, or the result.
CREATE FUNCTION outcome(symbol text, kind text, types text[], result text, given text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE format('CREATE FUNCTION pg_temp.declared(%s) RETURNS %s AS ''$libdir/pg_lsbf'', %L LANGUAGE C %s', array_to_string(types, ', '),
    result, symbol, CASE WHEN kind = 'w' THEN 'WINDOW' ELSE '' END);
  EXECUTE format('SELECT (pg_temp.declared(%s)%s)::text', array_to_string(given, ', '), CASE WHEN kind = 'w' THEN ' OVER ()' ELSE '' END)
    INTO answer;
  RETURN coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || CASE WHEN SQLSTATE = '42P13' THEN '' ELSE ': ' || SQLERRM END;
END $$;

-- Every argument replaced in turn, by a number instead of a pointer and by a text; NULL for types without a sample.
CREATE TABLE outcomes AS
WITH ours AS (
  SELECT p.oid, p.proname, p.prosrc, p.prokind, p.proisstrict, p.proretset, pg_get_function_result(p.oid) AS result, p.proargnames,
    ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n) ORDER BY n) AS types
  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname ^@ 'pg_lsbf'
  WHERE p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
), given AS (
  SELECT ours.*, ARRAY(SELECT coalesce(w.value, s.value, 'NULL') FROM unnest(types) WITH ORDINALITY AS a (t, n)
      LEFT JOIN words w ON w.name = proargnames[n] LEFT JOIN samples s ON type = t ORDER BY n) AS filled
  FROM ours
)
SELECT proname, prosrc, 'argument ' || n AS what, w.name AS instead,
  outcome(prosrc, prokind::text, types[:n - 1] || w.name || types[n + 1:], result, filled[:n - 1] || w.value || filled[n + 1:]) AS outcome
FROM given, generate_subscripts(types, 1) AS n, (VALUES ('bigint', '12345::bigint'), ('text', '''x''::text'), ('lsbf_domain', '12345::lsbf_domain')) AS w (name, value)
WHERE types[n] <> w.name
UNION ALL
SELECT proname, prosrc, 'result', w.name, outcome(prosrc, prokind::text, types, w.name, filled)
FROM given, (VALUES ('bigint'), ('text'), ('TABLE (a bigint, b text)'), ('lsbf_domain')) AS w (name)
WHERE result <> w.name AND 'internal' <> ALL (types) AND 'cstring' <> ALL (types);
SQL
query() { server_query main "$1"; }
assert_at_most "every function was tested" 400 "$(query "SELECT count(*) FROM outcomes")"
assert_eq "every wrong type is refused" "$(query "SELECT proname, prosrc, what, instead, outcome FROM outcomes WHERE outcome <> '42P13' LIMIT 20")" ""
assert_eq "the server did not crash" "$(grep -c "was terminated by signal" "$(server_dir main)/log" || true)" 0
assert_match "the error names function, argument and type" "$(server_psql main -v ON_ERROR_STOP=0 -v VERBOSITY=verbose 2>&1 <<'SQL'
CREATE FUNCTION pg_temp.wrong(bigint, real[], float8) RETURNS boolean AS '$libdir/pg_lsbf', 'approx_member_real' LANGUAGE C STRICT;
SELECT pg_temp.wrong(12345, '{1,2,3}', 1);
SQL
)" '42P13: argument 1 of function wrong must not be of type bigint'
# The type is identified by the C code of its input function.
assert_eq "an input function with SET options is still recognized" \
  "$(query "ALTER FUNCTION lsbf_in(cstring) SET search_path = pg_catalog; ALTER FUNCTION lsbf_kind(lsbf) SET work_mem = '4MB'"; query "SELECT lsbf_kind(lsbf_new(capacity => 10, near => 1)::text::lsbf)")" lsbf
