-- The data of the page of `make explore`, as JSON: filters for several radii and preferences, the predicted rates of each,
-- and the measured rates of rows planted at given distances.
\set QUIET on
\set ON_ERROR_STOP on
\pset tuples_only on
\pset format unaligned
\set members 4000
SET client_min_messages = warning;
SELECT setseed(0.5) \g /dev/null
CREATE EXTENSION pg_lsbf;

-- A random vector of 96 dimensions with the given length.
CREATE FUNCTION step(length float8, salt int) RETURNS float8[] LANGUAGE sql VOLATILE AS $$
  SELECT array_agg(x * length / sqrt(squares)) FROM (
    SELECT x, sum(x * x) OVER () AS squares FROM (
      SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + 0 * salt AS x FROM generate_series(1, 96)) n) s
$$;
CREATE FUNCTION plus(a float8[], b float8[]) RETURNS real[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg((x + y)::real) FROM unnest(a, b) AS t (x, y)
$$;

-- Vectors of about unit length, in 100 groups.
CREATE TABLE groups AS SELECT id, step(0.7, id) AS v FROM generate_series(0, 99) id;
CREATE TABLE members AS SELECT m AS id, plus(v, step(0.7, m)) AS v FROM generate_series(1, :members) m JOIN groups g ON g.id = m % 100;
ANALYZE members;

CREATE TABLE filters AS
  SELECT near, prefer, far, lsbf_agg(v, prototype) AS f FROM members, (
    SELECT r.near, prefer, d.far, prototype FROM (VALUES (0.1), (0.15), (0.2), (0.3), (0.4)) r (near),
      (VALUES ('small'), ('balanced'), ('fast'), ('sharp')) p (prefer),
      LATERAL (SELECT prototype, far FROM lsbf_design_for('members', 'v', near => r.near, prefer => prefer, max_theta => 1.5) LIMIT 1) d) c
  GROUP BY near, prefer, far;

-- Rows planted at near, to count false negatives, and at twelve distances up to twice far, each from one member.
CREATE TABLE planted AS
  SELECT near, distance, plus(v, step(distance, id)) AS v
  FROM (SELECT near, round((2 * max(far) * i / 12)::numeric, 4)::float8 AS distance
        FROM filters, generate_series(1, 12) i GROUP BY near, i
        UNION SELECT near, near FROM filters) d, members
  WHERE id <= CASE WHEN distance = near THEN 1000 ELSE 200 END;

SELECT json_build_object('members', :members, 'dims', 96, 'filters', json_agg(json_build_object(
    'near', near, 'far', far, 'prefer', prefer, 'bytes', round((octet_length(f::bytea) / :members.0)::numeric, 1),
    'text', lsbf_explain(f), 'thetas', thetas) ORDER BY near, octet_length(f::bytea)))
FROM filters, LATERAL (
  SELECT json_agg(json_build_object('theta', theta,
    'fnr', lsbf_fnr(f, theta * near, theta), 'fpr', lsbf_fpr(f, theta),
    'curve', (SELECT json_agg(json_build_array(round(distance::numeric, 4), round(passed::numeric, 5)) ORDER BY distance)
              FROM lsbf_curve(f, theta, 2 * far, 60)),
    'found', (SELECT json_agg(json_build_array(distance, share) ORDER BY distance) FROM (
                SELECT distance, round(avg(approx_member(f, v, theta)::int), 4) AS share
                FROM planted p WHERE p.near = filters.near GROUP BY distance) s)) ORDER BY theta) AS thetas
  FROM (VALUES (0.5), (0.75), (1), (1.25), (1.5)) t (theta)) t;
