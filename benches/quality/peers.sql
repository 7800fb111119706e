-- Other ways to find out whether a member is within near, for sentences: pgvector's indexes, LSH keys in an indexed table.
SET max_parallel_maintenance_workers = 0;
SELECT count(*) AS members FROM sentences_l2_members \gset
SELECT near FROM quality.sets WHERE name = 'sentences_l2' \gset
CREATE TABLE asked AS SELECT * FROM sentences_l2_asked WHERE kind = 'natural' ORDER BY id LIMIT 1000;
SELECT count(*) AS asked FROM asked \gset
-- Planted rows are at near but for rounding.
SELECT :near * 1.0001 AS within \gset

CREATE VIEW nearest AS
  SELECT q.kind, q.distance <= :within AS is_near, n.d <= :within AS found FROM sentences_l2_asked q,
    LATERAL (SELECT i.v <-> q.v AS d FROM sentences_l2_members i ORDER BY i.v <-> q.v LIMIT 1) n
  WHERE q.kind = 'near' OR q.kind = 'natural' AND q.distance <= :within;
\set semi_join 'SELECT count(*) FROM asked q, LATERAL (SELECT i.v <-> q.v AS d FROM sentences_l2_members i ORDER BY i.v <-> q.v LIMIT 1) n WHERE d <= ' :within
\set recall 'avg(found::integer) FILTER (WHERE kind = \'near\'), avg(found::integer) FILTER (WHERE kind = \'natural\')'
SET enable_seqscan = off;

CREATE INDEX hnsw ON sentences_l2_members USING hnsw (v vector_l2_ops) WITH (m = 16, ef_construction = 64);
SET hnsw.ef_search = 40;
INSERT INTO bench.queries VALUES ('HNSW', :asked, :'semi_join');
CALL bench.measure('^HNSW$', 3);
INSERT INTO quality.peers (name, bytes, at_near, naturally)
  SELECT 'HNSW', pg_relation_size('hnsw')::numeric / :members, :recall FROM nearest;
DROP INDEX hnsw;

CREATE INDEX ivf ON sentences_l2_members USING ivfflat (v vector_l2_ops) WITH (lists = 100);
SET ivfflat.probes = 5;
INSERT INTO bench.queries VALUES ('IVFFlat', :asked, :'semi_join');
CALL bench.measure('^IVFFlat$', 2);
INSERT INTO quality.peers (name, bytes, at_near, naturally)
  SELECT 'IVFFlat', pg_relation_size('ivf')::numeric / :members, :recall FROM nearest;
DROP INDEX ivf;
RESET enable_seqscan;

-- Seven keys of ten projections, ten times near wide, so that rows at near are found about as often as by the others. The
-- members whose keys are met are compared exactly.
CREATE TABLE planes AS
  SELECT t, j, random() AS b, array_agg(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))::vector(384) AS a
  FROM generate_series(1, 7) t, generate_series(1, 10) j, generate_series(1, 384) GROUP BY t, j;
CREATE FUNCTION keys(v vector, width double precision) RETURNS TABLE (t integer, key bigint) STABLE LANGUAGE sql AS $$
  SELECT t, hashtextextended(string_agg(floor(-(v <#> a) / width + b)::text, ' ' ORDER BY j), 0) FROM planes GROUP BY t $$;
CREATE TABLE lsh AS SELECT m.id, k.* FROM sentences_l2_members m, keys(v, 10 * :near) k;
CREATE INDEX ON lsh (t, key, id);
CREATE UNIQUE INDEX ON sentences_l2_members (id);
CREATE TABLE asked_keys AS SELECT q.id, k.* FROM sentences_l2_asked q, keys(v, 10 * :near) k WHERE kind IN ('near', 'natural');
CREATE INDEX ON asked_keys (id);
VACUUM ANALYZE lsh, asked_keys, sentences_l2_members, sentences_l2_asked;
CREATE FUNCTION met(asked integer, asked_v vector, within double precision) RETURNS boolean STABLE LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM asked_keys a JOIN lsh USING (t, key) JOIN sentences_l2_members m ON m.id = lsh.id
    WHERE a.id = asked AND m.v <-> asked_v <= within) $$;
\set semi_join 'SELECT count(*) FROM asked WHERE met(id, v, ' :within ')'
INSERT INTO bench.queries VALUES ('LSH keys', :asked, :'semi_join');
CALL bench.measure('^LSH keys$', 2);
INSERT INTO quality.peers (name, bytes, at_near, naturally)
  SELECT 'LSH keys', pg_total_relation_size('lsh')::numeric / :members, :recall
  FROM (SELECT kind, met(id, v, :within) AS found FROM sentences_l2_asked
    WHERE kind = 'near' OR kind = 'natural' AND distance <= :within) n;
