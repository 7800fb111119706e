-- Timing inside the server: queries, their times, and the comparison with peers.
CREATE SCHEMA bench;

CREATE TABLE bench.runs (name text, ms double precision, result text);
CREATE TABLE bench.queries (name text PRIMARY KEY, rows bigint NOT NULL, query text NOT NULL, place serial);
-- A bar limits the ratio of the times per row: ours to the peer's ('at most'), or the peer's to ours ('at least'). NULL is no
-- limit.
CREATE TABLE bench.bars (place serial, what text, ours text, peer text, kind text, bar numeric);

-- Runs the queries whose names match a pattern in turn: all once to warm up, then all `repeats` times, so that a slow moment
-- affects all of them.
CREATE PROCEDURE bench.measure(names text, repeats integer) LANGUAGE plpgsql AS $$
DECLARE
  q bench.queries;
  started timestamptz;
  answer text;
BEGIN
  FOR run IN 0..repeats LOOP
    FOR q IN SELECT * FROM bench.queries WHERE name ~ names ORDER BY place LOOP
      started := clock_timestamp();
      EXECUTE q.query INTO answer;
      IF run > 0 THEN
        INSERT INTO bench.runs VALUES (q.name, 1000 * extract(epoch FROM clock_timestamp() - started), answer);
      END IF;
    END LOOP;
  END LOOP;
END $$;

-- Runs a statement once, for one that takes long or creates objects.
CREATE PROCEDURE bench.once(name text, rows bigint, statement text) LANGUAGE plpgsql AS $$
DECLARE
  started timestamptz := clock_timestamp();
BEGIN
  EXECUTE statement;
  INSERT INTO bench.queries VALUES (name, rows, statement);
  INSERT INTO bench.runs VALUES (name, 1000 * extract(epoch FROM clock_timestamp() - started), '');
END $$;

CREATE VIEW bench.times AS
  SELECT name, rows, count(*) AS runs, min(ms) AS best, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS median,
    max(ms) AS worst, min(ms) * 1000 / rows AS us_per_row, min(result) AS result
  FROM bench.runs JOIN bench.queries USING (name) GROUP BY name, rows;

-- Bytes per row of a filter or index.
CREATE TABLE bench.sizes (name text, bytes_per_row numeric);

CREATE VIEW bench.ratios AS
  SELECT place, what, ours, peer, o.us_per_row AS ours_us, p.us_per_row AS peer_us,
    CASE kind WHEN 'at most' THEN o.us_per_row / p.us_per_row ELSE p.us_per_row / o.us_per_row END AS ratio,
    o.worst / o.best - 1 AS ours_spread, p.worst / p.best - 1 AS peer_spread, kind, bar,
    CASE kind WHEN 'at most' THEN o.us_per_row / p.us_per_row <= bar ELSE p.us_per_row / o.us_per_row >= bar END AS met
  FROM bench.bars b JOIN bench.times o ON o.name = ours JOIN bench.times p ON p.name = peer;

-- The ways to find out for every row whether something is near, and their costs.
CREATE VIEW bench.ways AS
  SELECT w.name, query.us_per_row AS query_us, build.us_per_row AS build_us, bytes_per_row
  FROM (VALUES (1, 'nothing: a plain scan', 'scan', NULL, NULL), (2, 'one <-> per row', 'scan with <->', NULL, NULL),
    (3, 'ILBF, 16 projections', 'query ilbf 16', 'build ilbf 16', 'ilbf 16'),
    (4, 'DSBF, 4 x 4 projections', 'query dsbf 4 x 4', 'build dsbf 4 x 4', 'dsbf 4 x 4'),
    (5, 'LSBF, 7 x 10 projections', 'query lsbf 7 x 10', 'build lsbf 7 x 10', 'lsbf 7 x 10'),
    (6, 'LSQF, as chosen', 'query lsqf chosen', 'build lsqf chosen', 'lsqf chosen'),
    (7, 'LSH keys in an indexed table, keys of the query rows precomputed', 'semi-join with LSH keys', 'build LSH keys', 'LSH keys'),
    (8, 'HNSW, ef_search 40', 'semi-join with HNSW', 'build HNSW', 'HNSW'),
    (9, 'IVFFlat, 100 lists, probes 5', 'semi-join with IVFFlat', 'build IVFFlat', 'IVFFlat'),
    (10, 'all pairs', 'semi-join of all pairs', NULL, NULL)) AS w (place, name, query, build, size)
  JOIN bench.times query ON query.name = w.query LEFT JOIN bench.times build ON build.name = w.build
  LEFT JOIN bench.sizes s ON s.name = w.size ORDER BY place;
