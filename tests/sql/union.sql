-- Merging filters.
CREATE TABLE v AS SELECT i, random_bits('v' || i, 256)::bit(256) AS b FROM generate_series(1, 300) i;
CREATE FUNCTION p() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT dsbf_new(dims => 256, capacity => 300, near => 0.02, far => 0.4) $$;
CREATE TABLE f AS SELECT i % 3 AS g, lsbf_agg(b, p()) AS f FROM v GROUP BY 1;

SELECT a.f | b.f = b.f | a.f AS commutative, (a.f | b.f) | c.f = a.f | (b.f | c.f) AS associative,
  a.f | a.f = a.f AS idempotent, a.f | p() = a.f AND p() | a.f = a.f AS empty_is_neutral, p() | p() = p() AS empty
  FROM f a, f b, f c WHERE a.g = 0 AND b.g = 1 AND c.g = 2;
SELECT lsbf_union(a.f, b.f) = a.f | b.f AS operator FROM f a, f b WHERE a.g = 0 AND b.g = 1;
-- The union is the filter of all rows, to the byte.
SELECT lsbf_union_agg(f)::bytea = (SELECT lsbf_agg(b, p())::bytea FROM v) AS same FROM f;
SELECT lsbf_union_agg(f) IS NULL AS no_rows FROM f WHERE g > 5;
SELECT lsbf_union_agg(CASE WHEN g = 1 THEN f END) = (SELECT f FROM f WHERE g = 1) AS nulls_skipped FROM f;
SELECT lsbf_union(NULL, p()) IS NULL AND lsbf_union(p(), NULL) IS NULL AS null;
-- Merging does not modify its arguments.
CREATE TABLE before AS SELECT g, f::bytea AS b FROM f;
SELECT count(*) FROM (SELECT lsbf_union_agg(f) OVER (ORDER BY g) FROM f) s;
SELECT bool_and(f::bytea = b) AS unchanged FROM f JOIN before USING (g);

-- Filters that hash differently are refused, and the error names what differs.
CREATE TABLE d AS SELECT k, v, format('dims => %s, capacity => %s, near => %s, far => %s, tables => %s, hashes => %s, bits => %s, votes => %s, seed => %s',
    CASE k WHEN 'dims' THEN v ELSE '256' END, CASE k WHEN 'capacity' THEN v ELSE '300' END, CASE k WHEN 'near' THEN v ELSE '0.02' END,
    CASE k WHEN 'far' THEN v ELSE '0.4' END, CASE k WHEN 'tables' THEN v ELSE '8' END, CASE k WHEN 'hashes' THEN v ELSE '15' END,
    CASE k WHEN 'bits' THEN v ELSE '32768' END, CASE k WHEN 'votes' THEN v ELSE '4' END, CASE k WHEN 'seed' THEN v ELSE '0' END) AS arguments
  FROM (VALUES ('', ''), ('dims', '257'), ('dims', 'NULL'), ('capacity', '301'), ('near', '0.021'), ('far', '0.41'), ('tables', '16'),
    ('hashes', '14'), ('bits', '65536'), ('votes', '3'), ('seed', '1')) t(k, v);
SELECT b.k, b.v, expect_error(format('SELECT dsbf_new(%s) | dsbf_new(%s)', a.arguments, b.arguments)) FROM d a, d b WHERE a.k = '';
SELECT expect_error('SELECT lsbf_union_agg(x) FROM (VALUES (p()), (dsbf_new(dims => 256, capacity => 300, near => 0.02, far => 0.4, seed => 1))) t(x)');
SELECT expect_error('SELECT p() | lsbf_new(metric => ''hamming'', dims => 256, capacity => 300, near => 0.02, far => 0.4)');

-- Equality.
SELECT p() = p() AS eq, p() <> p() AS ne, p() = lsbf_add(p(), b) AS eq_other, p() <> lsbf_add(p(), b) AS ne_other,
  p() = NULL AS with_null FROM v WHERE i = 1;
SELECT count(DISTINCT md5(x::bytea)) AS by_bytes, count(*) AS by_value FROM (SELECT f AS x FROM f UNION SELECT f FROM f) s;
