-- match => 'any': each table is a Bloom filter of its own keys; a query tries several keys per table, and `votes` tables must
-- contain one of them.
CREATE FUNCTION row_of(id integer, dims integer, noise float8) RETURNS real[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg((sin(id * j * j) + noise * cos(id + 7 * j))::real ORDER BY j) FROM generate_series(1, dims) j $$;
CREATE TABLE members AS SELECT id, row_of(id, 96, 0) AS v FROM generate_series(1, 400) id;
CREATE TABLE prototypes (name text, p lsbf);
INSERT INTO prototypes VALUES
  ('gaussian', lsbf_new(match => 'any', dims => 96, capacity => 400, near => 0.5, width => 2, hashes => 8, tables => 5, probes => 60, votes => 2)),
  ('hadamard', lsbf_new(match => 'any', dims => 96, capacity => 400, near => 0.5, width => 2, hashes => 30, tables => 8, probes => 200, votes => 2)),
  ('cauchy', lsbf_new(match => 'any', metric => 'l1', capacity => 400, near => 4, width => 60, hashes => 5, tables => 6, probes => 40, votes => 2)),
  ('polytope', lsbf_new(match => 'any', dims => 96, capacity => 400, near => 0.5, length => 7, hashes => 6, polytope => 32, tables => 5, probes => 60, votes => 3)),
  ('centred', lsbf_new(match => 'any', dims => 96, capacity => 400, near => 0.5, length => 7, hashes => 6, polytope => 32, tables => 5, probes => 60, votes => 3, centre => array_fill(0.1, ARRAY[96])::real[])),
  ('cosine', lsbf_new(match => 'any', metric => 'cosine', dims => 96, capacity => 400, near => 0.005, hashes => 6, polytope => 32, tables => 5, probes => 60, votes => 3)),
  ('cosine centred', lsbf_new(match => 'any', metric => 'cosine', dims => 96, capacity => 400, near => 0.005, hashes => 6, polytope => 32, tables => 5, probes => 60, votes => 3, centre => array_fill(0.01, ARRAY[96])::real[])),
  ('hyperplane', lsbf_new(match => 'any', metric => 'cosine', dims => 96, capacity => 400, near => 0.005, hashes => 24, polytope => 0, tables => 5, probes => 60, votes => 2));
CREATE TABLE filters AS SELECT name, p, lsbf_agg(v, p) AS f FROM prototypes, members GROUP BY name, p;
SELECT name, i.kind, i.match, i.family, i.tables, i.hashes, i.probes, i.votes, i.polytope, i.length, i.centred, i.overflow, i.verify_bits, i.bloom_hashes > 0 AS bloom_hashes, i.bits % (512 * i.tables) AS spare
FROM filters, lsbf_info(f) i ORDER BY name;

-- members are always found, with every vector type; near vectors nearly always, unrelated ones rarely
SELECT name, count(*) FILTER (WHERE approx_member(f, v)) AS members,
  count(*) FILTER (WHERE approx_member(f, v::float8[])) AS doubles,
  count(*) FILTER (WHERE approx_votes(f, v) = (lsbf_info(f)).tables) AS all_votes,
  count(*) FILTER (WHERE approx_member(f, row_of(id, 96, 0.03))) > 380 AS near,
  count(*) FILTER (WHERE approx_member(f, row_of(id, 96, 5))) < 10 AS unrelated
FROM filters, members GROUP BY name ORDER BY name;
-- votes and answers agree, and never decrease as theta grows
SELECT name, bool_and(approx_member(f, q, t) = (approx_votes(f, q, t) >= (lsbf_info(f)).votes)) AS agree,
  bool_and(approx_member(f, q, 1) <= approx_member(f, q, 1.5) AND approx_member(f, q, 0.5) <= approx_member(f, q, 1)) AS grows
FROM filters, (SELECT row_of(id, 96, 0.1) AS q FROM generate_series(1, 50) id) q, (VALUES (0.5), (1), (2)) t (t) GROUP BY name ORDER BY name;
-- predicted rates are plausible
SELECT name, lsbf_fnr(f, (lsbf_info(f)).near) < 0.1 AS near, lsbf_fpr(f) < 0.5 AS far, lsbf_fnr(f, 0) = 0 AS itself,
  lsbf_fnr(f, 0.9 * (lsbf_info(f)).near) <= lsbf_fnr(f, 1.1 * (lsbf_info(f)).near) AS falls
FROM filters WHERE name NOT LIKE 'cosine%' ORDER BY name;

-- merging, storing, dumping
SELECT name, bool_and(whole = f) AS parts_make_the_whole, bool_and(f::text::lsbf = f AND f::bytea::lsbf = f) AS round_trip
FROM filters JOIN (SELECT name, lsbf_union_agg(part) AS whole FROM (SELECT name, lsbf_agg(v, p) AS part FROM prototypes, members GROUP BY name, p, id % 3) parts GROUP BY name) w USING (name) GROUP BY name ORDER BY name;
SELECT a.p | b.p FROM prototypes a, prototypes b WHERE (a.name, b.name) = ('polytope', 'centred');
SELECT lsbf_new(match => 'any', capacity => 100, near => 1, width => 3, hashes => 4, tables => 3, probes => 4, votes => 2, bits => 15360, bloom_hashes => 8) | lsbf_new(match => 'any', capacity => 100, near => 1, width => 3, hashes => 4, tables => 3, probes => 5, votes => 2, bits => 15360, bloom_hashes => 8);
SELECT lsbf_new(match => 'any', capacity => 100, near => 1) | lsbf_new(capacity => 100, near => 1);

-- bits, strings and sets
CREATE TABLE prints AS SELECT id, random_bits('any ' || id, 256) AS b FROM generate_series(1, 300) id;
SELECT count(*) FILTER (WHERE approx_member(f, b)) AS members, count(*) FILTER (WHERE approx_member(f, flip_bits(b, 3, 'q'))) > 280 AS near,
  count(*) FILTER (WHERE approx_member(f, random_bits('unrelated ' || id, 256))) < 10 AS unrelated
FROM prints, (SELECT lsbf_agg(b, lsbf_new(match => 'any', metric => 'hamming', dims => 256, capacity => 300, near => 0.012, hashes => 40, tables => 6, probes => 41, votes => 2)) AS f FROM prints) f;
SELECT count(*) FILTER (WHERE approx_member(f, b)) AS members, count(*) FILTER (WHERE approx_member(f, flip_bits(b, 3, 'q'))) > 280 AS near,
  count(*) FILTER (WHERE approx_member(f, random_bits('unrelated ' || id, 256))) < 10 AS unrelated
FROM prints, (SELECT lsbf_agg(b, lsbf_new(match => 'any', metric => 'hamming', dims => 256, capacity => 300, near => 0.012, polytope => 16, hashes => 6, tables => 6, probes => 40, votes => 3, length => 0.5, centre => array_fill(0.5, ARRAY[256])::real[])) AS f FROM prints) f;
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
  'probes => 3', 'polytope => 8', 'votes => 2', 'centre => ''{1}''', 'length => 1',
  'match => ''any'', probes => 0', 'match => ''any'', probes => 4097', 'match => ''any'', votes => 0', 'match => ''any'', tables => 3, votes => 4',
  'match => ''any'', polytope => 3', 'match => ''any'', polytope => 256', 'match => ''any'', polytope => 8, length => 0', 'match => ''any'', polytope => 8, length => ''NaN''',
  'match => ''any'', polytope => 8, centre => ''{1,2}''', 'match => ''any'', dims => 3, polytope => 8, centre => ''{1,2}''', 'match => ''any'', dims => 2, polytope => 8, centre => ''{1,NaN}''',
  'match => ''any'', dims => 2, polytope => 8, centre => ''{1,NULL}''', 'match => ''any'', dims => 2, polytope => 8, centre => ''{}''', 'match => ''any'', dims => 2, centre => ''{1,2}''',
  'match => ''any'', metric => ''jaccard'', probes => 2', 'match => ''any'', metric => ''jaccard'', dims => 2', 'match => ''any'', metric => ''l1'', polytope => 8',
  'match => ''any'', bloom_hashes => 15', 'match => ''any'', bits => 10', 'match => ''any'', far => 0.1', 'match => ''any'', width => -1', 'match => ''any'', metric => ''cosine'', width => 1'
]) a, LATERAL (SELECT expect_error(format('SELECT lsbf_new(capacity => 10, near => 0.5, %s)', a)) AS error) e;
SELECT approx_member(f, array_fill(0::real, ARRAY[96])) FROM filters WHERE name = 'cosine';
SELECT approx_member(f, array_fill(1e-42::real, ARRAY[96])) FROM filters WHERE name = 'cosine centred';
SELECT approx_member(f, array_fill(0::real, ARRAY[96])) FROM filters WHERE name = 'polytope';
SELECT approx_member(f, array_fill('NaN'::real, ARRAY[96])) FROM filters WHERE name = 'polytope';
SELECT approx_member(f, array_fill('Infinity'::real, ARRAY[96])) FROM filters WHERE name = 'centred';
SELECT approx_member(f, array_fill(3e38::real, ARRAY[96])) FROM filters WHERE name = 'polytope';
SELECT approx_member(f, array_fill(1::real, ARRAY[95])) FROM filters WHERE name = 'polytope';
SELECT approx_member(f, B'01') FROM filters WHERE name = 'polytope';
SELECT approx_distance(f, v) FROM filters, members WHERE name = 'polytope' AND id = 1;

-- more prototypes with a centre than the session caches, used in turn
SELECT count(*), min(found), max(found) FROM (
  SELECT seed, (SELECT count(*) FROM generate_series(1, 50) i WHERE approx_member(f, ARRAY[cos(i), sin(i), cos(i * i), 1])) AS found
  FROM (SELECT seed, lsbf_agg(ARRAY[cos(i), sin(i), cos(i * i), 1], prototype) AS f
        FROM generate_series(1, 50) i, (SELECT seed, lsbf_new(dims => 4, capacity => 50, near => 0.1, match => 'any', length => 1, centre => '{0, 0, 0, 1}', seed => seed) AS prototype
                                        FROM generate_series(1, 40) seed OFFSET 0) p
        GROUP BY seed) t) s;
-- transform is honoured
SELECT t, (lsbf_info(lsbf_new(match => 'any', metric => 'l2', dims => 128, near => 4, far => 10, capacity => 20000, transform => t))).family
FROM unnest(ARRAY['dense', 'hadamard']) t;
SELECT lsbf_new(match => 'any', metric => 'jaccard', near => 0.1, capacity => 20000, transform => 'dense');
SELECT lsbf_new(match => 'any', metric => 'cosine', dims => 8, near => 0.1, capacity => 20000, polytope => 8, transform => 'dense');
SELECT (lsbf_info(lsbf_new(match => 'any', metric => 'cosine', dims => 8, near => 0.02, capacity => 20000, transform => 'dense'))).family;
