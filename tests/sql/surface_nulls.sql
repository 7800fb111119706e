-- NULL in each argument position of every function. A strict function returns NULL; the others are tested below.
CREATE VIEW ours AS
  SELECT p.* FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
  JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass WHERE extname = 'pg_lsbf';

-- A value of each type, so that the other arguments are not NULL.
CREATE TABLE samples(type regtype, sample text);
INSERT INTO samples VALUES ('lsbf', 'lsbf_new(capacity => 10, near => 0.1)'), ('bit', 'B''1'''), ('bit varying', 'B''1''::varbit'), ('bytea', '''\x00''::bytea'),
  ('real[]', 'ARRAY[1]::real[]'), ('double precision[]', 'ARRAY[1]::float8[]'), ('numeric[]', 'ARRAY[1.5]'), ('integer[]', 'ARRAY[1]'), ('bigint[]', 'ARRAY[1]::bigint[]'),
  ('text[]', 'ARRAY[''a'']'), ('text', '''[1]''::text'), ('double precision', '1::float8'), ('bigint', '1::bigint'), ('integer', '1'), ('cstring', '''x''::cstring');
CREATE FUNCTION call_with_null(f name, types oidvector, at int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  arguments text;
  result text;
BEGIN
  SELECT string_agg(CASE WHEN n = at THEN 'NULL::' || t::regtype ELSE sample END, ', ' ORDER BY n) INTO arguments
    FROM unnest(types) WITH ORDINALITY AS u(t, n) LEFT JOIN samples ON type = t::regtype;
  EXECUTE format('SELECT (%I(%s))::text', f, arguments) INTO result;
  RETURN coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
CREATE TABLE outcomes AS SELECT proname, at, call_with_null(proname, proargtypes, at) AS outcome
  FROM ours, generate_series(1, pronargs) at WHERE proisstrict AND NOT 'internal'::regtype = ANY (proargtypes) AND prokind = 'f';
SELECT outcome, count(*) FROM outcomes GROUP BY outcome;
SELECT proname, count(*) AS calls, string_agg(DISTINCT at::text, ', ') AS positions FROM outcomes GROUP BY proname ORDER BY proname;

-- Constructors: a NULL argument is the same as an omitted one.
CREATE VIEW constructors AS SELECT proname, name, n, regexp_replace(type, 'DEFAULT.*', '') AS type FROM ours,
  LATERAL (SELECT n, split_part(a, ' ', 1) AS name, substring(a FROM ' (.*)') AS type FROM unnest(string_to_array(pg_get_function_arguments(oid), ', ')) WITH ORDINALITY AS u(a, n)) s
  WHERE proname LIKE '%\_new';
CREATE FUNCTION same_without(f text, argument text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  same boolean;
  others text := concat_ws(', ', CASE WHEN argument <> 'capacity' AND f <> 'lsqf_new' THEN 'capacity => 10' END, CASE WHEN argument <> 'near' THEN 'near => 0.1' END);
BEGIN
  EXECUTE format('SELECT %1$I(%2$s) = %1$I(%3$s)', f, concat_ws(', ', nullif(others, ''), quote_ident(argument) || ' => NULL'), others) INTO same;
  RETURN CASE WHEN same THEN 'as if left out' ELSE 'differs' END;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT same_without(proname, name) AS outcome, string_agg(proname || ' ' || name, ', ' ORDER BY proname, n) FROM constructors GROUP BY outcome;

-- The aggregate skips NULL vectors; a NULL prototype is an error once there is a vector.
CREATE TABLE f AS SELECT ilbf_new(capacity => 10, near => 0.1) AS p, lsbf_add(ilbf_new(capacity => 10, near => 0.1), '[1,2]') AS f;
SELECT lsbf_agg(v, p) IS NULL AS only_nulls FROM f, (VALUES (NULL::real[]), (NULL)) t(v);
SELECT lsbf_agg(v, p) = f AS nulls_skipped FROM f, (VALUES (NULL::real[]), ('{1,2}'), (NULL)) t(v) GROUP BY f;
SELECT lsbf_agg(v, NULL) IS NULL AS neither FROM (VALUES (NULL::real[]), (NULL)) t(v);
SELECT expect_error('SELECT lsbf_agg(v, NULL) FROM (VALUES (NULL::real[]), (''{1,2}'')) t(v)');
SELECT expect_error('SELECT lsbf_agg(v, CASE WHEN v IS NOT NULL THEN NULL ELSE p END) FROM f, (VALUES (NULL::real[]), (''{1,2}'')) t(v)');
-- A prototype may be NULL where the vector is NULL.
SELECT lsbf_agg(v, CASE WHEN v IS NOT NULL THEN p END) = f AS fine FROM f, (VALUES (NULL::real[]), ('{1,2}')) t(v) GROUP BY f;
SELECT lsbf_union_agg(x) = f AS nulls_skipped FROM f, LATERAL (VALUES (NULL::lsbf), (f), (NULL), (p)) t(x) GROUP BY f;
SELECT lsbf_union_agg(NULL) IS NULL AS only_nulls FROM f;
-- The operators.
SELECT f | NULL IS NULL AS "|", f = NULL IS NULL AS "=", f <> NULL IS NULL AS "<>", f IS DISTINCT FROM NULL AS distinct, NULL::lsbf IS NOT DISTINCT FROM NULL AS not_distinct FROM f;
SELECT NULL::lsbf::bytea IS NULL AND NULL::bytea::lsbf IS NULL AND NULL::text::lsbf IS NULL AS casts;
-- lsbf_info of NULL is a row of NULLs, as for every strict function in FROM.
SELECT count(*), count(kind) FROM lsbf_info(NULL);
-- An untyped NULL resolves to one of the overloaded functions, which returns NULL.
SELECT approx_member(f, NULL) IS NULL AND approx_votes(f, NULL) IS NULL AND approx_distance(f, NULL) IS NULL AND lsbf_add(f, NULL) IS NULL AS untyped FROM f;
