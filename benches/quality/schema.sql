-- The results of `make quality`: the data sets, the filter chosen for each set and preference, its answers, and those of peers.
CREATE SCHEMA quality;

CREATE TABLE quality.sets (
  place serial, name text PRIMARY KEY, metric text, near double precision, far double precision, members bigint,
  queries bigint, within double precision, median double precision);
CREATE TABLE quality.filters (
  place serial, set text, prefer text, choice lsbf_choice, ms double precision, notice text, f lsbf, PRIMARY KEY (set, prefer));
CREATE TABLE quality.answers (set text, prefer text, kind text, distance double precision, passed boolean);
CREATE TABLE quality.paths (place serial, path text, prefer text, ratio double precision);
CREATE TABLE quality.peers (place serial, name text, bytes numeric, at_near double precision, natural_near double precision, query text);

-- A distance as a multiple of near; for cosine, whose distance grows with the square of the angle, the multiple of the angle.
CREATE FUNCTION quality.times(metric text, near double precision, distance double precision) RETURNS double precision
  IMMUTABLE LANGUAGE sql RETURN CASE metric WHEN 'cosine' THEN sqrt(distance / near) ELSE distance / near END;

-- Chooses a filter as a user does who knows the table, near and the metric.
CREATE PROCEDURE quality.choose(set_name text, preference text) LANGUAGE plpgsql AS $$
DECLARE
  started timestamptz := clock_timestamp();
  chosen lsbf_choice;
BEGIN
  SELECT c.* INTO chosen FROM quality.sets s,
    lsbf_design_for((s.name || '_members')::regclass, 'v', near => s.near, metric => s.metric, prefer => preference) c
    WHERE s.name = set_name LIMIT 1;
  INSERT INTO quality.filters (set, prefer, choice, ms)
    VALUES (set_name, preference, chosen, 1000 * extract(epoch FROM clock_timestamp() - started));
  UPDATE quality.sets SET far = coalesce(far, chosen.far) WHERE name = set_name;
END $$;

-- The rates of a filter and the number of rows they are based on, by kind and distance of the query rows.
CREATE VIEW quality.bands AS
  WITH named AS (
    SELECT set, prefer, passed, distance,
      CASE kind WHEN 'natural' THEN
        CASE WHEN times <= 1 THEN 'natural' WHEN times <= 2 THEN '1-2' WHEN times <= 3 THEN '2-3' WHEN times <= 4 THEN '3-4' ELSE '4-' END
      ELSE kind END AS band
    FROM quality.answers, LATERAL (SELECT quality.times(metric, near, distance) AS times FROM quality.sets WHERE name = set) t
    WHERE kind <> 'curve'
    UNION ALL
    SELECT set, prefer, passed, distance, 'unrelated' FROM quality.answers JOIN quality.sets ON name = set
      WHERE kind = 'natural' AND distance > far)
  SELECT set, prefer, band, count(*) AS rows, count(*) FILTER (WHERE passed) AS passed, avg(distance) AS distance
  FROM named GROUP BY set, prefer, band;

-- The share of rows that pass, by distance: planted rows, natural ones in steps of a quarter of near, and the prediction.
CREATE VIEW quality.curves AS
  WITH times AS (
    SELECT a.*, quality.times(metric, near, distance) AS times FROM quality.answers a JOIN quality.sets ON name = set)
  SELECT set, prefer, 'planted' AS kind, times, avg(passed::integer) AS share, count(*) AS rows
    FROM times WHERE kind = 'curve' GROUP BY set, prefer, times
  UNION ALL
  SELECT set, prefer, 'natural', avg(times), avg(passed::integer), count(*)
    FROM times WHERE kind = 'natural' AND times < 5 GROUP BY set, prefer, floor(times * 4)
  UNION ALL
  SELECT set, prefer, 'predicted', step, 1 - lsbf_fnr(f, CASE metric WHEN 'cosine' THEN near * step * step ELSE near * step END), 0
    FROM quality.filters JOIN quality.sets ON name = set, (SELECT i / 10.0::double precision FROM generate_series(0, 50) i) s (step)
    WHERE f IS NOT NULL AND CASE metric WHEN 'cosine' THEN near * step * step ELSE near * step END < CASE metric WHEN 'l2' THEN float8 'infinity' ELSE 1 END;
