-- match => 'any': each table is a Bloom filter of its own keys; a query tries several keys per table, and `votes` tables must
-- contain one of them.
CREATE FUNCTION row_of(id integer, dims integer, noise float8) RETURNS real[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg((sin(id * j * j) + noise * cos(id + 7 * j))::real ORDER BY j) FROM generate_series(1, dims) j $$;
CREATE TABLE members AS SELECT id, row_of(id, 96, 0) AS v, random_bits('any ' || id, 256) AS b FROM generate_series(1, 400) id;
CREATE TABLE prototypes (name text, p lsbf);
INSERT INTO prototypes VALUES
  ('cauchy', lsbf_new(match => 'any', metric => 'l1', capacity => 400, near => 4, width => 60, hashes => 5, tables => 6, probes => 40, votes => 2)),
  ('cauchy with dims', lsbf_new(match => 'any', metric => 'l1', dims => 96, capacity => 400, near => 4, width => 60, hashes => 8, tables => 8, probes => 200, votes => 2)),
  ('bits', lsbf_new(match => 'any', metric => 'hamming', dims => 256, capacity => 400, near => 0.012, hashes => 40, tables => 6, probes => 41, votes => 2)),
  ('blocks', lsbf_new(match => 'any', metric => 'hamming', dims => 256, capacity => 400, near => 0.012, blocks => 5, hashes => 1, tables => 15, votes => 5)),
  ('pairs', lsbf_new(match => 'any', metric => 'hamming', dims => 256, capacity => 400, near => 0.012, blocks => 6, hashes => 2, tables => 15, votes => 3));
CREATE TABLE filters AS SELECT name, p, name NOT LIKE 'cauchy%' AS of_bits, coalesce(lsbf_agg(v, p) FILTER (WHERE name LIKE 'cauchy%'), lsbf_agg(b, p) FILTER (WHERE name NOT LIKE 'cauchy%')) AS f FROM prototypes, members GROUP BY name, p;
SELECT name, i.kind, i.match, i.family, i.tables, i.hashes, i.probes, i.votes, i.blocks, round(i.max_theta::numeric, 3) AS max_theta, i.overflow, i.verify_bits, i.bloom_hashes > 0 AS bloom_hashes, i.bits % (512 * i.tables) AS spare
FROM filters, lsbf_info(f) i ORDER BY name;

-- members are always found, with every vector type; near vectors nearly always, unrelated ones rarely
SELECT name, count(*) FILTER (WHERE approx_member(f, v)) AS members,
  count(*) FILTER (WHERE approx_member(f, v::float8[])) AS doubles,
  count(*) FILTER (WHERE approx_votes(f, v) = (lsbf_info(f)).tables) AS all_votes,
  count(*) FILTER (WHERE approx_member(f, row_of(id, 96, 0.03))) > 380 AS near,
  count(*) FILTER (WHERE approx_member(f, row_of(id, 96, 5))) < 10 AS unrelated
FROM filters, members WHERE NOT of_bits GROUP BY name ORDER BY name;
SELECT name, count(*) FILTER (WHERE approx_member(f, b)) AS members,
  count(*) FILTER (WHERE approx_member(f, b::text)) AS texts,
  count(*) FILTER (WHERE approx_votes(f, b) = (lsbf_info(f)).tables) AS all_votes,
  count(*) FILTER (WHERE approx_member(f, flip_bits(b, 3, 'q'))) > 380 AS near,
  count(*) FILTER (WHERE approx_member(f, random_bits('unrelated ' || id, 256))) < 10 AS unrelated
FROM filters, members WHERE of_bits GROUP BY name ORDER BY name;
-- votes and answers agree, and never decrease as theta grows
SELECT name, bool_and(approx_member(f, q, t) = (approx_votes(f, q, t) >= (lsbf_info(f)).votes)) AS agree,
  bool_and(approx_member(f, q, 1) <= approx_member(f, q, 1.5) AND approx_member(f, q, 0.5) <= approx_member(f, q, 1)) AS grows
FROM filters, (SELECT row_of(id, 96, 0.1) AS q FROM generate_series(1, 50) id) q, (VALUES (0.5), (1), (2)) t (t) WHERE NOT of_bits GROUP BY name ORDER BY name;
SELECT name, bool_and(t <> 1 OR approx_member(f, q, t) = (approx_votes(f, q, t) >= (lsbf_info(f)).votes)) AS agree,
  bool_and(approx_member(f, q, 1) <= approx_member(f, q, 1.3) AND approx_member(f, q, 0.5) <= approx_member(f, q, 1)) AS grows
FROM filters, (SELECT flip_bits(random_bits('any ' || id, 256), 10, 'q') AS q FROM generate_series(1, 50) id) q, (VALUES (0.5), (1), (1.3)) t (t) WHERE of_bits GROUP BY name ORDER BY name;
-- predicted rates are plausible
SELECT name, lsbf_fnr(f, (lsbf_info(f)).near) < 0.1 AS near, lsbf_fpr(f) < 0.5 AS far, lsbf_fnr(f, 0) = 0 AS itself,
  lsbf_fnr(f, 0.9 * (lsbf_info(f)).near) <= lsbf_fnr(f, 1.1 * (lsbf_info(f)).near) AS falls
FROM filters ORDER BY name;

-- merging, storing, dumping
SELECT name, bool_and(whole = f) AS parts_make_the_whole, bool_and(f::text::lsbf = f AND f::bytea::lsbf = f) AS round_trip
FROM filters JOIN (SELECT name, lsbf_union_agg(part) AS whole FROM (SELECT name, coalesce(lsbf_agg(v, p) FILTER (WHERE name LIKE 'cauchy%'), lsbf_agg(b, p) FILTER (WHERE name NOT LIKE 'cauchy%')) AS part FROM prototypes, members GROUP BY name, p, id % 3) parts GROUP BY name) w USING (name) GROUP BY name ORDER BY name;
SELECT a.p | b.p FROM prototypes a, prototypes b WHERE (a.name, b.name) = ('blocks', 'pairs');
SELECT lsbf_new(match => 'any', metric => 'l1', capacity => 100, near => 1, width => 3, hashes => 4, tables => 3, probes => 4, votes => 2, bits => 15360, bloom_hashes => 8) | lsbf_new(match => 'any', metric => 'l1', capacity => 100, near => 1, width => 3, hashes => 4, tables => 3, probes => 5, votes => 2, bits => 15360, bloom_hashes => 8);
SELECT lsbf_new(match => 'any', metric => 'l1', capacity => 100, near => 1) | lsbf_new(metric => 'l1', capacity => 100, near => 1);

-- strings and sets
SELECT count(*) FILTER (WHERE approx_member(f, t)) AS members, count(*) FILTER (WHERE approx_member(f, overlay(t PLACING '*' FROM id % 32 + 1))) > 280 AS near,
  count(*) FILTER (WHERE approx_member(f, md5('unrelated ' || id))) < 10 AS unrelated
FROM (SELECT id, md5(id::text) AS t FROM generate_series(1, 300) id) t, (SELECT lsbf_agg(md5(id::text), lsbf_new(match => 'any', metric => 'hamming', alphabet => 'symbols', dims => 32, capacity => 300, near => 0.05)) AS f FROM generate_series(1, 300) id) f;
CREATE TABLE sets AS SELECT id, ARRAY(SELECT id * 1000 + j FROM generate_series(1, 60) j) AS s FROM generate_series(1, 300) id;
SELECT count(*) FILTER (WHERE approx_member(f, s)) AS members, count(*) FILTER (WHERE approx_member(f, s[4:])) > 280 AS near,
  count(*) FILTER (WHERE approx_member(f, s[1:20])) < 30 AS far
FROM sets, (SELECT lsbf_agg(s, lsbf_new(match => 'any', metric => 'jaccard', capacity => 300, near => 0.1, far => 0.6)) AS f FROM sets) f;
-- a bit string under jaccard is the set of its ones
SELECT approx_member(f, B'0110'), approx_member(f, ARRAY[1, 2]), approx_member(f, ARRAY[0, 3])
FROM (SELECT lsbf_add(lsbf_new(match => 'any', metric => 'jaccard', capacity => 10, near => 0.1), B'0110') AS f) f;
SELECT lsbf_add(lsbf_new(match => 'any', metric => 'jaccard', capacity => 10, near => 0.1), B'0000');

-- bad input
SELECT * FROM unnest(ARRAY[
  'match => ''some''', 'match => ''any'', overflow => 1', 'match => ''any'', verify_bits => 0', 'match => ''any'', robust => true',
  'probes => 3', 'blocks => 8', 'votes => 2',
  'match => ''any'', probes => 0', 'match => ''any'', probes => 4097', 'match => ''any'', votes => 0', 'match => ''any'', tables => 3, votes => 4',
  'match => ''any'', blocks => 3', 'match => ''any'', blocks => -1', 'match => ''any'', blocks => 256', 'match => ''any'', dims => 2, blocks => 3', 'match => ''any'', dims => 9, blocks => 3, probes => 2',
  'match => ''any'', dims => 9, blocks => 3, hashes => 4', 'match => ''any'', dims => 9, blocks => 3, tables => 4', 'match => ''any'', dims => 300, blocks => 30, hashes => 5', 'match => ''any'', dims => 9, blocks => 3, votes => 300', 'match => ''any'', dims => 9, blocks => 3, width => 1',
  'match => ''any'', bloom_hashes => 15', 'match => ''any'', bits => 10', 'match => ''any'', far => 0.1', 'match => ''any'', width => 1', 'match => ''any'', transform => ''hadamard'''
]) a, LATERAL (SELECT expect_error(format('SELECT lsbf_new(capacity => 10, near => 0.3, metric => ''hamming'', %s)', a)) AS error) e;
SELECT * FROM unnest(ARRAY['metric => ''jaccard'', probes => 2', 'metric => ''jaccard'', dims => 2', 'metric => ''jaccard'', transform => ''dense''', 'metric => ''l1'', blocks => 8', 'metric => ''l1'', width => -1']) a,
  LATERAL (SELECT expect_error(format('SELECT lsbf_new(capacity => 10, near => 0.5, match => ''any'', %s)', a)) AS error) e;
-- for l2 and cosine, quotient filters are better
SELECT metric, expect_error(format('SELECT lsbf_new(match => ''any'', metric => %L, capacity => 10, near => 0.5)', metric)) AS error FROM unnest(ARRAY['l2', 'cosine']) metric;
SELECT approx_member(f, array_fill('NaN'::real, ARRAY[96])) FROM filters WHERE name = 'cauchy';
SELECT approx_member(f, array_fill(1::real, ARRAY[95])) FROM filters WHERE name = 'cauchy';
SELECT approx_member(f, repeat('0', 256)::varbit) AS zeros, approx_member(f, repeat('1', 256)::varbit) AS ones FROM filters WHERE name IN ('blocks', 'pairs');
SELECT approx_member(f, B'01') FROM filters WHERE name = 'blocks';
SELECT approx_member(f, array_fill(1::real, ARRAY[256])) FROM filters WHERE name = 'blocks';
SELECT approx_distance(f, b) FROM filters, members WHERE name = 'blocks' AND id = 1;
