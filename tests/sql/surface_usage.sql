-- The extension in all kinds of SQL that users write.
CREATE TABLE items (id int, day date, v real[]);
INSERT INTO items SELECT i, date '2024-01-01' + i % 10, ARRAY[i * 37 % 1001, i * i % 997, i] FROM generate_series(1, 1000) i;
CREATE TABLE queries AS SELECT i AS id, CASE WHEN i <= 500 THEN ARRAY[i * 37 % 1001 + 0.01, i * i % 997, i]::real[] ELSE ARRAY[-i, -i * 7 % 1001, -3 * i]::real[] END AS v FROM generate_series(1, 1000) i;
CREATE TABLE filters AS SELECT 'all' AS name, lsbf_agg(v, lsbf_new(dims => 3, capacity => 1000, near => 0.1)) AS f FROM items;
CREATE FUNCTION p() RETURNS lsbf IMMUTABLE LANGUAGE sql RETURN lsbf_new(dims => 3, capacity => 1000, near => 0.1);
-- The rows that every statement below must return: near ones, and the same false positives each time.
CREATE TABLE truth AS SELECT q.id FROM queries q, filters WHERE approx_member(f, q.v);
SELECT count(*) FILTER (WHERE id <= 500) > 480 AS near, count(*) FILTER (WHERE id > 500) < 50 AS far FROM truth;
CREATE FUNCTION right_ids(ids int[]) RETURNS boolean LANGUAGE sql AS $$ SELECT ids = (SELECT array_agg(id ORDER BY id) FROM truth) $$;

-- Joins, semi-joins, CTEs, LATERAL, subqueries, views.
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS cross_join FROM queries q CROSS JOIN filters WHERE approx_member(f, q.v);
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS join_on FROM queries q JOIN filters ON approx_member(f, q.v);
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS semi_join FROM queries q WHERE EXISTS (SELECT FROM filters WHERE approx_member(f, q.v));
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS scalar_subquery FROM queries q WHERE approx_member((SELECT f FROM filters), q.v);
WITH w AS MATERIALIZED (SELECT f FROM filters) SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS cte FROM queries q, w WHERE approx_member(f, q.v);
WITH w AS (SELECT lsbf_agg(v, p()) AS f FROM items) SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS cte_aggregate FROM queries q, w WHERE approx_member(f, q.v);
WITH RECURSIVE r(i, f) AS (SELECT 0, p() UNION ALL SELECT i + 1, lsbf_add(f, ARRAY[i, i, i]) FROM r WHERE i < 10) SELECT count(*), bool_and(i = 0 OR approx_member(f, ARRAY[i - 1, i - 1, i - 1])) AS recursive FROM r;
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS lateral FROM queries q, LATERAL (SELECT approx_member(f, q.v) AS m FROM filters) l WHERE m;
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS outer_join FROM queries q LEFT JOIN filters ON approx_member(f, q.v) WHERE name IS NOT NULL;
SELECT right_ids(array_agg(id ORDER BY id)) AS in_case FROM (SELECT q.id, CASE WHEN approx_member(f, q.v) THEN 1 ELSE 0 END AS c FROM queries q, filters) s WHERE c = 1;
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS array_of_filters FROM queries q, (SELECT array_agg(f) AS fs FROM filters) s WHERE approx_member(fs[1], q.v);
SELECT right_ids(array_agg(q.id ORDER BY q.id)) AS composite FROM queries q, (SELECT filters AS row FROM filters) s WHERE approx_member((row).f, q.v);
CREATE VIEW passing AS SELECT q.id FROM queries q, filters WHERE approx_member(f, q.v);
SELECT right_ids(array_agg(id ORDER BY id)) AS view FROM passing;
CREATE MATERIALIZED VIEW daily AS SELECT day, lsbf_agg(v, p()) AS f FROM items GROUP BY day;
CREATE UNIQUE INDEX ON daily (day);
REFRESH MATERIALIZED VIEW CONCURRENTLY daily;
SELECT count(*), (SELECT f FROM filters) = lsbf_union_agg(f) AS materialized_view FROM daily;
SELECT count(*) AS joined_by_day FROM items JOIN daily USING (day) WHERE approx_member(f, v);

-- Prepared statements: custom and generic plans, the filter as a parameter and as a column.
PREPARE by_column(real[], float8) AS SELECT approx_member(f, $1, $2) FROM filters;
PREPARE by_parameter(lsbf) AS SELECT right_ids(array_agg(id ORDER BY id)) FROM queries WHERE approx_member($1, v);
SELECT f FROM filters \gset
SET plan_cache_mode = force_custom_plan;
EXECUTE by_column('{37,1,1}', 1);
EXECUTE by_parameter(:'f');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_column('{37,1,1}', 1);
EXECUTE by_column('{-1000,1,1}', 2.5);
EXECUTE by_parameter(:'f');
EXECUTE by_parameter(NULL);
PREPARE generic(lsbf) AS SELECT count(*) FROM queries WHERE approx_member($1, v);
EXPLAIN (COSTS OFF) EXECUTE generic(NULL);
RESET plan_cache_mode;

-- PL/pgSQL and SQL functions; the same expression with changing filters of several kinds.
CREATE FUNCTION passes(x real[]) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
DECLARE
  filter lsbf;
BEGIN
  SELECT f INTO filter FROM filters;
  RETURN approx_member(filter, x);
END $$;
SELECT right_ids(array_agg(id ORDER BY id)) AS plpgsql FROM queries WHERE passes(v);
CREATE FUNCTION build() RETURNS lsbf LANGUAGE plpgsql AS $$
DECLARE
  filter lsbf := p();
  r record;
BEGIN
  FOR r IN SELECT v FROM items LOOP
    filter := lsbf_add(filter, r.v);
  END LOOP;
  RETURN filter;
END $$;
SELECT build() = f AS loop FROM filters;
CREATE FUNCTION each_kind() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  filter lsbf;
BEGIN
  FOREACH filter IN ARRAY ARRAY[p(), ilbf_new(capacity => 10, near => 0.1), p(), dsbf_new(metric => 'cosine', capacity => 10, near => 0.1), lsbf_new(metric => 'l1', dims => 3, capacity => 10, near => 0.1), p()] LOOP
    filter := lsbf_add(filter, ARRAY[1, 2, 3]);
    RETURN NEXT lsbf_kind(filter) || ' ' || approx_member(filter, ARRAY[1, 2, 3])::text || ' ' || (approx_votes(filter, ARRAY[1, 2, 3]) > 0)::text;
  END LOOP;
END $$;
SELECT * FROM each_kind();
-- An error in a subtransaction, then the same call again.
DO $$ BEGIN
  FOR i IN 1..3 LOOP
    BEGIN
      PERFORM approx_member(f, ARRAY[1, 2]) FROM filters;
    EXCEPTION WHEN data_exception THEN
      IF NOT (SELECT approx_member(f, ARRAY[37, 1, 1]) FROM filters) THEN RAISE EXCEPTION 'lost'; END IF;
    END;
  END LOOP;
END $$;
-- Cursors, also across a commit.
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT id FROM queries, filters WHERE approx_member(f, v) ORDER BY id;
FETCH 2 FROM c;
COMMIT;
FETCH 2 FROM c;
CLOSE c;

-- Partitions, aggregated one by one.
CREATE TABLE parts (id int, v real[]) PARTITION BY RANGE (id);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (0) TO (400);
CREATE TABLE parts_b PARTITION OF parts FOR VALUES FROM (400) TO (800);
CREATE TABLE parts_c PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT id, v FROM items;
SELECT lsbf_agg(v, p()) = (SELECT f FROM filters) AS partitions FROM parts;
SET enable_partitionwise_aggregate = on;
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) SELECT count(*), lsbf_kind(lsbf_agg(v, p())) FROM parts;
SELECT lsbf_agg(v, p()) = (SELECT f FROM filters) AS partitionwise FROM parts;
SELECT count(*) AS by_key, bool_and(approx_member(f, v)) AS found FROM (SELECT id, lsbf_agg(v, p()) AS f FROM parts WHERE id < 20 GROUP BY id) s JOIN parts USING (id);
RESET enable_partitionwise_aggregate;
RESET enable_partitionwise_join;
SELECT parts.tableoid::regclass, count(*) FROM parts, filters WHERE approx_member(f, v) GROUP BY 1 ORDER BY 1::text;

-- Generated columns, defaults, checks, domains, arrays, expression and partial indexes.
CREATE TABLE gen (v real[], f lsbf GENERATED ALWAYS AS (lsbf_add(lsbf_new(dims => 3, capacity => 10, near => 0.1), v)) STORED,
  known boolean GENERATED ALWAYS AS (approx_member(lsbf_add(lsbf_new(dims => 3, capacity => 10, near => 0.1), ARRAY[1, 2, 3]), v)) STORED);
INSERT INTO gen (v) VALUES ('{1,2,3}'), ('{100,2,3}'), (NULL);
SELECT v, approx_member(f, v) AS own, known, lsbf_members(f) FROM gen;
UPDATE gen SET v = '{1,2,3}';
SELECT count(*) FILTER (WHERE known) AS known, count(DISTINCT f::bytea) AS filters FROM gen;
CREATE DOMAIN song_filter AS lsbf CHECK (lsbf_kind(VALUE) = 'lsbf') CHECK ((lsbf_info(VALUE)).metric = 'l2');
CREATE TABLE domains (f song_filter DEFAULT lsbf_new(capacity => 10, near => 0.1), CHECK (lsbf_members(f) < 5));
INSERT INTO domains DEFAULT VALUES;
SELECT lsbf_kind(lsbf_add(f, '[1,2]')), approx_member(f, '[1,2]') FROM domains;
SELECT expect_error('INSERT INTO domains VALUES (ilbf_new(capacity => 10, near => 0.1))');
CREATE INDEX only_known ON queries (id) WHERE approx_member(lsbf_add(lsbf_new(dims => 3, capacity => 10, near => 0.1), '[1,2,3]'), v);
CREATE INDEX by_value ON filters USING hash (f);
SET enable_seqscan = off;
SELECT name FROM filters WHERE f = (SELECT lsbf_union_agg(f) FROM daily);
RESET enable_seqscan;

-- Grouping: thousands of groups, FILTER, GROUPING SETS, HAVING, windows, ordered input.
SELECT count(*), bool_and(approx_member(f, ARRAY[g, 1, 2])) AS thousands_of_groups FROM (SELECT i % 3000 AS g, lsbf_agg(ARRAY[i % 3000, 1, 2], lsbf_new(dims => 3, capacity => 5, near => 0.1)) AS f FROM generate_series(1, 9000) i GROUP BY 1) s;
SELECT lsbf_agg(v, p()) FILTER (WHERE id <= 10) | lsbf_agg(v, p()) FILTER (WHERE id > 10) = lsbf_agg(v, p()) AS filter, lsbf_agg(v, p() ORDER BY random()) = lsbf_agg(v, p()) AS ordered FROM items;
SELECT count(*) AS sets, count(*) FILTER (WHERE f = (SELECT f FROM filters)) AS total FROM (SELECT day, lsbf_agg(v, p()) AS f FROM items GROUP BY GROUPING SETS ((day), ())) s;
-- Filters can be compared, hashed and sorted, by their bytes.
SELECT count(DISTINCT f) AS distinct, lsbf_agg(DISTINCT v, p()) = lsbf_agg(v, p()) AS same FROM filters, items;
SELECT array_agg(x ORDER BY x) = array_agg(x ORDER BY x::bytea) AS by_bytes, bool_and((x < y) = (x::bytea < y::bytea) AND (x <= y) = (x::bytea <= y::bytea) AND (x > y) = (y < x) AND (x >= y) = (y <= x)) AS operators
  FROM (SELECT lsbf_add(p(), v) AS x, lsbf_add(p(), lag(v) OVER (ORDER BY id)) AS y FROM items LIMIT 20) s;
SELECT day FROM items GROUP BY day HAVING approx_member(lsbf_agg(v, p()), '{37,1,1}') ORDER BY day;
SELECT count(*) AS rows, bool_and(approx_member(f, v)) AS window FROM (SELECT v, lsbf_agg(v, p()) OVER (PARTITION BY day ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS f FROM items) s;
SELECT count(*) AS rows, bool_and(approx_member(f, v)) AS excluded FROM (SELECT v, lsbf_agg(v, p()) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE NO OTHERS) AS f FROM items WHERE id <= 100) s;
SELECT count(*) AS groups FROM (SELECT f FROM daily GROUP BY f) s;
SELECT count(*) AS united FROM (SELECT f FROM daily UNION SELECT f FROM daily EXCEPT SELECT f FROM daily WHERE day = '2024-01-01') s;

-- Filters in JSON and text; COPY in all formats.
SELECT (to_json(filters) ->> 'f')::lsbf = f AS json, (row_to_json(filters)::jsonb ->> 'f')::lsbf = f AS jsonb, encode(f::bytea, 'hex') = encode(lsbf_send(f), 'hex') AS bytes FROM filters;
CREATE TEMP TABLE copied (LIKE filters);
CREATE FUNCTION copy_through(format text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  file text := current_setting('data_directory') || '/copied';
BEGIN
  TRUNCATE copied;
  EXECUTE format('COPY filters TO %L (FORMAT %s)', file, format);
  EXECUTE format('COPY copied FROM %L (FORMAT %s)', file, format);
  RETURN (SELECT bool_and(a.f = b.f) FROM filters a JOIN copied b USING (name));
END $$;
SELECT format, copy_through(format) FROM unnest(ARRAY['text', 'csv', 'binary']) format;

-- Statements that read, merge and write filters.
INSERT INTO filters SELECT 'even days', lsbf_union_agg(f) FROM daily WHERE extract(day FROM day)::int % 2 = 0;
INSERT INTO filters SELECT 'odd days', lsbf_union_agg(f) FROM daily WHERE extract(day FROM day)::int % 2 = 1;
WITH halves AS (DELETE FROM filters WHERE name LIKE '% days' RETURNING f) SELECT lsbf_union_agg(f) = (SELECT f FROM filters WHERE name = 'all') AS returning FROM halves;
MERGE INTO filters t USING (SELECT 'all' AS name, lsbf_agg(v, p()) AS f FROM queries) s ON t.name = s.name WHEN MATCHED THEN UPDATE SET f = t.f | s.f WHEN NOT MATCHED THEN INSERT VALUES (s.name, s.f);
SELECT bool_and(approx_member(f, v)) AS merged FROM filters, queries;
