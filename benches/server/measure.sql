-- Timing inside the server: what was measured, with what, and what it is compared with.
CREATE SCHEMA bench;

CREATE TABLE bench.runs (name text, ms double precision, result text);
CREATE TABLE bench.queries (name text PRIMARY KEY, rows bigint NOT NULL, query text NOT NULL, place serial);
-- A bar: ours takes at most so many times the time of the peer, each a row; below 1 where ours must be faster.
CREATE TABLE bench.bars (place serial, what text, ours text, peer text, kind text, bar numeric);

-- Runs the queries whose names match a pattern in turn: all once to warm up, then all again and again, so that a slow
-- moment hits all of them.
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

-- Runs a statement once, as one that takes long or leaves something behind.
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
    max(ms) AS worst, min(ms) * 1000 / rows AS us_a_row, min(result) AS result
  FROM bench.runs JOIN bench.queries USING (name) GROUP BY name, rows;

-- Bytes a row of what answers.
CREATE TABLE bench.sizes (name text, bytes_a_row numeric);

CREATE VIEW bench.ratios AS
  SELECT place, what, ours, peer, o.us_a_row AS ours_us, p.us_a_row AS peer_us,
    CASE kind WHEN 'at most' THEN o.us_a_row / p.us_a_row ELSE p.us_a_row / o.us_a_row END AS ratio,
    o.worst / o.best - 1 AS ours_spread, p.worst / p.best - 1 AS peer_spread, kind, bar,
    CASE kind WHEN 'at most' THEN o.us_a_row / p.us_a_row <= bar ELSE p.us_a_row / o.us_a_row >= bar END AS met
  FROM bench.bars b JOIN bench.times o ON o.name = ours JOIN bench.times p ON p.name = peer;

-- The ways to answer for every row whether something is near, and what they take.
CREATE VIEW bench.ways AS
  SELECT w.name, ask.us_a_row AS ask_us, build.us_a_row AS build_us, bytes_a_row
  FROM (VALUES (1, 'nothing: a bare scan', 'scan', NULL, NULL), (2, 'one <-> a row', 'scan with <->', NULL, NULL),
    (3, 'ILBF, 16 projections', 'ask ilbf 16', 'build ilbf 16', 'ilbf 16'),
    (4, 'DSBF, 4 x 4 projections', 'ask dsbf 4 x 4', 'build dsbf 4 x 4', 'dsbf 4 x 4'),
    (5, 'LSBF, 7 x 10 projections', 'ask lsbf 7 x 10', 'build lsbf 7 x 10', 'lsbf 7 x 10'),
    (6, 'LSH keys in an indexed table, keys of the asking rows at hand', 'semi-join with LSH keys', 'build LSH keys', 'LSH keys'),
    (7, 'HNSW, ef_search 40', 'semi-join with HNSW', 'build HNSW', 'HNSW'),
    (8, 'IVFFlat, 100 lists, probes 5', 'semi-join with IVFFlat', 'build IVFFlat', 'IVFFlat'),
    (9, 'all pairs', 'semi-join of all pairs', NULL, NULL)) AS w (place, name, ask, build, size)
  JOIN bench.times ask ON ask.name = w.ask LEFT JOIN bench.times build ON build.name = w.build
  LEFT JOIN bench.sizes s ON s.name = w.size ORDER BY place;
