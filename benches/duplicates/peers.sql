-- Other methods: every row looks for its nearest other row. Measured with some rows, and extrapolated to all.
SET synchronize_seqscans = off;
SET max_parallel_maintenance_workers = 0;
SELECT count(*) AS rows FROM planted \gset

\echo joining four rows with all, without an index
CREATE TABLE few_query_rows AS SELECT * FROM planted ORDER BY md5(id::text) LIMIT 4;
ANALYZE few_query_rows;
INSERT INTO bench.queries VALUES ('planted: LATERAL', 4, format(
  'SELECT count(*) FROM few_query_rows q, LATERAL (SELECT p.v <-> q.v AS d FROM planted p WHERE p.id <> q.id ORDER BY p.v <-> q.v LIMIT 1) n WHERE d <= 1.001 * %s', :near));
CALL bench.measure('^planted: LATERAL$', 1);

\echo building an HNSW index of a sample
CREATE TABLE sample AS SELECT * FROM planted WHERE id < 30000;
ANALYZE sample;
SELECT count(*) AS sample FROM sample \gset
CREATE TABLE query_rows AS SELECT * FROM sample ORDER BY md5(id::text) LIMIT 1000;
ANALYZE query_rows;
SELECT count(*) AS query_rows FROM query_rows \gset
CALL bench.once('planted: build HNSW', :sample, 'CREATE INDEX ON sample USING hnsw (v vector_l2_ops) WITH (m = 16, ef_construction = 64)');
INSERT INTO bench.queries VALUES ('planted: HNSW', :query_rows, format(
  'SELECT count(*) FROM query_rows q, LATERAL (SELECT s.id, s.v <-> q.v AS d FROM sample s ORDER BY s.v <-> q.v LIMIT 2) n WHERE n.id <> q.id AND d <= 1.001 * %s', :near));
SET enable_seqscan = off;
SET hnsw.ef_search = 40;
CALL bench.measure('^planted: HNSW$', 2);
INSERT INTO bench.found
  SELECT 'planted: HNSW', count(*) FILTER (WHERE EXISTS (SELECT FROM (SELECT s.id, s.v <-> q.v AS d FROM sample s ORDER BY s.v <-> q.v LIMIT 2) n
      WHERE n.id <> q.id AND d <= 1.001 * :near)) / nullif(count(*), 0)::numeric, count(*), 0, NULL
  FROM (SELECT * FROM sample WHERE source IS NOT NULL LIMIT 1000) q;
RESET enable_seqscan;
INSERT INTO bench.sizes SELECT 'planted: HNSW', pg_relation_size(indexrelid)::numeric / :sample FROM pg_index WHERE indrelid = 'sample'::regclass;
INSERT INTO bench.found VALUES ('planted: LATERAL', 1, NULL, 0, NULL);
