-- Other ways to find out whether a member is within near, for sentences: pgvector's indexes, LSH keys in an indexed table.
SET max_parallel_maintenance_workers = 0;
SELECT count(*) AS members FROM sentences_l2_members \gset
SELECT near FROM quality.sets WHERE name = 'sentences_l2' \gset
CREATE TABLE query_rows AS SELECT * FROM sentences_l2_queries WHERE kind = 'natural' ORDER BY id LIMIT 1000;
SELECT count(*) AS query_rows FROM query_rows \gset
-- The distance of planted rows is near, except for rounding.
SELECT :near * 1.0001 AS within \gset

CREATE VIEW nearest AS
  SELECT q.kind, q.distance <= :within AS is_near, n.d <= :within AS found FROM sentences_l2_queries q,
    LATERAL (SELECT i.v <-> q.v AS d FROM sentences_l2_members i ORDER BY i.v <-> q.v LIMIT 1) n
  WHERE q.kind = 'near' OR q.kind = 'natural' AND q.distance <= :within;
\set semi_join 'SELECT count(*) FROM query_rows q, LATERAL (SELECT i.v <-> q.v AS d FROM sentences_l2_members i ORDER BY i.v <-> q.v LIMIT 1) n WHERE d <= ' :within
\set recall 'avg(found::integer) FILTER (WHERE kind = \'near\'), avg(found::integer) FILTER (WHERE kind = \'natural\')'
SET enable_seqscan = off;

CREATE INDEX hnsw ON sentences_l2_members USING hnsw (v vector_l2_ops) WITH (m = 16, ef_construction = 64);
SET hnsw.ef_search = 40;
INSERT INTO bench.queries VALUES ('HNSW', :query_rows, :'semi_join');
CALL bench.measure('^HNSW$', 3);
INSERT INTO quality.peers (name, bytes, at_near, natural_near)
  SELECT 'HNSW', pg_relation_size('hnsw')::numeric / :members, :recall FROM nearest;
DROP INDEX hnsw;

CREATE INDEX ivf ON sentences_l2_members USING ivfflat (v vector_l2_ops) WITH (lists = 100);
SET ivfflat.probes = 5;
INSERT INTO bench.queries VALUES ('IVFFlat', :query_rows, :'semi_join');
CALL bench.measure('^IVFFlat$', 2);
INSERT INTO quality.peers (name, bytes, at_near, natural_near)
  SELECT 'IVFFlat', pg_relation_size('ivf')::numeric / :members, :recall FROM nearest;
DROP INDEX ivf;
RESET enable_seqscan;

-- Seven keys of ten projections with a width of ten times near, so that rows at near are found about as often as by the
-- others. Members that share a key with the query are compared exactly.
CREATE TABLE planes AS
  SELECT t, j, random() AS b, array_agg(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))::vector(384) AS a
  FROM generate_series(1, 7) t, generate_series(1, 10) j, generate_series(1, 384) GROUP BY t, j;
CREATE FUNCTION keys(v vector, width double precision) RETURNS TABLE (t integer, key bigint) STABLE LANGUAGE sql AS $$
  SELECT t, hashtextextended(string_agg(floor(-(v <#> a) / width + b)::text, ' ' ORDER BY j), 0) FROM planes GROUP BY t $$;
CREATE TABLE lsh AS SELECT m.id, k.* FROM sentences_l2_members m, keys(v, 10 * :near) k;
CREATE INDEX ON lsh (t, key, id);
CREATE UNIQUE INDEX ON sentences_l2_members (id);
CREATE TABLE query_keys AS SELECT q.id, k.* FROM sentences_l2_queries q, keys(v, 10 * :near) k WHERE kind IN ('near', 'natural');
CREATE INDEX ON query_keys (id);
VACUUM ANALYZE lsh, query_keys, sentences_l2_members, sentences_l2_queries;
CREATE FUNCTION has_near(query_id integer, query_v vector, within double precision) RETURNS boolean STABLE LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM query_keys k JOIN lsh USING (t, key) JOIN sentences_l2_members m ON m.id = lsh.id
    WHERE k.id = query_id AND m.v <-> query_v <= within) $$;
\set semi_join 'SELECT count(*) FROM query_rows WHERE has_near(id, v, ' :within ')'
INSERT INTO bench.queries VALUES ('LSH keys', :query_rows, :'semi_join');
CALL bench.measure('^LSH keys$', 2);
INSERT INTO quality.peers (name, bytes, at_near, natural_near)
  SELECT 'LSH keys', pg_total_relation_size('lsh')::numeric / :members, :recall
  FROM (SELECT kind, has_near(id, v, :within) AS found FROM sentences_l2_queries
    WHERE kind = 'near' OR kind = 'natural' AND distance <= :within) n;
