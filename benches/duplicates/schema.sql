-- The share of rows that a method flags: of rows with an earlier one within near (recall), and of rows with none within 4 near.
CREATE TABLE bench.found (name text, recall numeric, near bigint, false_positives numeric, far bigint);

\i scripts/lib/peak.sql

-- The methods, with their costs for all rows; those measured with some rows only are extrapolated.
CREATE VIEW bench.passes AS
  SELECT place, w.label, t.name, set.rows, t.us_per_row + coalesce(b.us_per_row, 0) AS us_per_row,
    set.rows * (t.us_per_row + coalesce(b.us_per_row, 0)) / 1e6 AS seconds, (t.us_per_row + coalesce(b.us_per_row, 0)) / floor.us_per_row AS ratio,
    t.rows < set.rows AS extrapolated, recall, false_positives, bytes_per_row, t.worst / t.best - 1 AS spread
  FROM (VALUES (1, 'one `<->` per row', 'one <-> per row', NULL), (2, '`row_number`, the cost of the executor', 'row_number', NULL),
      (3, '**`lsbf_seen`**', 'lsbf_seen', NULL), (4, '**`lsbf_first`**', 'lsbf_first', NULL),
      (5, 'HNSW, `LIMIT 2`: building and querying', 'HNSW', 'build HNSW'), (6, '`LATERAL` self-join', 'LATERAL', NULL)) AS w (place, label, way, build)
    CROSS JOIN (SELECT split_part(name, ':', 1) AS set, rows FROM bench.queries WHERE name ~ ': lsbf_seen$') AS set
    JOIN bench.times t ON t.name = set.set || ': ' || way
    JOIN bench.times floor ON floor.name = set.set || ': one <-> per row'
    LEFT JOIN bench.times b ON b.name = set.set || ': ' || build
    LEFT JOIN bench.found f ON f.name = t.name
    LEFT JOIN bench.sizes s ON s.name = t.name;

-- A number with three significant digits.
CREATE FUNCTION bench.short(x double precision) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN x < 10 THEN to_char(x, 'FM990.00') WHEN x < 100 THEN to_char(x, 'FM990.0') ELSE to_char(x, 'FM999,999,999,990') END
$$;
