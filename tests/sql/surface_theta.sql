-- theta: the query distance, as a multiple of near.
CREATE TABLE f AS SELECT * FROM (VALUES
  ('dsbf', dsbf_new(metric => 'l2', capacity => 50, near => 0.5)), ('lsbf', lsbf_new(capacity => 50, near => 0.5)),
  ('lsbf without overflow', lsbf_new(capacity => 50, near => 0.5, overflow => 0)), ('lsbf without verification', lsbf_new(capacity => 50, near => 0.5, verify_bits => 0)),
  ('ilbf', ilbf_new(capacity => 50, near => 0.5)), ('ilbf with votes', ilbf_new(capacity => 50, near => 0.5, votes => 8)), ('ilbf aligned', ilbf_new(capacity => 50, near => 0.5, blooms_aligned => true))) t(name, p),
  LATERAL (SELECT lsbf_agg(ARRAY[i, i * i % 7, -i], p) AS f FROM generate_series(10, 500, 10) i) s;

-- Out of range: the same error from every function.
CREATE VIEW calls AS SELECT unnest(ARRAY['approx_member(f, ''[1,2,3]'', %L)', 'approx_votes(f, ''[1,2,3]'', %L)', 'lsbf_fpr(f, %L)', 'lsbf_fnr(f, 0.5, %L)']) AS call;
SELECT theta, error, count(*) FROM f, calls, unnest(ARRAY['0', '-0', '-1', 'NaN', 'Infinity', '-Infinity', '10001', '1e300']) theta,
  LATERAL (SELECT expect_error(format('SELECT ' || call || ' FROM f WHERE name = %L', theta, name)) AS error) s GROUP BY theta, error ORDER BY theta;
SELECT theta, error, count(*) FROM f, calls, unnest(ARRAY['1e-300', '0.001', '0.5', '1', '1.5', '10000']) theta,
  LATERAL (SELECT expect_error(format('SELECT ' || call || ' FROM f WHERE name = %L', theta, name)) AS error) s WHERE name <> 'ilbf aligned' GROUP BY theta, error ORDER BY theta::float8;
-- Aligned Blooms support whole multiples only.
SELECT theta, call, expect_error(format('SELECT ' || call || ' FROM f WHERE name = ''ilbf aligned''', theta)) FROM calls, unnest(ARRAY['0.5', '1.5', '2']) theta ORDER BY theta, call;

-- A member is found at every theta >= 1. theta defaults to 1.
SELECT name, bool_and(approx_member(f, v, theta)) AS found, bool_and(approx_member(f, v) AND approx_votes(f, v) = approx_votes(f, v, 1)) AS default
  FROM f, generate_series(10, 500, 10) i, LATERAL (SELECT ARRAY[i, i * i % 7, -i]) s(v), unnest(ARRAY[1, 2, 3, 10, 1000, 10000]) theta GROUP BY name ORDER BY name;
-- Growing theta never turns true into false. (Except for aligned Blooms: blocks of 2 are not nested in blocks of 3.)
SELECT name, count(*) FILTER (WHERE before AND NOT now) AS broken, count(*) FILTER (WHERE now AND NOT before) > 0 AS grows FROM (
  SELECT name, approx_member(f, q, theta) AS now, lag(approx_member(f, q, theta)) OVER (PARTITION BY name, i ORDER BY theta) AS before
  FROM f, generate_series(1, 100) i, LATERAL (SELECT ARRAY[i * 5 + i / 37.0, i, -i * 5]) s(q), unnest(ARRAY[0.1, 0.5, 0.9, 1, 1.3, 2, 2.5, 3, 5, 8, 20, 100, 1e4]) theta
  WHERE name <> 'ilbf aligned') t GROUP BY name ORDER BY name;
-- An empty filter contains nothing at every theta, and still validates its arguments.
SELECT name, bool_or(approx_member(p, '[1,2,3]', theta)) AS found, max(approx_votes(p, '[1,2,3]', theta)) AS votes, min(lsbf_fpr(p, theta)) AS fpr, min(lsbf_fnr(p, 0, theta)) AS fnr
  FROM f, unnest(ARRAY[1, 2, 1000]) theta GROUP BY name ORDER BY name;
SELECT DISTINCT expect_error(format('SELECT approx_member(p, ''[1,2,3]'', 0) FROM f WHERE name = %L', name)) FROM f;

-- Predicted rates are probabilities, and their arguments are validated too.
SELECT name, bool_and(lsbf_fpr(f, theta) BETWEEN 0 AND 1) AS fpr, bool_and(lsbf_fnr(f, d, theta) BETWEEN 0 AND 1) AS fnr, bool_and(lsbf_fnr(f, 0, theta) < 1e-9) AS members
  FROM f, unnest(ARRAY[1, 2, 5]) theta, unnest(ARRAY[0, 0.1, 0.5, 1, 10, 1e10, 1e300, 'Infinity']) d GROUP BY name ORDER BY name;
SELECT d, error, count(*) FROM f, unnest(ARRAY['-1', '-1e-300', 'NaN', '-Infinity']) d, LATERAL (SELECT expect_error(format('SELECT lsbf_fnr(f, %L) FROM f WHERE name = %L', d, name)) AS error) s GROUP BY d, error ORDER BY d;
