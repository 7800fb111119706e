-- transform: how vectors are projected. It has a default, is recorded in the filter, and filters that differ in it are not merged.
CREATE FUNCTION family(f lsbf) RETURNS text LANGUAGE sql AS 'SELECT family FROM lsbf_info(f)';

-- the default is a fast transform where that saves work
SELECT dims, tables * hashes AS projections,
  family(lsbf_new(dims => dims, capacity => 100, near => 1, tables => tables, hashes => hashes)) AS l2,
  family(lsbf_new(metric => 'cosine', dims => dims, capacity => 100, near => 0.1, tables => tables, hashes => hashes)) AS cosine
FROM (VALUES (16), (384), (1536), (16000), (16001)) d (dims), (VALUES (4, 4), (7, 10)) t (tables, hashes) ORDER BY 1, 2;
-- but not if dims is taken from the first vector, nor for other metrics
SELECT family(lsbf_new(capacity => 100, near => 1)), family(lsbf_new(metric => 'l1', dims => 1536, capacity => 100, near => 1));
-- given explicitly
SELECT family(dsbf_new(metric => 'l2', dims => 8, capacity => 100, near => 1, transform => 'hadamard')),
  family(ilbf_new(dims => 1536, capacity => 100, near => 1, transform => 'dense')),
  family(dsbf_new(metric => 'l2', capacity => 100, near => 1, transform => 'hadamard'));

-- members and near vectors are found, with every vector type
CREATE TABLE members AS
  SELECT id, ARRAY(SELECT (100 * sin(id * j))::real FROM generate_series(1, 200) j) AS v FROM generate_series(1, 300) id;
CREATE TABLE filters AS
  SELECT name, lsbf_agg(v, p) AS f FROM members, (VALUES
    ('dsbf', dsbf_new(metric => 'l2', dims => 200, capacity => 300, near => 1, transform => 'hadamard')),
    ('lsbf', lsbf_new(dims => 200, capacity => 300, near => 1, transform => 'hadamard')),
    ('ilbf', ilbf_new(dims => 200, capacity => 300, near => 1, transform => 'hadamard')),
    ('cosine', dsbf_new(metric => 'cosine', dims => 200, capacity => 300, near => 0.001, transform => 'hadamard'))) p (name, p)
  GROUP BY name, p;
SELECT name, count(*) FILTER (WHERE approx_member(f, v)) AS members,
  count(*) FILTER (WHERE approx_member(f, v::float8[])) AS doubles,
  count(*) FILTER (WHERE approx_member(f, (SELECT array_agg(x + 0.001) FROM unnest(v::float8[]) x))) > 290 AS near,
  count(*) FILTER (WHERE approx_member(f, (SELECT array_agg(x * cos(i * i)) FROM unnest(v) WITH ORDINALITY u (x, i)))) < 10 AS unrelated
FROM filters, members GROUP BY name ORDER BY name;

-- filters that hash differently are not merged
SELECT dsbf_new(metric => 'l2', dims => 200, capacity => 300, near => 1, transform => 'hadamard')
  | dsbf_new(metric => 'l2', dims => 200, capacity => 300, near => 1, transform => 'dense');

-- bad input
SELECT lsbf_new(dims => 8, capacity => 100, near => 1, transform => 'fft');
SELECT dsbf_new(dims => 8, capacity => 100, near => 0.1, transform => 'hadamard');
SELECT lsbf_new(metric => 'l1', dims => 8, capacity => 100, near => 1, transform => 'dense');
SELECT approx_member(f, array_fill(0::real, ARRAY[200])) FROM filters WHERE name = 'cosine';
SELECT approx_member(f, array_fill('NaN'::real, ARRAY[200])) FROM filters WHERE name = 'ilbf';
SELECT approx_member(f, array_fill('Infinity'::real, ARRAY[200])) FROM filters WHERE name = 'ilbf';
SELECT approx_member(f, array_fill(3e38::real, ARRAY[200])) FROM filters WHERE name = 'dsbf';
SELECT approx_member(f, array_fill(1::real, ARRAY[199])) FROM filters WHERE name = 'dsbf';
-- the random numbers of fast transforms are limited too, also if dims is taken from the first vector
SELECT lsbf_new(dims => 1048576, capacity => 100, near => 1, tables => 255, hashes => 64, transform => 'hadamard');
SELECT lsbf_add(lsbf_new(capacity => 100, near => 1, tables => 255, hashes => 64, transform => 'hadamard'), array_fill(1::real, ARRAY[1000000]));
