-- A similarity semi-join: which uploads are near a song we know?
-- Run it in an empty database: psql -f semi-join.sql

CREATE EXTENSION pg_lsbf;

-- 2,000 songs as vectors of 64 numbers, and 500 uploads. Every tenth upload is a song with a little noise.
CREATE FUNCTION vector_of(seed float8, noise float8 DEFAULT 0) RETURNS real[] LANGUAGE sql IMMUTABLE AS
  'SELECT array_agg((sin(seed * j ^ 1.5) + noise * cos(seed * j))::real ORDER BY j) FROM generate_series(1, 64) j';
CREATE TABLE songs AS SELECT id, vector_of(id) AS v FROM generate_series(1, 2000) id;
CREATE TABLE uploads AS
  SELECT id, CASE WHEN id % 10 = 0 THEN vector_of(2 * id, 0.04) ELSE vector_of(id + 0.5) END AS v FROM generate_series(1, 500) id;
CREATE FUNCTION distance(real[], real[]) RETURNS float8 LANGUAGE sql IMMUTABLE COST 1000 AS
  'SELECT sqrt(sum((x - y) ^ 2)) FROM unnest($1, $2) AS u (x, y)';

-- One filter of all songs. near is the distance within which two vectors count as the same song.
CREATE TABLE filters AS
  SELECT lsbf_agg(v, (SELECT prototype FROM lsbf_design_for('songs', 'v', near => 0.4) LIMIT 1)) AS f FROM songs;
SELECT regexp_split_to_table(lsbf_explain(f), '(?<=\.) ') AS "what it can do" FROM filters;

-- How much smaller it is than what it stands for.
SELECT sum(pg_column_size(v)) AS songs, pg_column_size(f) AS filter FROM songs, filters GROUP BY f;

-- The query, in a WHERE clause. As a subquery the filter is tested before anything expensive is computed.
CREATE TABLE candidates AS SELECT * FROM uploads WHERE approx_member((SELECT f FROM filters), v);
SELECT count(*) FROM candidates;

-- Only candidates are compared exactly.
CREATE TABLE matches AS
  SELECT c.id AS upload, s.id AS song FROM candidates c JOIN songs s ON distance(c.v, s.v) <= 0.4;
SELECT count(*) AS matches, count(*) FILTER (WHERE song = 2 * upload) AS planted FROM matches;

-- The two ways to err. A false positive is a candidate without a match: comparing drops it. A false negative is a match that did
-- not pass: nothing brings it back, so know how often that is. Both are predicted; here they can be counted, as 50 uploads have a match.
SELECT (SELECT count(*) FROM candidates WHERE id NOT IN (SELECT upload FROM matches)) AS false_positives,
  round(lsbf_fpr(f)::numeric, 3) AS "predicted share at far",
  50 - (SELECT count(DISTINCT upload) FROM matches) AS false_negatives,
  round(lsbf_fnr(f, 0.4)::numeric, 3) AS "predicted share at near"
FROM filters;

-- The anti-join: songs that nothing like was uploaded. Here a false negative is a song too many, a false positive one too few.
CREATE TABLE uploaded AS
  SELECT lsbf_agg(v, (SELECT prototype FROM lsbf_design_for('uploads', 'v', near => 0.4) LIMIT 1)) AS f FROM uploads;
SELECT count(*) AS never_uploaded FROM songs WHERE NOT approx_member((SELECT f FROM uploaded), v);
