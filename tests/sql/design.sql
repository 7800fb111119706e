-- lsbf_design and lsbf_design_for: filters chosen by size, cost and predicted rates.
\set SHOW_CONTEXT never
-- pseudorandom unit vectors
CREATE FUNCTION unit(name text, dims integer) RETURNS float8[] IMMUTABLE LANGUAGE sql AS $$
  WITH raw AS (SELECT j, (get_byte(decode(md5(name || j), 'hex'), 0) + get_byte(decode(md5(name || j), 'hex'), 1) / 256.0 - 128) AS x FROM generate_series(1, dims) j)
  SELECT array_agg(x / (SELECT sqrt(sum(x * x)) FROM raw) ORDER BY j) FROM raw $$;
CREATE TABLE items AS SELECT id, unit('item ' || id, 64)::real[] AS v FROM generate_series(1, 3000) id;
ANALYZE items;
CREATE TEMP TABLE chosen AS SELECT prefer, c.* FROM (VALUES ('small'), ('balanced'), ('fast'), ('sharp')) p (prefer),
  LATERAL (SELECT * FROM lsbf_design_for('items', 'v', near => 0.2, prefer => p.prefer) LIMIT 1) c;
SELECT prefer, kind, family, near, far, capacity, bits BETWEEN 8 AND 256 AS bits, bytes_per_member BETWEEN 3 AND 60 AS bytes, fpr < 0.15 AS fpr, fnr < 0.02 AS fnr, unrelated < 0.05 AS unrelated, cost > 0 AS cost,
  num_nonnulls(tables, hashes, blocks, probes, votes) AS others, (lsbf_info(prototype)).dims, (lsbf_info(prototype)).centred FROM chosen ORDER BY bytes_per_member;
SELECT (SELECT bytes_per_member FROM chosen WHERE prefer = 'small') = min(bytes_per_member) AS small, (SELECT cost FROM chosen WHERE prefer = 'fast') = min(cost) AS fast,
  (SELECT fpr FROM chosen WHERE prefer = 'sharp') = min(fpr) AS sharp FROM chosen;
-- several choices, best first, the same every time
SELECT count(*) > 2 AS several, bool_and(prototype IS NOT NULL) AS made FROM lsbf_design_for('items', 'v', near => 0.2);
SELECT (SELECT prototype FROM lsbf_design_for('items', 'v', 0.2) LIMIT 1) = (SELECT prototype FROM lsbf_design_for('items', 'v', 0.2) LIMIT 1) AS same,
  (SELECT prototype FROM lsbf_design_for('items', 'v', 0.2) LIMIT 1) = (SELECT prototype FROM lsbf_design_for('items', 'v', 0.2, seed => 1) LIMIT 1) AS other_seed;
-- filters built from the first choice keep what it predicts
CREATE TABLE filters AS SELECT prefer, lsbf_agg(v, prototype) AS f FROM chosen, items GROUP BY prefer, prototype;
SELECT prefer, count(*) FILTER (WHERE approx_member(f, v)) AS members,
  count(*) FILTER (WHERE approx_member(f, (SELECT array_agg((x + 0.025 * sign(y))::real) FROM unnest(v, unit('noise ' || id, 64)) u (x, y)))) > 0.95 * count(*) AS near,
  count(*) FILTER (WHERE approx_member(f, unit('unrelated ' || id, 64))) < 0.02 * count(*) AS unrelated,
  bool_and(pg_column_size(f) < 1.1 * bytes_per_member * 3000 + 2000) AS size
FROM filters JOIN chosen USING (prefer), items WHERE id <= 500 GROUP BY prefer ORDER BY prefer;
-- other metrics and types
SELECT metric, (SELECT kind || ' ' || family FROM lsbf_design_for('items', 'v', near, metric) LIMIT 1) FROM (VALUES ('l2', 0.2), ('cosine', 0.02), ('l1', 1.0)) m (metric, near);
CREATE TABLE others AS SELECT id, v::float8[] AS doubles, v::numeric[] AS numerics, random_bits('o' || id, 128)::bit(128) AS bits, random_bits('o' || id, 128) AS varbits,
  ARRAY(SELECT id * 100 + j FROM generate_series(1, 30) j) AS ints, ARRAY(SELECT 'e' || (id * 100 + j) FROM generate_series(1, 30) j) AS texts,
  md5(id::text) AS string, (1 + id % 7) * v[1] AS x, ARRAY(SELECT 3 ^ (id % 8) * e FROM unnest(v::float8[]) e) AS lengths FROM items WHERE id <= 600;
SELECT col, near, (SELECT family || ' ' || (lsbf_info(prototype)).metric FROM lsbf_design_for('others', col, near) LIMIT 1) AS chosen
FROM (VALUES ('doubles', 0.2), ('numerics', 0.2), ('bits', 0.02), ('varbits', 0.02), ('ints', 0.2), ('texts', 0.2), ('lengths', 0.2)) c (col, near);
SELECT family, (lsbf_info(prototype)).metric FROM lsbf_design_for('others', 'string', 0.05, alphabet => 'symbols') LIMIT 1;
-- capacity, sample, views, partitions, NULL vectors
SELECT capacity FROM lsbf_design_for('items', 'v', 0.2, capacity => 100000) LIMIT 1;
SELECT capacity FROM lsbf_design_for('items', 'v', 0.2, sample => 500) LIMIT 1;
CREATE VIEW viewed AS SELECT v AS "a column" FROM items WHERE id <= 1000 UNION ALL SELECT NULL;
SELECT capacity FROM lsbf_design_for('viewed', 'a column', 0.2) LIMIT 1;
CREATE TABLE parted (id integer, v real[]) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parted FOR VALUES FROM (0) TO (500);
CREATE TABLE part2 PARTITION OF parted FOR VALUES FROM (500) TO (1000);
INSERT INTO parted SELECT * FROM items WHERE id < 1000;
SELECT capacity FROM lsbf_design_for('parted', 'v', 0.2) LIMIT 1;

-- lsbf_design: without a table
SELECT metric, near, family, far, capacity, fpr < 0.06 AS fpr, fnr < 0.011 AS fnr, bytes_per_member < 200 AS bytes
FROM (VALUES ('l2', 0.5), ('l1', 0.5), ('cosine', 0.02), ('hamming', 0.02), ('jaccard', 0.2)) m (m, n), LATERAL (SELECT * FROM lsbf_design(m, n, 10000) LIMIT 1) c, LATERAL (SELECT m AS metric) x;
SELECT kind, (lsbf_info(prototype)).length FROM lsbf_design('l2', 0.2, 10000, dims => 384, length => 1) LIMIT 1;
SELECT metric, bits >= tables AS bits, votes <= tables AS votes, probes >= 1 AS probes, hashes >= 1 AS hashes FROM (VALUES ('l1'), ('hamming'), ('jaccard')) m (metric), LATERAL (SELECT * FROM lsbf_design(metric, 0.1, 10000) LIMIT 1) c;
SELECT (lsbf_info(prototype)).centred FROM lsbf_design('l2', 0.2, 10000, dims => 3, length => 1, centre => '{0.1,0.2,0.3}') LIMIT 1;
-- max_theta: queries with larger radii
SELECT metric, asked, (lsbf_info(prototype)).max_theta >= asked AS answered, lsbf_members(lsbf_add(prototype, array_fill(1::real, ARRAY[64]))) AS members
FROM (VALUES ('l2'), ('cosine')) m (metric), (VALUES (1), (3), (16)) t (asked), LATERAL (SELECT * FROM lsbf_design(metric, 0.1, 10000, dims => 64, max_theta => asked) LIMIT 1) c;
SELECT (lsbf_info(prototype)).max_theta >= 3 AS answered FROM lsbf_design_for('items', 'v', near => 0.2, max_theta => 3) LIMIT 1;
SELECT max(fpr) <= 0.001 AS fpr, max(fnr) <= 0.001 AS fnr FROM lsbf_design('jaccard', 0.1, 1000, far => 0.7, fpr => 0.001, fnr => 0.001);
SELECT bool_and(approx_member(f, e.s)) FROM (SELECT lsbf_agg(s, (SELECT prototype FROM lsbf_design('jaccard', 0.2, 100) LIMIT 1)) AS f FROM (VALUES ('{1,2,3}'::int[]), ('{4,5}')) s (s)) f, (VALUES ('{1,2,3}'::int[]), ('{5,4}')) e (s);

-- a NOTICE reports rates that cannot be reached
SELECT fpr > 0.0001 OR fnr > 0.0001 AS worse FROM lsbf_design('cosine', 0.02, 10000, far => 0.021, fpr => 0.0001, fnr => 0.0001) LIMIT 1;
SELECT count(*) > 0 AS found FROM lsbf_design_for('items', 'v', near => 1.4);
CREATE TABLE tiny AS SELECT * FROM items WHERE id <= 5;
SELECT count(*) > 0 AS found FROM lsbf_design_for('tiny', 'v', near => 0.2);

-- bad input
CREATE TABLE empty (v real[], n integer);
CREATE TABLE mixed AS SELECT CASE id WHEN 50 THEN '{1,2}' ELSE v END AS v FROM items WHERE id < 100;
CREATE TABLE nans AS SELECT CASE id WHEN 50 THEN array_fill('NaN'::real, ARRAY[64]) ELSE v END AS v FROM items WHERE id < 100;
CREATE TABLE zeros AS SELECT array_fill(0::real, ARRAY[3]) AS v;
CREATE TABLE holes AS SELECT '{1,NULL}'::real[] AS v;
SELECT * FROM unnest(ARRAY[
  '''empty'', ''v'', 0.2', '''mixed'', ''v'', 0.2', '''nans'', ''v'', 0.2', '''holes'', ''v'', 0.2', '''zeros'', ''v'', 0.2, metric => ''cosine''',
  '''items'', ''w'', 0.2', '''missing'', ''v'', 0.2', '''others'', ''string'', 0.2', '0, ''v'', 0.2',
  '''items'', ''v'', 0', '''items'', ''v'', -1', '''items'', ''v'', ''NaN''', '''items'', ''v'', NULL', '''items'', NULL, 0.2', 'NULL, ''v'', 0.2',
  '''items'', ''v'', 0.2, far => 0.1', '''items'', ''v'', 2.5, ''cosine''', '''items'', ''v'', 0.2, ''angular''', '''items'', ''v'', 0.2, ''hamming''', '''items'', ''v'', 0.2, prefer => ''cheap''',
  '''items'', ''v'', 0.2, fpr => 0', '''items'', ''v'', 0.2, fnr => 1', '''items'', ''v'', 0.2, capacity => 0', '''items'', ''v'', 0.2, sample => 5', '''items'', ''v'', 0.2, sample => 2000000',
  '''items'', ''v'', 0.2, max_theta => 0.5', '''items'', ''v'', 0.2, max_theta => 17', '''items'', ''v'', 0.2, ''l1'', max_theta => 2', '''others'', ''bits'', 0.02, max_theta => 2'
]) a, LATERAL (SELECT expect_error(format('SELECT lsbf_design_for(%s)', a)) AS error) e;
SELECT * FROM unnest(ARRAY['NULL, 0.1, 10', '''l2'', NULL, 10', '''l2'', 0.1, NULL', '''l2'', 0.1, 0', '''jaccard'', 1, 10', '''l2'', 0.1, 10, 0', '''l2'', 0.1, 10, far => 0.05', '''l2'', 0.1, 10, fpr => 2', '''l1'', 0.1, 10, length => 1', '''l2'', 0.1, 1000000000000',
  '''l2'', 0.1, 10, alphabet => ''symbols''', '''l2'', 0.1, 10, length => -1', '''cosine'', 0.1, 10, dims => 2, centre => ''{1,2,3}''', '''cosine'', 0.1, 10, centre => ''{1,NaN}''', '''l2'', 1e-31, 10', '''l2'', 0.1, 10, max_theta => ''NaN''', '''jaccard'', 0.1, 10, max_theta => 1'
]) a, LATERAL (SELECT expect_error(format('SELECT lsbf_design(%s)', a)) AS error) e;
SELECT left(expect_error('SELECT lsbf_design_for(''items'', ''id'', 0.2)'), 41) AS error;
-- it runs with the privileges of the caller
CREATE ROLE lsbf_unprivileged;
SET ROLE lsbf_unprivileged;
SELECT left(expect_error('SELECT lsbf_design_for(''items'', ''v'', 0.2)'), 40) AS error;
RESET ROLE;
DROP ROLE lsbf_unprivileged;
