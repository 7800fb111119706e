-- lsbf_agg: every way in which PostgreSQL runs an aggregate.
CREATE TABLE v AS SELECT i, random_bits('v' || i, 256)::bit(256) AS b FROM generate_series(1, 6000) i;
CREATE FUNCTION p() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT dsbf_new(dims => 256, capacity => 100, near => 0.02, far => 0.4) $$;

-- No rows, only NULLs, NULLs among rows, one row.
SELECT lsbf_agg(b, p()) IS NULL AS no_rows FROM v WHERE i < 0;
SELECT lsbf_agg(NULL::bit, p()) IS NULL AS only_nulls FROM v;
SELECT lsbf_agg(CASE WHEN i % 2 = 0 THEN b END, p()) = lsbf_agg(b, p()) FILTER (WHERE i % 2 = 0) AS nulls_skipped FROM v WHERE i <= 100;
SELECT lsbf_agg(b, p()) = lsbf_add(p(), b) AS one_row FROM v WHERE i = 1 GROUP BY b;

-- The order and repetition of rows do not matter.
SELECT lsbf_agg(b, p() ORDER BY i) = lsbf_agg(b, p() ORDER BY i DESC) AS order_does_not_matter,
  lsbf_agg(b, p()) = lsbf_agg(b, p()) FILTER (WHERE n = 1) AS repetition_does_not_matter
  FROM v, generate_series(1, 3) n WHERE i <= 100;

-- Thousands of groups, hashed and sorted.
SET work_mem = '64kB';
SET enable_sort = off;
CREATE TABLE hashed AS SELECT i % 2000 AS g, lsbf_agg(b, p()) AS f FROM v GROUP BY 1;
RESET enable_sort;
SET enable_hashagg = off;
CREATE TABLE sorted AS SELECT i % 2000 AS g, lsbf_agg(b, p()) AS f FROM v GROUP BY 1;
RESET enable_hashagg;
RESET work_mem;
SELECT count(*), bool_and(h.f = s.f) AS same FROM hashed h JOIN sorted s USING (g);
SELECT count(*) AS members_not_found FROM v JOIN hashed ON g = i % 2000 WHERE NOT approx_member(f, b);
SELECT g, count(f) AS filters FROM (
  SELECT grouping(i % 2, i % 3) AS g, lsbf_agg(b, p()) AS f FROM v WHERE i <= 100 GROUP BY ROLLUP (i % 2, i % 3)) s GROUP BY g ORDER BY g;

-- A window: the state is still added to after its value was returned.
CREATE TABLE w AS SELECT i, b, lsbf_agg(b, p()) OVER (ORDER BY i) AS f FROM v WHERE i <= 50;
SELECT count(*) AS wrong FROM w WHERE f <> (SELECT lsbf_agg(v.b, p()) FROM v WHERE v.i <= w.i);
CREATE TABLE moving AS SELECT i, b, lsbf_agg(b, p()) OVER (ORDER BY i ROWS 2 PRECEDING) AS f FROM v WHERE i <= 50;
SELECT count(*) AS wrong FROM moving m WHERE f <> (SELECT lsbf_agg(v.b, p()) FROM v WHERE v.i BETWEEN m.i - 2 AND m.i);

-- Two aggregates with the same arguments share one state.
SELECT lsbf_agg(b, p()) = lsbf_agg(b, p()) AS shared FROM v WHERE i <= 10;

-- A prototype with members keeps them; the prototype itself is never changed.
SELECT lsbf_agg(v.b, s.f) = (s.f | lsbf_agg(v.b, p())) AS kept, s.f = lsbf_add(p(), (SELECT b FROM v WHERE i = 1)) AS unchanged
  FROM v, (SELECT lsbf_add(p(), b) AS f FROM v WHERE i = 1) s WHERE v.i BETWEEN 2 AND 50 GROUP BY s.f;
CREATE TABLE stored AS SELECT lsbf_add(p(), b) AS f FROM v WHERE i = 1;
SELECT lsbf_agg(b, f) = (SELECT lsbf_agg(b, p()) FROM v WHERE i <= 50) AS kept FROM v, stored WHERE i BETWEEN 2 AND 50;
SELECT f = lsbf_add(p(), b) AS unchanged FROM stored, v WHERE i = 1;

-- dims may be taken from the first vector.
SELECT (lsbf_info(lsbf_agg(b, dsbf_new(capacity => 100, near => 0.02, far => 0.4)))).dims FROM v WHERE i <= 10;

-- More prototypes with a centre than the session caches hash functions for, alternating row by row.
SELECT count(*) AS filters, bool_and(approx_member(f, ARRAY[1, 2]) AND approx_member(f, ARRAY[20, 21])) AS found FROM (
  SELECT lsbf_agg(ARRAY[i, i + 1], lsqf_new(metric => 'cosine', dims => 2, near => 0.01, centre => ARRAY[seed, 0.5], seed => seed)) AS f
  FROM generate_series(1, 20) i, generate_series(1, 20) seed GROUP BY seed) s;

SELECT expect_error('SELECT lsbf_agg(b, NULL) FROM v');
SELECT expect_error('SELECT lsbf_agg(B''01'', p()) FROM v');
SELECT expect_error('SELECT lsbf_agg(b, dsbf_new(dims => 256, capacity => 100, near => 0.02, far => 0.4, seed => i)) FROM v');
SELECT expect_error('SELECT lsbf_agg(random_bits(''a'', i), dsbf_new(capacity => 100, near => 0.02, far => 0.4)) FROM v WHERE i < 3');
-- Outside an aggregate the transition function is a plain function that does not modify its arguments.
SELECT lsbf_agg_step(NULL, b, p()) = lsbf_add(p(), b) AS first, lsbf_agg_step(f, b, p()) = f AS again,
  lsbf_agg_step(NULL, NULL::bit, p()) IS NULL AS nulls FROM v, stored WHERE i = 1;
-- The transition function called directly, with stored prototypes that already contain the member and do not fit into the cache
-- together: the result must not point to memory that is released.
CREATE TABLE listed AS SELECT n, lsbf_agg(ARRAY[i * n, i, n]::real[], lsbf_new(dims => 3, capacity => 1000000, near => 0.5)) AS f
  FROM generate_series(1, 2000) i, generate_series(1, 40) n GROUP BY n;
SELECT min(pg_column_size(f)) * 40 > 2 * 1048576 AS large FROM listed;
SET lsbf.cache_size = '1MB';
\set ECHO none
SELECT format('SELECT %s AS same FROM (SELECT %s OFFSET 0) s', string_agg(format('f%s = (SELECT f FROM listed WHERE n = %s)', n, n), ' AND '),
  string_agg(format('lsbf_agg_step(NULL, ARRAY[%s, 1, %s]::real[], (SELECT f FROM listed WHERE n = %s)) AS f%s', n, n, n, n), ', '))
FROM generate_series(1, 40) n \gexec
\set ECHO all
RESET lsbf.cache_size;
DROP TABLE listed;
