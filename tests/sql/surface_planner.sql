-- The planner's estimates for approx_member: selectivity, cost, and so the order in which conditions are evaluated.
CREATE TABLE t AS SELECT i AS id, ARRAY[i, i * 7 % 1001, -i, i % 13]::real[] AS v, i % 10 AS ten FROM generate_series(1, 10000) i;
ANALYZE t;
CREATE TABLE filters AS SELECT lsbf_agg(v, lsbf_new(dims => 4, capacity => 1000, near => 0.1)) AS f FROM t WHERE id <= 1000;
ANALYZE filters;
CREATE FUNCTION constant(kind text, members int) RETURNS lsbf LANGUAGE sql AS $$
  SELECT lsbf_agg(ARRAY[i, i * 7 % 1001, -i, i % 13], CASE kind WHEN 'dsbf' THEN dsbf_new(metric => 'l2', capacity => 500, near => 0.1) WHEN 'lsbf' THEN lsbf_new(capacity => 500, near => 0.1) ELSE ilbf_new(capacity => 500, near => 0.1) END)
  FROM generate_series(1, members) i
$$;
CREATE FUNCTION cheap(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 1 AS 'BEGIN RETURN $1 > 0; END';
CREATE FUNCTION recheck(real[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 10000 AS 'BEGIN RETURN $1[1] > 0; END';

-- The estimated rows of a plan's top node, the estimated cost per row, and the plan without the text of filters.
CREATE FUNCTION expected_rows(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE FUNCTION cost_per_row(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  plan json;
  bare json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM t' INTO bare;
  RETURN ((plan -> 0 -> 'Plan' ->> 'Total Cost')::float8 - (bare -> 0 -> 'Plan' ->> 'Total Cost')::float8) / 10000 / current_setting('cpu_operator_cost')::float8;
END $$;
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    -- The text of a filter is long, and PostgreSQL versions name the result of a subquery differently.
    line := regexp_replace(line, '''[A-Za-z0-9+/=]{40,}''::lsbf', 'FILTER', 'g');
    line := replace(replace(line, ' (returns $0)', ''), '$0', '(InitPlan 1).col1');
    RETURN NEXT line;
  END LOOP;
END $$;

-- Selectivity: for a constant filter its predicted rate, plus an assumed share of near rows; well below the default of 1/3.
SELECT kind, rows BETWEEN 10000 * lsbf_fpr(f) AND 10000 * (lsbf_fpr(f) + 0.05) AS from_its_rate, rows < 2000 AS well_under_a_third
  FROM unnest(ARRAY['dsbf', 'lsbf', 'ilbf']) kind, constant(kind, 500) f, expected_rows(format('SELECT FROM t WHERE approx_member(%L::lsbf, v)', f)) rows;
SELECT kind, expected_rows(format('SELECT FROM t WHERE approx_member(%L::lsbf, v)', constant(kind, 5000))) > 3 * expected_rows(format('SELECT FROM t WHERE approx_member(%L::lsbf, v)', constant(kind, 500))) AS overfull_lets_more_pass
  FROM unnest(ARRAY['dsbf', 'lsbf', 'ilbf']) kind;
SELECT expected_rows('SELECT FROM t WHERE approx_member((SELECT f FROM filters), v)') AS subquery, expected_rows('SELECT FROM t, filters WHERE approx_member(f, v)') AS join,
  expected_rows('SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1), v)') AS empty_filter, expected_rows('SELECT FROM t WHERE approx_member(NULL, v)') AS null;
SELECT kind, bool_and(now >= before) AS grows_with_theta FROM unnest(ARRAY['dsbf', 'lsbf', 'ilbf']) kind, LATERAL (
  SELECT now, lag(now, 1, 0) OVER (ORDER BY theta) AS before FROM constant(kind, 500) f, unnest(ARRAY[1, 3, 30]) theta, expected_rows(format('SELECT FROM t WHERE approx_member(%L::lsbf, v, %s)', f, theta)) now) s GROUP BY kind ORDER BY kind;
SELECT expected_rows('SELECT FROM t WHERE NOT approx_member((SELECT f FROM filters), v)') AS negated, expected_rows('SELECT FROM t WHERE approx_member((SELECT f FROM filters), v) AND ten = 3') AS both;
-- An immutable function that returns a filter is folded to a constant; a stable one is evaluated for the estimate.
CREATE FUNCTION immutable_filter() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT constant('lsbf', 500) $$;
CREATE FUNCTION stable_filter() RETURNS lsbf STABLE LANGUAGE sql AS $$ SELECT constant('lsbf', 500) $$;
SELECT expected_rows('SELECT FROM t WHERE approx_member(immutable_filter(), v)') = expected_rows(format('SELECT FROM t WHERE approx_member(%L::lsbf, v)', constant('lsbf', 500))) AS immutable,
  expected_rows('SELECT FROM t WHERE approx_member(stable_filter(), v)') = expected_rows(format('SELECT FROM t WHERE approx_member(%L::lsbf, v)', constant('lsbf', 500))) AS stable;

-- Cost: higher than comparing numbers, lower than a recheck; it grows with tables and dims.
SELECT kind, cost_per_row(format('SELECT FROM t WHERE approx_member(%L::lsbf, v)', constant(kind, 10))) BETWEEN 5 AND 1000 AS between FROM unnest(ARRAY['dsbf', 'lsbf', 'ilbf']) kind;
SELECT cost_per_row('SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1, tables => 50), v)') > 2 * cost_per_row('SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1, tables => 5), v)') AS tables,
  cost_per_row('SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1, tables => 5, dims => 4000), v)') > 2 * cost_per_row('SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1, tables => 5, dims => 4), v)') AS dims;
SELECT cost_per_row('SELECT FROM t WHERE approx_member((SELECT f FROM filters), v)') > 40 AS unknown_filter;

-- Order: cheap conditions first, then approx_member, then the recheck, in whatever order they are written.
SELECT plan(format('SELECT FROM t WHERE recheck(v) AND approx_member(%L::lsbf, v) AND ten = 3', constant(kind, 10))) FROM unnest(ARRAY['dsbf', 'lsbf', 'ilbf']) kind;
SELECT plan('SELECT FROM t WHERE approx_member((SELECT f FROM filters), v) AND recheck(v) AND cheap(ten)');
PREPARE generic(lsbf) AS SELECT FROM t WHERE recheck(v) AND approx_member($1, v) AND ten = 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE generic(NULL);
RESET plan_cache_mode;
-- The filter is applied before the join that rechecks, so that few rows reach the join.
CREATE TABLE members AS SELECT * FROM t WHERE id <= 1000;
ANALYZE members;
SELECT plan(format('SELECT FROM t JOIN members m ON recheck(t.v || m.v) WHERE approx_member(%L::lsbf, t.v)', constant('lsbf', 10)));
-- An index condition and a filter.
CREATE INDEX ON t (ten);
SELECT plan(format('SELECT FROM t WHERE ten = 77 AND approx_member(%L::lsbf, v)', constant('lsbf', 10)));
-- Planning does not fail for a filter that does not fit the column: the error is raised by execution.
SELECT expect_error('EXPLAIN SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1, dims => 3), v)') AS plan, expect_error('SELECT FROM t WHERE approx_member(lsbf_new(capacity => 10, near => 0.1, dims => 3), v)') AS execution;
