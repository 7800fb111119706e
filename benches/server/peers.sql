-- Other ways to do a semi-join: pgvector's indexes, LSH keys in an indexed table, all pairs.
SET max_parallel_maintenance_workers = 0;
SELECT count(*) AS rows FROM items \gset
CREATE TABLE query_rows AS SELECT * FROM items ORDER BY md5(id::text) LIMIT 1000;
CREATE TABLE few_query_rows AS SELECT * FROM query_rows LIMIT 20;
SELECT count(*) AS query_rows FROM query_rows \gset

\echo building an HNSW index
CALL bench.once('build HNSW', :rows, 'CREATE INDEX hnsw ON items USING hnsw (v vector_l2_ops) WITH (m = 16, ef_construction = 64)');
INSERT INTO bench.queries VALUES ('semi-join with HNSW', :query_rows,
  'SELECT count(*) FROM query_rows q, LATERAL (SELECT i.v <-> q.v AS d FROM items i ORDER BY i.v <-> q.v LIMIT 1) n WHERE d < 0.2');
SET enable_seqscan = off;
SET hnsw.ef_search = 40;
CALL bench.measure('^semi-join with HNSW$', 3);
INSERT INTO bench.sizes SELECT 'HNSW', pg_relation_size('hnsw')::numeric / :rows;
DROP INDEX hnsw;

\echo building an IVFFlat index
CALL bench.once('build IVFFlat', :rows, 'CREATE INDEX ivf ON items USING ivfflat (v vector_l2_ops) WITH (lists = 100)');
INSERT INTO bench.queries VALUES ('semi-join with IVFFlat', :query_rows,
  'SELECT count(*) FROM query_rows q, LATERAL (SELECT i.v <-> q.v AS d FROM items i ORDER BY i.v <-> q.v LIMIT 1) n WHERE d < 0.2');
SET ivfflat.probes = 5;
CALL bench.measure('^semi-join with IVFFlat$', 2);
INSERT INTO bench.sizes SELECT 'IVFFlat', pg_relation_size('ivf')::numeric / :rows;
DROP INDEX ivf;
RESET enable_seqscan;

\echo comparing all pairs
INSERT INTO bench.queries VALUES ('semi-join of all pairs', 20,
  'SELECT count(*) FROM few_query_rows q WHERE EXISTS (SELECT FROM items i WHERE i.v <-> q.v < 0.0001 AND i.id <> q.id)');
CALL bench.measure('^semi-join of all pairs$', 2);

\echo building LSH keys in an indexed table
-- Seven keys of ten projections each, as in the LSBF. All rows are queries, so that the planner can choose the best join.
CREATE TABLE planes AS
  SELECT t, j, random() AS b, array_agg(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))::vector(:dims) AS a
  FROM generate_series(1, 7) t, generate_series(1, 10) j, generate_series(1, :dims) GROUP BY t, j;
CREATE FUNCTION keys(v vector) RETURNS TABLE (t integer, key bigint) STABLE LANGUAGE sql AS $$
  SELECT t, hashtextextended(string_agg(floor(-(v <#> a) / 0.5 + b)::text, ' ' ORDER BY j), 0) FROM planes GROUP BY t $$;
CALL bench.once('build LSH keys', :rows, $$
  CREATE TABLE lsh AS SELECT i.id, k.* FROM items i, keys(v) k;
  CREATE INDEX ON lsh (t, key); ANALYZE lsh $$);
INSERT INTO bench.queries VALUES ('semi-join with LSH keys', :rows,
  'SELECT count(DISTINCT a.id) FROM lsh a WHERE EXISTS (SELECT FROM lsh l WHERE (l.t, l.key) = (a.t, a.key) AND l.id <> a.id)');
CALL bench.measure('^semi-join with LSH keys$', 3);
INSERT INTO bench.sizes SELECT 'LSH keys', pg_total_relation_size('lsh')::numeric / :rows;
INSERT INTO bench.sizes SELECT name, length(f::bytea)::numeric / (0.8 * rows) FROM filters;

INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT 'semi-join rows/s with ' || upper(left(name, 4)) || substr(name, 5) || ' : with HNSW, ef_search 40', 'query ' || name, 'semi-join with HNSW', 'at least', 200
  FROM filters WHERE source = 'items';
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT 'build rows/s of ' || upper(left(name, 4)) || substr(name, 5) || ' : of HNSW, m 16, ef_construction 64', 'build ' || name, 'build HNSW', 'at least', 300
  FROM filters WHERE source = 'items';
