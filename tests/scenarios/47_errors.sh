#!/usr/bin/env bash
# Errors that pass through Rust are reported as they were raised: message, detail, hint, context, and the names of schema, table,
# column, data type and constraint.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE FUNCTION raising() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the message' USING ERRCODE = 'P4242', DETAIL = 'the detail', HINT = 'the hint', COLUMN = 'the_column',
    CONSTRAINT = 'the_constraint', DATATYPE = 'the_type', TABLE = 'the_table', SCHEMA = 'the_schema';
END $$;
CREATE TABLE plain AS SELECT ARRAY[i, 2 * i]::real[] AS v FROM generate_series(1, 50) i;
CREATE VIEW broken AS SELECT v FROM plain WHERE raising();
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE VIEW checked AS SELECT ARRAY[((v[1] - 20)::int)::positive]::real[] AS v FROM plain;
CREATE FUNCTION broken_filter() RETURNS lsbf STABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM raising(); RETURN NULL; END $$;
-- All fields of the error that a query raises.
CREATE FUNCTION fields(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  m text; d text; h text; c text; n text; t text; y text; s text; x text; k text;
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, c = COLUMN_NAME, n = CONSTRAINT_NAME, y = PG_DATATYPE_NAME,
    t = TABLE_NAME, s = SCHEMA_NAME, x = PG_EXCEPTION_CONTEXT, k = RETURNED_SQLSTATE;
  RETURN concat_ws('|', k, m, d, h, s, t, c, y, n) || E'\n' || x;
END $$;
SQL
fields() { server_query main "SELECT fields(\$q\$$1\$q\$)"; }

expected="P4242|the message|the detail|the hint|the_schema|the_table|the_column|the_type|the_constraint"
output=$(fields "SELECT lsbf_design_for('broken', 'v', 0.1)")
assert_eq "a function of a view: all fields" "$(head -1 <<<"$output")" "$expected"
assert_match "a function of a view: where it happened" "$output" "PL/pgSQL function raising\(\) line 3 at RAISE.*SQL statement.*lsbf_design_for.*PL/pgSQL function fields\(text\) line 5 at EXECUTE"
assert_eq "every line of the context is reported once" "$(grep -c "PL/pgSQL function fields" <<<"$output")" 1
plain=$(fields "SELECT raising()")
assert_eq "the fields are the same as without the extension" "$(head -1 <<<"$plain")" "$expected"
output=$(fields "SELECT lsbf_design_for('checked', 'v', 0.1)")
assert_eq "the constraint of a domain: all fields" "$(head -1 <<<"$output")" '23514|value for domain positive violates check constraint "positive_check"|||public|||positive|positive_check'
output=$(fields "EXPLAIN SELECT FROM plain WHERE approx_member(broken_filter(), v)")
assert_eq "a function called by the planner: all fields" "$(head -1 <<<"$output")" "$expected"
assert_match "a function called by the planner: where it happened" "$output" "function raising\(\) line 3 at RAISE.*function broken_filter\(\) line 1 at PERFORM"
output=$(fields "SELECT lsbf_new(metric => 'l3', capacity => 1, near => 1)")
assert_match "an error of the extension: message, hint and the context of the caller" "$output" '^22023\|unrecognized metric "l3"\|.*PL/pgSQL function fields'

# A NOTICE from within is shown, and an error that was handled within is not.
server_query main "CREATE FUNCTION tolerant() RETURNS boolean LANGUAGE plpgsql AS \$\$
  BEGIN
    RAISE NOTICE 'a notice from within';
    BEGIN PERFORM raising(); EXCEPTION WHEN OTHERS THEN NULL; END;
    RETURN true;
  END \$\$;
  CREATE VIEW tolerated AS SELECT v FROM plain WHERE tolerant()"
output=$(server_psql main -At -c "SELECT max(capacity) FROM lsbf_design_for('tolerated', 'v', 0.1)" 2>&1)
assert_match "a notice within is shown, an error that was handled is not" "$output" "a notice from within.*50"
assert_eq "the handled error is not reported" "$(grep -c "the message" <<<"$output" || true)" 0
output=$(fields "SELECT lsbf_design_for('tolerated', 'v', -1)")
assert_match "an error of the extension is not confused with it" "$output" "^22023\|near must be"

# The cancellation of a statement within a function keeps its context.
output=$(server_psql main -v ON_ERROR_STOP=0 2>&1 <<'SQL'
CREATE FUNCTION slow() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM count(*) FROM generate_series(1, 10000) n, lsbf_design('l1', 1e-9, 1000 + n, 100); END $$;
SET statement_timeout = '300ms';
SELECT slow();
SQL
)
assert_match "a timeout within a function keeps its context" "$output" "canceling statement due to statement timeout.*CONTEXT:.*PL/pgSQL function slow\(\) line 1 at PERFORM"

# An error of a parallel worker arrives while the leader runs a function of the extension.
output=$(server_psql main -At -v ON_ERROR_STOP=0 -v VERBOSITY=verbose 2>&1 <<'SQL'
CREATE TABLE numbers AS SELECT i FROM generate_series(1, 20000) i;
ALTER TABLE numbers SET (parallel_workers = 2);
ANALYZE numbers;
CREATE FUNCTION raising_in_workers(leader int) RETURNS boolean PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  IF pg_backend_pid() <> leader THEN PERFORM pg_sleep(0.3); PERFORM raising(); END IF;
  RETURN true;
END $$;
ALTER FUNCTION raising() PARALLEL SAFE;
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET client_min_messages = warning; SET statement_timeout = '60s';
SELECT format('SELECT count(*) FROM numbers WHERE raising_in_workers(%s) AND lsbf_fpr(lsbf_add(ilbf_new(dims => 3, capacity => 100000, near => 0.1, slots => 4096,
  blooms => 1000000, tables => 255, bloom_hashes => 31), ARRAY[i, 2, 3]::real[]), 30) > 0', pg_backend_pid()) \gexec
SQL
)
assert_match "an error of a worker: all fields" "$output" \
  "P4242: the message.*the detail.*the hint.*PL/pgSQL function raising\(\) line 3.*parallel worker.*SCHEMA NAME:  the_schema.*TABLE NAME:  the_table.*COLUMN NAME:  the_column.*DATATYPE NAME:  the_type.*CONSTRAINT NAME:  the_constraint"
