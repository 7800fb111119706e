-- How vectors are projected: chosen where nothing is said, recorded in the filter, and never mixed.
CREATE FUNCTION family(f lsbf) RETURNS text LANGUAGE sql AS 'SELECT family FROM lsbf_info(f)';

-- fast transforms where they save work
SELECT dims, tables * hashes AS projections,
  family(lsbf_new(dims => dims, capacity => 100, near => 1, tables => tables, hashes => hashes)) AS l2,
  family(lsbf_new(metric => 'cosine', dims => dims, capacity => 100, near => 0.1, tables => tables, hashes => hashes)) AS cosine
FROM (VALUES (16), (384), (1536), (16000), (16001)) d (dims), (VALUES (4, 4), (7, 10)) t (tables, hashes) ORDER BY 1, 2;
-- not where dims are taken from the first vector, nor for other metrics
SELECT family(lsbf_new(capacity => 100, near => 1)), family(lsbf_new(metric => 'l1', dims => 1536, capacity => 100, near => 1));
-- as the user says
SELECT family(dsbf_new(metric => 'l2', dims => 8, capacity => 100, near => 1, transform => 'hadamard')),
  family(ilbf_new(dims => 1536, capacity => 100, near => 1, transform => 'dense')),
  family(dsbf_new(metric => 'l2', capacity => 100, near => 1, transform => 'hadamard'));

-- members are found, near ones too, whatever type carries them
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
  count(*) FILTER (WHERE approx_member(f, (SELECT array_agg(x * cos(i * i)) FROM unnest(v) WITH ORDINALITY u (x, i)))) < 10 AS strangers
FROM filters, members GROUP BY name ORDER BY name;

-- what hashes differently is not merged
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
-- what fast transforms draw is bounded too, also where dims come with the first vector
SELECT lsbf_new(dims => 1048576, capacity => 100, near => 1, tables => 255, hashes => 64, transform => 'hadamard');
SELECT lsbf_add(lsbf_new(capacity => 100, near => 1, tables => 255, hashes => 64, transform => 'hadamard'), array_fill(1::real, ARRAY[1000000]));
