-- Tuning: from a radius to a filter, what it can do, and how to know that it does.
-- Run it in an empty database: psql -f tuning.sql

CREATE EXTENSION pg_lsbf;

-- 1,500 embeddings of 64 numbers, of about unit length, in 40 groups as real ones are.
CREATE FUNCTION unit(seed float8) RETURNS float8[] LANGUAGE sql IMMUTABLE AS
  'SELECT array_agg(sin(seed * j ^ 1.5) / sqrt(32.0) ORDER BY j) FROM generate_series(1, 64) j';
CREATE FUNCTION mix(a float8[], b float8[], share float8) RETURNS real[] LANGUAGE sql IMMUTABLE AS
  'SELECT array_agg((sqrt(1 - share ^ 2) * x + share * y)::real ORDER BY n) FROM unnest(a, b) WITH ORDINALITY AS u (x, y, n)';
CREATE TABLE items AS SELECT id, mix(unit(1000 + id % 40), unit(id), 0.7) AS v FROM generate_series(1, 1500) id;
CREATE FUNCTION distance(real[], real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT sqrt(sum((x - y) ^ 2)) FROM unnest($1, $2) AS u (x, y)';

-- 1. near: look at distances. Take rows that you know to belong together, and rows that do not.
SELECT round(min(distance(a.v, b.v))::numeric, 2) AS nearest, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY distance(a.v, b.v)))::numeric, 2) AS median
FROM items a, items b WHERE a.id <= 40 AND b.id > 40 AND b.id <= 440;

-- 2. Let it be chosen. prefer says what matters: bytes, time, or few false positives. For vectors, more bits of a code mean fewer false positives.
SELECT prefer, round(bytes_per_member::numeric, 1) AS bytes, round(cost) AS cost, round(fnr::numeric, 4) AS fnr, round(fpr::numeric, 4) AS fpr,
  kind, bits
FROM unnest(ARRAY['small', 'balanced', 'fast', 'sharp']) prefer,
  LATERAL (SELECT * FROM lsbf_design_for('items', 'v', near => 0.2, prefer => prefer) LIMIT 1) d;

-- 3. A radius that the data does not allow: unrelated rows are hardly farther away. A notice says so, and the filter is the best possible.
SELECT round(fnr::numeric, 3) AS fnr, round(fpr::numeric, 3) AS fpr, bits FROM lsbf_design_for('items', 'v', near => 1, far => 1.1) LIMIT 1;

-- 4. In plain words, and as a curve: what passes, by the distance of the nearest member.
CREATE TABLE filters AS
  SELECT lsbf_agg(v, (SELECT prototype FROM lsbf_design_for('items', 'v', near => 0.2) LIMIT 1)) AS f FROM items;
SELECT regexp_split_to_table(lsbf_explain(f), '(?<=\.) ') AS "what it can do" FROM filters;
SELECT round(distance::numeric, 2) AS distance, round(passed::numeric, 3) AS passed FROM filters, lsbf_curve(f, upto => 0.8, points => 8);

-- 5. Trust, and count: rows planted at about these distances from members.
SELECT planted, round(avg(approx_member(f, mix(v, unit(9000 + id), planted))::int), 3) AS passed
FROM items, filters, unnest(ARRAY[0.1, 0.2, 0.3, 0.4, 0.6]) planted WHERE id <= 500 GROUP BY planted ORDER BY planted;

-- 6. Too many missed? Request fewer (fnr), or a slightly larger radius than you need (near): both cost bytes, time or false positives.
SELECT 'fnr => 0.002' AS requested, round(bytes_per_member::numeric, 1) AS bytes, round(cost) AS cost, round(fnr::numeric, 4) AS fnr, round(fpr::numeric, 4) AS fpr
FROM lsbf_design_for('items', 'v', near => 0.2, fnr => 0.002) LIMIT 1;

-- Or when querying: theta multiplies near. A larger theta never finds less. Filters of vectors serve theta up to 1.25 at least; max_theta requests more.
SELECT theta, round(lsbf_fnr(f, 0.2, theta)::numeric, 4) AS missed_at_near, round(lsbf_fpr(f, theta)::numeric, 4) AS passed_at_far FROM filters, unnest(ARRAY[1, 1.1, 1.25]) theta;
SELECT requested AS max_theta, round(bytes_per_member::numeric, 1) AS bytes, bits, round(lsbf_fnr(lsbf_add(prototype, unit(1)), 2 * 0.2, 2)::numeric, 3) AS "missed at 2 near, theta 2"
FROM unnest(ARRAY[2, 3]) requested, LATERAL (SELECT * FROM lsbf_design_for('items', 'v', near => 0.2, max_theta => requested) LIMIT 1) d;
