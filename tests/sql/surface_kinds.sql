-- What a kind of filter does not support, and filters that cannot be merged.
CREATE TABLE f AS SELECT name, p, lsbf_add(p, '[1,2,3]') AS f FROM (VALUES ('dsbf', dsbf_new(metric => 'l2', capacity => 10, near => 0.5)), ('lsbf', lsbf_new(capacity => 10, near => 0.5)),
  ('ilbf', ilbf_new(capacity => 10, near => 0.5)), ('ilbf l1', ilbf_new(metric => 'l1', capacity => 10, near => 0.5)), ('ilbf aligned', ilbf_new(capacity => 10, near => 0.5, blooms_aligned => true))) t(name, p);

-- approx_distance needs an ilbf with centred windows, even if the filter is empty.
SELECT name, expect_error(format('SELECT approx_distance(f, ''[1,2,3]'') FROM f WHERE name = %L', name)), expect_error(format('SELECT approx_distance(p, ''[1,2,3]'') FROM f WHERE name = %L', name)) =
  expect_error(format('SELECT approx_distance(f, ''[1,2,3]'') FROM f WHERE name = %L', name)) AS same_when_empty FROM f ORDER BY name;
SELECT expect_error('SELECT approx_distance(dsbf_new(capacity => 10, near => 0.1), B''01'')');
SELECT expect_error('SELECT approx_distance(f, B''01'') FROM f WHERE name = ''ilbf''');
-- A full filter: near a member the estimate is within a factor of 3 of the distance (it is based on the votes of 16 projections); far
-- from all members it is NULL.
CREATE TABLE full_filter AS SELECT lsbf_agg(ARRAY[i % 32 * 40, i / 32 % 32 * 40, i % 7], ilbf_new(capacity => 1000, near => 0.5)) AS f FROM generate_series(1, 1000) i;
SELECT d, count(a) >= 15 AS found, count(*) FILTER (WHERE a BETWEEN d / 3 AND d * 3) >= 15 AS within_3 FROM full_filter, unnest(ARRAY[0.25, 0.5, 1]) d, generate_series(1, 20) i,
  LATERAL (SELECT approx_distance(f, ARRAY[i % 32 * 40 + d, i / 32 % 32 * 40, i % 7]) AS a) s GROUP BY d ORDER BY d;
SELECT count(approx_distance(f, ARRAY[i % 32 * 40, i / 32 % 32 * 40, i % 7])) AS members, max(approx_distance(f, ARRAY[i % 32 * 40, i / 32 % 32 * 40, i % 7])) < 0.5 AS near, count(approx_distance(f, ARRAY[i * 1000, -i, -50000])) <= 1 AS far
  FROM full_filter, generate_series(1, 20) i;
SELECT approx_distance(p, '[1,2,3]') IS NULL AS empty FROM f WHERE name = 'ilbf';

-- Merging and lsbf_overlap: every pair of filters that hash differently is refused, and the error names what differs.
SELECT a.name, b.name, expect_error(format('SELECT a.f | b.f FROM f a, f b WHERE a.name = %L AND b.name = %L', a.name, b.name)) FROM f a, f b WHERE a.name < b.name ORDER BY 1, 2;
SELECT DISTINCT expect_error(format('SELECT a.f | b.f FROM f a, f b WHERE a.name = %L AND b.name = %L', a.name, b.name)) = expect_error(format('SELECT lsbf_overlap(a.f, b.f) FROM f a, f b WHERE a.name = %L AND b.name = %L', a.name, b.name)) AS overlap,
  expect_error(format('SELECT a.f | b.f FROM f a, f b WHERE a.name = %L AND b.name = %L', a.name, b.name)) = expect_error(format('SELECT lsbf_union_agg(f ORDER BY name <> %L) FROM f WHERE name IN (%L, %L)', a.name, a.name, b.name)) AS union_agg,
  expect_error(format('SELECT a.f | b.f FROM f a, f b WHERE a.name = %L AND b.name = %L', a.name, b.name)) = expect_error(format('SELECT a.p | b.p FROM f a, f b WHERE a.name = %L AND b.name = %L', a.name, b.name)) AS empty
  FROM f a, f b WHERE a.name < b.name;
-- Each parameter in turn.
SELECT a, expect_error(format('SELECT lsbf_new(capacity => 10, near => 0.5, dims => 3) | lsbf_new(%s)', a)) FROM unnest(ARRAY['capacity => 10, near => 0.5, dims => 3', 'capacity => 10, near => 0.5', 'capacity => 10, near => 0.5, dims => 4',
  'capacity => 10, near => 0.5, dims => 3, metric => ''l1''', 'capacity => 10, near => 0.5, dims => 3, seed => -1', 'capacity => 10, near => 0.5, dims => 3, tables => 20', 'capacity => 10, near => 0.5, dims => 3, overflow => 0, robust => false',
  'capacity => 10, near => 0.5, dims => 3, robust => false']) a;
SELECT a, expect_error(format('SELECT ilbf_new(capacity => 10, near => 0.5) | ilbf_new(%s)', a)) FROM unnest(ARRAY['capacity => 10, near => 0.5, blooms => 77', 'capacity => 10, near => 0.5, slots => 64', 'capacity => 10, near => 0.5, bloom_hashes => 5',
  'capacity => 10, near => 0.5, votes => 5', 'capacity => 10, near => 0.5, blooms_aligned => true', 'capacity => 10, near => 0.5, far => 5', 'capacity => 10, near => 0.6, width => 1', 'capacity => 11, near => 0.5, blooms => 160']) a;
SELECT expect_error('SELECT dsbf_new(capacity => 10, near => 0.1) | dsbf_new(capacity => 10, near => 0.1, alphabet => ''symbols'')');
-- The operators = and <> accept any two filters.
SELECT count(*) FILTER (WHERE a.f = b.f) AS equal, count(*) FILTER (WHERE a.f <> b.f) AS different FROM f a, f b;

-- lsbf_overlap: the same members, half of them, none in common; the overlap with an empty filter is 0.
CREATE TABLE o AS SELECT g, lsbf_agg(ARRAY[i * 37 % 1001, i * i % 997, i], lsbf_new(capacity => 1000, near => 0.1)) AS f FROM generate_series(1, 600) i, (VALUES ('a', 1, 400), ('b', 201, 600), ('c', 1, 200), ('d', 401, 600)) t(g, low, high)
  WHERE i BETWEEN low AND high GROUP BY g;
SELECT a.g || b.g AS pair, truth, abs(lsbf_overlap(a.f, b.f) - truth) < 0.05 AS close, lsbf_overlap(a.f, b.f) = lsbf_overlap(b.f, a.f) AS symmetric
  FROM o a, o b, LATERAL (SELECT CASE a.g || b.g WHEN 'aa' THEN 1 WHEN 'ab' THEN 0.3333 WHEN 'ac' THEN 0.5 WHEN 'cd' THEN 0 END AS truth) t WHERE truth IS NOT NULL ORDER BY 1;
SELECT lsbf_overlap(f, lsbf_new(capacity => 1000, near => 0.1)) AS empty FROM o WHERE g = 'a';
