#!/usr/bin/env bash
# No privileges beyond the caller's, and no name that is looked up in the caller's search_path.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main
extensions=pg_lsbf
server_psql main -c "CREATE EXTENSION pg_lsbf"
if [[ -f $("$TREE_PG_CONFIG" --sharedir)/extension/vector.control ]]; then
  extensions=pg_lsbf,pg_lsbf_vector
  server_psql main -c "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector"
fi
query() { server_query main "$1"; }

# Attributes of the functions.
ours="SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname = ANY ('{$extensions}')"
assert_eq "no function is SECURITY DEFINER" "$(query "$ours AND prosecdef")" ""
# A leakproof function may see rows before a policy hides them; errors of the extension quote arguments.
assert_eq "no function is LEAKPROOF" "$(query "$ours AND proleakproof")" ""
assert_eq "no function is written in SQL, where names are looked up at run time" "$(query "$ours AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c') AND prokind <> 'a'")" ""
assert_eq "the scripts do not replace existing objects" "$(grep -liE 'OR +REPLACE|IF NOT EXISTS' sql/*.sql vector/*.sql || true)" ""

# Tables of another owner.
server_psql main <<'SQL'
CREATE ROLE reader;
CREATE SCHEMA shut;
CREATE TABLE shut.t AS SELECT i AS id, ARRAY[i, 2 * i, 3 * i]::real[] AS v FROM generate_series(1, 100) i;
CREATE TABLE plain AS TABLE shut.t;
CREATE TABLE by_column AS TABLE shut.t;
CREATE TABLE by_row AS TABLE shut.t;
GRANT SELECT ON shut.t TO reader;
GRANT SELECT (id) ON by_column TO reader;
GRANT SELECT ON by_row TO reader;
ALTER TABLE by_row ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON by_row TO reader USING (id <= 30);
CREATE VIEW as_owner AS SELECT v FROM plain WHERE id <= 40;
GRANT SELECT ON as_owner TO reader;
CREATE FUNCTION rows_read(t regclass) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT max(capacity) FROM lsbf_design_for(t, 'v', near => 1));
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
SQL
# rows_read TABLE: the number of rows that reader can read, or the SQLSTATE of the error
rows_read() { query "SET client_min_messages = error; SET ROLE reader; SELECT rows_read($1)"; }
shut=$(query "SELECT 'shut.t'::regclass::oid")
assert_eq "a table without privileges is refused" "$(rows_read "'plain'")" 42501
assert_eq "a column without privileges is refused" "$(rows_read "'by_column'")" 42501
assert_eq "a schema without privileges is refused" "$(rows_read "$shut::regclass")" 42501
query "GRANT SELECT (v) ON by_column TO reader; GRANT USAGE ON SCHEMA shut TO reader"
assert_eq "a column with privileges is read" "$(rows_read "'by_column'")" 100
assert_eq "a schema with privileges is used" "$(rows_read "$shut::regclass")" 100
assert_eq "rows that a policy hides are not read" "$(rows_read "'by_row'")" 30
assert_eq "the owner reads all rows" "$(query "SET client_min_messages = error; SELECT rows_read('by_row')")" 100
assert_eq "the rows of a view are read" "$(rows_read "'as_owner'")" 40
assert_eq "approx_member sees no row that a policy hides" "$(query "SET ROLE reader;
  SELECT count(*) FROM by_row WHERE approx_member(lsbf_add(dsbf_new(metric => 'l2', capacity => 9, near => 1, far => 1e9, width => 1e9), ARRAY[1,2,3]::real[]), v, 1)")" 30

# A search_path with traps before pg_catalog: every unqualified name is caught.
server_psql main <<'SQL'
CREATE TABLE parent (v numeric[]) PARTITION BY RANGE ((v[1]));
CREATE TABLE child PARTITION OF parent FOR VALUES FROM (0) TO (1000);
INSERT INTO parent SELECT ARRAY[i, 2 * i, 3 * i] FROM generate_series(1, 50) i;
CREATE TABLE words AS SELECT ('{word' || i || '}')::varchar(30) AS v FROM generate_series(1, 50) i;
CREATE SCHEMA evil;
SET check_function_bodies = off;
DO $do$
DECLARE
  f record;
  trap text := $$ BEGIN RAISE EXCEPTION 'trapped: %', 'an unqualified name'; END $$;
BEGIN
  -- Every function and operator of pg_catalog with a simple signature, under the same name.
  FOR f IN SELECT p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid) AS args, pg_catalog.format_type(p.prorettype, NULL) AS result, p.prokind
    FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND provariadic = 0 AND NOT proretset AND prokind IN ('f', 'a')
      AND proallargtypes IS NULL AND proname !~ '^(pg_stat|ts_|RI_|binary_upgrade)'
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', f.proname, f.args, f.result, trap);
    EXCEPTION WHEN OTHERS THEN NULL; -- internal types, ordered sets
    END;
  END LOOP;
  FOR f IN SELECT oprname, oprleft::regtype AS l, oprright::regtype AS r, oprresult::regtype AS result FROM pg_operator
    WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprleft <> 0 AND oprname IN ('=', '<>', '<', '<=', '>', '>=', '||', '+', '-', '*', '/', '%', '&', '|')
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION evil.trap(a %s, b %s) RETURNS %s LANGUAGE plpgsql AS %L', f.l, f.r, f.result, trap);
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
    BEGIN
      EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.trap, LEFTARG = %s, RIGHTARG = %s)', f.oprname, f.l, f.r);
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  -- Types and tables.
  FOR f IN SELECT unnest('{int2,int4,int8,float4,float8,oid,text,bool,numeric,regclass,bytea,varbit,name,lsbf,vector,halfvec,sparsevec}'::text[]) AS name LOOP
    EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.text CHECK (VALUE IS NULL)', f.name);
  END LOOP;
  FOR f IN SELECT unnest('{pg_class,pg_inherits,pg_attribute,pg_type,pg_proc,pg_namespace,plain,parent,words}'::text[]) AS name LOOP
    EXECUTE format('CREATE TABLE evil.%I (trap pg_catalog.int4)', f.name);
  END LOOP;
END $do$;
SQL
trapped="SET search_path = evil, pg_catalog, public"
assert_at_most "traps are set" 1500 "$(query "SELECT count(*) FROM pg_proc WHERE pronamespace = 'evil'::regnamespace")"
assert_match "an unqualified operator is caught" "$(server_psql main -c "$trapped; SELECT 1 + 1" 2>&1 || true)" "trapped"
assert_match "an unqualified function is caught" "$(server_psql main -c "$trapped; SELECT lower('X'::pg_catalog.text)" 2>&1 || true)" "trapped"

# all_of PATH: the results of functions that run SQL or look up objects; every name here is qualified
all_of() {
  server_psql main -At <<SQL
SET client_min_messages = error;
SET search_path = $1;
SELECT capacity, tables, prototype FROM public.lsbf_design_for('public.plain', 'v', near => 1);
SELECT capacity, tables, prototype FROM public.lsbf_design_for('public.parent', 'v', near => 1, far => 3);
SELECT capacity, tables, prototype FROM public.lsbf_design_for('public.words', 'v', near => 0.1, metric => 'jaccard');
SELECT capacity, tables, prototype FROM public.lsbf_design('cosine', 0.01, 1000, dims => 16);
SELECT public.lsbf_info(f), public.lsbf_explain(f), public.lsbf_fpr(f), public.lsbf_union_agg(f) OVER (), public.approx_member(f, v), f OPERATOR(public.|) f,
    public.lsbf_seen(v, f) OVER (ORDER BY id)
  FROM (SELECT public.lsbf_agg(v, public.ilbf_new(dims => 3, capacity => 100, near => 1)) AS f FROM public.plain) s, public.plain ORDER BY id;
SELECT public.approx_member(f, '{"a b",c}'::pg_catalog.text), public.approx_member(f, '{a b,c}'::pg_catalog.text[]), public.lsbf_shingles('some words', 2, 'word')
  FROM (SELECT public.lsbf_add(public.dsbf_new(metric => 'jaccard', capacity => 9, near => 0.1), '{"a b",c}'::pg_catalog.text[]) AS f) s;
SELECT public.approx_votes(public.lsbf_add(public.dsbf_new(metric => 'l2', capacity => 9, near => 1), v), v) FROM public.parent WHERE v IS NOT NULL;
SELECT count FROM (SELECT pg_catalog.count(*) FROM public.lsbf_curve(public.lsbf_new(capacity => 9, near => 1))) s;
SQL
}
expected=$(all_of "pg_catalog" 2>&1)
assert_match "there are results to compare" "$expected" "^100\|"
got=$(all_of "evil, pg_catalog" 2>&1) || true
assert_eq "no trap is called" "$(grep -E "ERROR|trapped" <<<"$got" || true)" ""
assert_eq "and the answers are the same" "$(md5sum <<<"$got")" "$(md5sum <<<"$expected")"

# Installation with traps in the search_path.
query "CREATE SCHEMA fresh; SET client_min_messages = error; DROP EXTENSION pg_lsbf CASCADE; $trapped; CREATE EXTENSION pg_lsbf SCHEMA fresh" >/dev/null
assert_eq "traps do not affect the installation" \
  "$(query "SELECT fresh.lsbf_kind(fresh.lsbf_agg(B'0101', fresh.dsbf_new(capacity => 10, near => 0.1, far => 0.5)))")" dsbf
