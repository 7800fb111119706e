-- lsbf_seen and lsbf_first: rows near an earlier row of their partition.
CREATE TABLE v (i int PRIMARY KEY, g int, b bit(256));
-- 400 unrelated rows, and 100 copies: the first 100 rows with two bits changed.
INSERT INTO v SELECT i, i % 7, random_bits('v' || i, 256)::bit(256) FROM generate_series(1, 400) i;
INSERT INTO v SELECT i, (i - 400) % 7, flip_bits(random_bits('v' || i - 400, 256), 2, 'w' || i)::bit(256) FROM generate_series(401, 500) i;
CREATE FUNCTION p(capacity bigint DEFAULT 1000) RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$
  SELECT dsbf_new(dims => 256, capacity => capacity, near => 0.02, far => 0.4) $$;

-- A row is compared with earlier ones, in the order of the window.
SELECT i > 400 AS copy, count(*), count(*) FILTER (WHERE seen) AS seen, count(*) FILTER (WHERE first) AS first
  FROM (SELECT i, lsbf_seen(b, p()) OVER w AS seen, lsbf_first(b, p()) OVER w AS first FROM v WINDOW w AS (ORDER BY i)) s GROUP BY 1 ORDER BY 1;
SELECT i > 400 AS copy, i <= 100 AS original, count(*) FILTER (WHERE seen) AS seen
  FROM (SELECT i, lsbf_seen(b, p()) OVER (ORDER BY i DESC) AS seen FROM v) s GROUP BY 1, 2 ORDER BY 1, 2;
-- Partitions are independent: a copy is not flagged if its original is in another partition.
SELECT count(*) FILTER (WHERE seen) AS seen FROM (SELECT lsbf_seen(b, p()) OVER (PARTITION BY i > 400 ORDER BY i) AS seen FROM v) s;
SELECT count(*) FILTER (WHERE seen) AS seen FROM (SELECT lsbf_seen(b, p()) OVER (PARTITION BY g ORDER BY i) AS seen FROM v) s;

-- Every answer is that of a filter built row by row from all earlier rows (lsbf_seen) or from those that were kept (lsbf_first).
-- Filters of all kinds; large ones are allocated in pages at first, and become contiguous as they fill.
CREATE TABLE prototypes (name text, p lsbf);
INSERT INTO prototypes VALUES
  ('dsbf', p()), ('lsbf', lsbf_new(metric => 'hamming', dims => 256, capacity => 1000, near => 0.02)),
  ('any', lsbf_new(metric => 'hamming', dims => 256, capacity => 1000, near => 0.02, match => 'any')),
  ('dsbf, large', p(1000000)), ('dsbf, in pages at first', p(50000)),
  ('any, in pages at first', lsbf_new(metric => 'hamming', dims => 256, capacity => 50000, near => 0.02, match => 'any')),
  ('lsbf, large', lsbf_new(metric => 'hamming', dims => 256, capacity => 1000000, near => 0.02)),
  ('any, large', lsbf_new(metric => 'hamming', dims => 256, capacity => 1000000, near => 0.02, match => 'any'));
CREATE FUNCTION screened(only_new boolean, prototype lsbf, theta float8) RETURNS TABLE (i int, seen boolean) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  f lsbf := prototype;
BEGIN
  FOR r IN SELECT * FROM v WHERE v.i > 250 OR v.i <= 50 ORDER BY v.i LOOP
    i := r.i;
    seen := approx_member(f, r.b, theta);
    IF NOT (seen AND only_new) THEN
      f := lsbf_add(f, r.b);
    END IF;
    RETURN NEXT;
  END LOOP;
END
$$;
SELECT name, theta, count(*) AS rows, count(*) FILTER (WHERE w.seen <> s.seen) AS seen_differs,
    count(*) FILTER (WHERE w.first = f.seen) AS first_differs, count(*) FILTER (WHERE w.seen) > 40 AS some_seen
  FROM prototypes, (VALUES (1), (1.7)) t (theta),
    LATERAL (SELECT i, lsbf_seen(b, p, theta) OVER o AS seen, lsbf_first(b, p, theta) OVER o AS first FROM v WHERE i > 250 OR i <= 50 WINDOW o AS (ORDER BY i)) w
    JOIN LATERAL screened(false, p, theta) s USING (i) JOIN LATERAL screened(true, p, theta) f USING (i)
  WHERE name !~ 'large' GROUP BY 1, 2 ORDER BY 1, 2;
-- Filters of any size flag the same copies.
SELECT name, count(*) FILTER (WHERE seen AND i > 400) AS copies, count(*) FILTER (WHERE seen AND i <= 400) AS false_positives
  FROM prototypes, LATERAL (SELECT i, lsbf_seen(b, p) OVER (ORDER BY i) AS seen FROM v) w GROUP BY 1 ORDER BY 1;
CREATE TABLE r AS SELECT i, ARRAY(SELECT (1000 * sin(least(i, 550 - i) * j) + i / 1000.0)::real FROM generate_series(1, 20) j) AS v FROM generate_series(1, 500) i;
SELECT count(*) FILTER (WHERE small) AS small, count(*) FILTER (WHERE large) AS large FROM (
  SELECT lsbf_seen(v, ilbf_new(capacity => 500, near => 5)) OVER o AS small, lsbf_seen(v, ilbf_new(capacity => 1000000, near => 5)) OVER o AS large
  FROM r WINDOW o AS (ORDER BY i)) s;

-- Chains: every row is near the previous one. lsbf_seen flags all but the first; lsbf_first compares with the rows that were kept.
SELECT count(*) AS rows, count(*) FILTER (WHERE seen) AS seen, array_agg(i ORDER BY i) FILTER (WHERE first) AS first FROM (
  SELECT i, lsbf_seen(b, p()) OVER w AS seen, lsbf_first(b, p()) OVER w AS first
  FROM (SELECT i, (random_bits('chain', 256) # rpad(repeat('1', 4 * i), 256, '0')::varbit) AS b FROM generate_series(0, 60) i) t WINDOW w AS (ORDER BY i)) s;

-- NULL vectors give NULL and are not added. Only NULLs; no rows.
SELECT i, lsbf_seen(b, p()) OVER w AS seen, lsbf_first(b, p()) OVER w AS first
  FROM (VALUES (1, NULL), (2, random_bits('a', 256)), (3, NULL), (4, random_bits('a', 256)), (5, NULL)) t (i, b) WINDOW w AS (ORDER BY i);
SELECT i, lsbf_seen(NULL::bit(256), p()) OVER () AS seen, lsbf_seen(b, p(), NULL) OVER (ORDER BY i) AS without_theta, lsbf_seen(NULL::bit(256), NULL) OVER () AS without_any
  FROM v WHERE i IN (1, 401);
SELECT lsbf_seen(b, p()) OVER (ORDER BY i) FROM v WHERE i < 0;

-- The frame does not matter.
SELECT count(*) FILTER (WHERE a AND b AND c AND d) AS same FROM (
  SELECT lsbf_seen(b, p()) OVER (ORDER BY i ROWS 1 PRECEDING) AS a,
    lsbf_seen(b, p()) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS b,
    lsbf_seen(b, p()) OVER (ORDER BY i RANGE BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS c,
    lsbf_seen(b, p()) OVER (ORDER BY i GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS d FROM v) s;
-- Of identical rows that are peers in the order of the window, all but one are flagged.
SELECT count(*), count(*) FILTER (WHERE seen) AS seen FROM (SELECT lsbf_seen(b, p()) OVER (ORDER BY 1) AS seen FROM v, generate_series(1, 3) WHERE i = 1) s;
-- With other window functions and windows; in a subquery that is rescanned; rewound by a cursor.
SELECT i, row_number() OVER w AS number, lsbf_seen(b, p()) OVER w AS seen, lag(i) OVER w AS before, count(*) OVER w AS counted, lsbf_first(b, p()) OVER (ORDER BY i DESC) AS last
  FROM v WHERE i IN (1, 2, 401, 402) WINDOW w AS (ORDER BY i) ORDER BY i;
SELECT n, (SELECT count(*) FROM (SELECT lsbf_seen(b, p()) OVER (ORDER BY i) AS seen FROM v WHERE i <= 400 + n) s WHERE seen) AS seen FROM generate_series(0, 30, 10) n;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i, lsbf_seen(b, p()) OVER (ORDER BY i) FROM v WHERE i IN (1, 2, 401);
FETCH ALL FROM c;
MOVE ABSOLUTE 0 FROM c;
FETCH ALL FROM c;
COMMIT;

-- A prototype with members: rows near these are flagged from the first row on. The prototype is not changed, stored or not.
CREATE TABLE known AS SELECT lsbf_agg(b, p()) AS f FROM v WHERE i BETWEEN 1 AND 10;
CREATE TABLE large_known AS SELECT lsbf_agg(b, p(100000)) AS f FROM v WHERE i BETWEEN 1 AND 10;
SELECT count(*) FILTER (WHERE small) AS small, count(*) FILTER (WHERE large) AS large FROM (
  SELECT lsbf_seen(b, known.f) OVER (PARTITION BY g ORDER BY i) AS small, lsbf_seen(b, large_known.f) OVER (PARTITION BY g ORDER BY i) AS large
  FROM v, known, large_known WHERE i > 400) s;
SELECT f = (SELECT lsbf_agg(b, p()) FROM v WHERE i BETWEEN 1 AND 10) AS unchanged FROM known;

-- Every type.
SELECT lsbf_seen(b, p()) OVER w AS "bit", lsbf_seen(b::bit varying, p()) OVER w AS "bit varying",
  lsbf_seen(substring(decode(md5(b::text) || md5('x' || b::text), 'hex') FROM 1 FOR 32), p()) OVER w AS bytea,
  lsbf_seen(ARRAY[i, 1]::real[], q) OVER w AS "real[]", lsbf_seen(ARRAY[i, 1]::float8[], q) OVER w AS "double precision[]",
  lsbf_seen(ARRAY[i, 1]::numeric[], q) OVER w AS "numeric[]", lsbf_seen(ARRAY[i, 1], q) OVER w AS "integer[]",
  lsbf_seen(ARRAY[i, 1]::bigint[], q) OVER w AS "bigint[]", lsbf_seen(ARRAY[i, 1]::text[], j) OVER w AS "text[]",
  lsbf_seen(b::text, p()) OVER w AS "text", lsbf_seen('[1,2]', q) OVER w AS literal
  FROM (SELECT i, b FROM v WHERE i <= 2 UNION ALL SELECT 1, b FROM v WHERE i = 1) t, lsbf_new(capacity => 10, near => 0.01) q, dsbf_new(metric => 'jaccard', capacity => 10, near => 0.1) j
  WINDOW w AS ();
SELECT lsbf_first(b, p()) OVER w AS "bit", lsbf_first(b::bit varying, p()) OVER w AS "bit varying",
  lsbf_first(substring(decode(md5(b::text) || md5('x' || b::text), 'hex') FROM 1 FOR 32), p()) OVER w AS bytea,
  lsbf_first(ARRAY[i, 1]::real[], q) OVER w AS "real[]", lsbf_first(ARRAY[i, 1]::float8[], q) OVER w AS "double precision[]",
  lsbf_first(ARRAY[i, 1]::numeric[], q) OVER w AS "numeric[]", lsbf_first(ARRAY[i, 1], q) OVER w AS "integer[]",
  lsbf_first(ARRAY[i, 1]::bigint[], q) OVER w AS "bigint[]", lsbf_first(ARRAY[i, 1]::text[], j) OVER w AS "text[]",
  lsbf_first(b::text, p()) OVER w AS "text", lsbf_first('[1,2]', q) OVER w AS literal
  FROM (SELECT i, b FROM v WHERE i <= 2 UNION ALL SELECT 1, b FROM v WHERE i = 1) t, lsbf_new(capacity => 10, near => 0.01) q, dsbf_new(metric => 'jaccard', capacity => 10, near => 0.1) j
  WINDOW w AS ();
-- Named arguments.
SELECT lsbf_seen(vec => b, theta => 2, prototype => p()) OVER (ORDER BY i) AS seen FROM v WHERE i IN (1, 401);

-- Errors.
SELECT expect_error('SELECT lsbf_seen(b, p()) FROM v');
SELECT expect_error('SELECT lsbf_seen(b, NULL) OVER () FROM v');
SELECT expect_error('SELECT lsbf_first(b, NULL) OVER () FROM v');
SELECT expect_error('SELECT lsbf_seen(B''01'', p()) OVER () FROM v');
SELECT expect_error('SELECT lsbf_seen(b, p(), 0) OVER () FROM v');
SELECT expect_error('SELECT lsbf_seen(b, p(i)) OVER (ORDER BY i) FROM v');
SELECT expect_error('SELECT lsbf_seen(b, dsbf_new(dims => 255 + i, capacity => 10, near => 0.02)) OVER (ORDER BY i) FROM v');
SELECT expect_error('SELECT lsbf_seen(b, lsbf_add(p(), b)) OVER (ORDER BY i) FROM v');
SELECT expect_error('SELECT lsbf_seen(b, CASE WHEN i = 1 THEN p() ELSE lsbf_add(p(), b) END) OVER (ORDER BY i) FROM v');
SELECT expect_error('SELECT lsbf_seen(random_bits(''a'', i), dsbf_new(capacity => 100, near => 0.02, far => 0.4)) OVER (ORDER BY i) FROM v WHERE i < 3');
SELECT expect_error('SELECT lsbf_seen(b, p()) FILTER (WHERE i > 1) OVER () FROM v');
SELECT expect_error('SELECT lsbf_seen(b, p(), 1.0 / (5 - i)) OVER (ORDER BY i) FROM v WHERE i <= 5');
-- The C function declared as a plain function.
SELECT expect_error(format('CREATE FUNCTION plain(bit, lsbf, float8) RETURNS boolean LANGUAGE c AS %L, ''lsbf_seen_bit''; SELECT plain(b, p(), 1) FROM v',
  probin)) FROM pg_proc WHERE proname = 'lsbf_seen' LIMIT 1;
-- Each partition may have a prototype of its own.
SELECT count(*) FILTER (WHERE seen) AS seen FROM (SELECT lsbf_seen(b, p(g + 1000)) OVER (PARTITION BY g ORDER BY i) AS seen FROM v) s;

-- dims given by the prototype or taken from the vectors: the same result
SELECT count(*) FILTER (WHERE seen) AS seen FROM (
  SELECT lsbf_seen(ARRAY[id, 1]::real[], CASE id % 2 WHEN 0 THEN lsbf_new(capacity => 100, near => 0.1) ELSE lsbf_new(dims => 2, capacity => 100, near => 0.1) END) OVER (ORDER BY id, again) AS seen
  FROM generate_series(1, 10) id, generate_series(1, 2) again) s;
