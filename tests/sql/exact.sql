-- Exact distances of bit strings, strings and sets.

-- hamming_distance counts positions
SELECT hamming_distance(B'1011', B'1101') AS bit, hamming_distance(B'1011'::varbit, B'1101') AS varbit, hamming_distance(B'', B'') AS empty,
  hamming_distance('\x00ff'::bytea, '\x01fe') AS bytea, hamming_distance('\x'::bytea, '\x') AS no_bytes, hamming_distance('karolin', 'kathrin') AS unknown;
SELECT hamming_distance('Größe', 'Grüße') AS text, hamming_distance(''::text, '') AS no_text, hamming_distance(ARRAY[1, 2, 3], ARRAY[3, 2, 1]) AS ints,
  hamming_distance('{}'::int[], '{}') AS no_ints, pg_typeof(hamming_distance('a', 'b'));
SELECT a, b, expect_error(format('SELECT hamming_distance(%s, %s)', a, b)) AS error
FROM (VALUES ('B''1''', 'B''10'''), ('''\x00''::bytea', '''\x''::bytea'), ('''abc''::text', '''äb''::text'), ('ARRAY[1]', 'ARRAY[1, 2]'), ('ARRAY[1, NULL]', 'ARRAY[1, 2]'), ('ARRAY[[1, 2]]', 'ARRAY[[1, 2]]')) t (a, b);

-- the same as PostgreSQL's own operators
WITH bits AS (SELECT id, (SELECT string_agg(((id * j * 7919) % 64 < 20)::int::text, '') FROM generate_series(1, 100 + id % 40) j)::varbit AS b FROM generate_series(1, 80) id)
SELECT count(*), bool_and(hamming_distance(a.b, c.b) = bit_count(a.b # c.b)) AS hamming,
  bool_and(jaccard_distance(a.b, c.b) = CASE WHEN bit_count(a.b & c.b) > 0 THEN (bit_count(a.b | c.b) - bit_count(a.b & c.b))::float8 / bit_count(a.b | c.b) ELSE 1 END) AS jaccard
FROM bits a JOIN bits c ON length(a.b) = length(c.b);

-- jaccard_distance compares sets
SELECT jaccard_distance(ARRAY[1, 2, 3], ARRAY[2, 3, 4]) AS int, jaccard_distance(ARRAY[1, 2, 2]::bigint[], ARRAY[2, 1]) AS bigint, jaccard_distance(ARRAY['a', 'b', 'ä'], ARRAY['ä', 'b', 'b', 'c']) AS text,
  jaccard_distance(ARRAY['1'], ARRAY['01']) AS not_numbers, jaccard_distance(B'1100', B'0110') AS bit, jaccard_distance(B'1100', B'110000000') AS lengths, jaccard_distance('\xf0'::bytea, '\xff00') AS bytea,
  jaccard_distance('{}'::int[], '{}') AS empty, jaccard_distance(B'000', B'000') AS no_ones, jaccard_distance('{a}'::text[], '{}') AS one_empty;
WITH sets AS (SELECT id, ARRAY(SELECT (id * j * 7919) % (5 + id % 300) FROM generate_series(1, id % 260) j) AS s FROM generate_series(1, 300, 3) id), pairs AS (
  SELECT a.s AS a, b.s AS b, (SELECT count(*) FROM (SELECT unnest(a.s) INTERSECT SELECT unnest(b.s)) i) AS common, (SELECT count(*) FROM (SELECT unnest(a.s) UNION SELECT unnest(b.s)) i) AS joint
  FROM sets a, sets b WHERE a.id % 7 = 1 AND b.id % 5 = 1)
SELECT count(*), bool_and(jaccard_distance(a, b) = CASE WHEN common > 0 THEN (joint - common)::float8 / joint ELSE 1 END) AS ints,
  bool_and(jaccard_distance(a::bigint[], b::bigint[]) = jaccard_distance(a, b)) AS bigints, bool_and(jaccard_distance(a::text[], b::text[]) = jaccard_distance(a, b)) AS texts,
  bool_and(jaccard_distance(b, a) = jaccard_distance(a, b)) AS symmetric
FROM pairs;
SELECT expect_error('SELECT jaccard_distance(ARRAY[1, NULL], ARRAY[1])') AS nulls, expect_error('SELECT jaccard_distance(ARRAY[[''a'']], ARRAY[''a''])') AS dimensions;
SELECT jaccard_distance(ARRAY(SELECT generate_series(1, 200000)), ARRAY(SELECT generate_series(100001, 300000))) AS many;

-- NULL, stored values, plans
SELECT jaccard_distance(NULL::int[], '{1}') IS NULL AND hamming_distance(NULL::text, 'a') IS NULL AS strict;
CREATE TABLE stored AS SELECT id, ARRAY(SELECT md5(id || '-' || j) FROM generate_series(1, 300) j) AS s FROM generate_series(1, 5) id;
SELECT a.id, round(jaccard_distance(a.s, b.s[1:150] || a.s[1:50])::numeric, 4) AS distance FROM stored a JOIN stored b ON b.id = a.id % 5 + 1 ORDER BY 1;
SELECT proname, provolatile, proparallel, proisstrict, count(*) FROM pg_proc WHERE proname IN ('hamming_distance', 'jaccard_distance') AND probin LIKE '%pg_lsbf%' GROUP BY 1, 2, 3, 4 ORDER BY 1;

-- the distance of a filter
SELECT approx_member(f, '{2,3,4}'::int[]), jaccard_distance('{1,2,3}'::int[], '{2,3,4}'::int[]) <= 0.6 FROM (SELECT lsbf_add(dsbf_new(metric => 'jaccard', capacity => 10, near => 0.6), '{1,2,3}'::int[]) AS f) t;
