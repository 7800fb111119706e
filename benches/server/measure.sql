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

CREATE VIEW bench.ratios AS
  SELECT place, what, ours, peer, o.us_a_row AS ours_us, p.us_a_row AS peer_us,
    CASE kind WHEN 'at most' THEN o.us_a_row / p.us_a_row ELSE p.us_a_row / o.us_a_row END AS ratio,
    o.worst / o.best - 1 AS ours_spread, p.worst / p.best - 1 AS peer_spread, kind, bar,
    CASE kind WHEN 'at most' THEN o.us_a_row / p.us_a_row <= bar ELSE p.us_a_row / o.us_a_row >= bar END AS met
  FROM bench.bars b JOIN bench.times o ON o.name = ours JOIN bench.times p ON p.name = peer;
