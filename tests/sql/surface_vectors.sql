-- Vectors of unusual shapes and values.
CREATE TABLE f AS SELECT * FROM (VALUES
  ('bits', lsbf_add(dsbf_new(capacity => 10, near => 0.1), B'0101')),
  ('symbols', lsbf_add(lsbf_new(metric => 'hamming', alphabet => 'symbols', capacity => 10, near => 0.1), 'żółw')),
  ('l2', lsbf_add(lsbf_new(capacity => 10, near => 0.1), ARRAY[1, 2, 3]::real[])),
  ('ilbf', lsbf_add(ilbf_new(capacity => 10, near => 0.1), ARRAY[1, 2, 3]::real[])),
  ('cosine', lsbf_add(dsbf_new(capacity => 10, near => 0.001, metric => 'cosine'), ARRAY[1, 2, 3]::real[])),
  ('jaccard', lsbf_add(dsbf_new(capacity => 10, near => 0.1, metric => 'jaccard'), ARRAY[1, 2, 3]))) t(name, f);
CREATE FUNCTION f(metric text) RETURNS lsbf STABLE LANGUAGE sql AS $$ SELECT f FROM f WHERE name = metric $$;

-- Refused by every function that takes a vector.
CREATE TABLE bad(f text, v text, nr serial);
INSERT INTO bad VALUES ('l2', '''{}''::real[]'), ('l2', '''{{1,2,3}}''::real[]'), ('l2', '''{{1},{2},{3}}''::real[]'), ('l2', '''{1,NULL,3}''::real[]'), ('l2', '''{NULL,NULL,NULL}''::real[]'), ('l2', '''{1,2}''::real[]'),
  ('l2', '''{1,2,3,4}''::real[]'), ('l2', '''{1,2,NaN}''::real[]'), ('l2', '''{1,2,Infinity}''::real[]'), ('l2', '''{1,2,-Infinity}''::double precision[]'), ('l2', '''{{{1,2},{3,4}}}''::double precision[]'),
  ('l2', '''{1,NULL,3}''::integer[]'), ('l2', '''{1,NULL,3}''::numeric[]'), ('l2', '''{}''::numeric[]'), ('l2', '''{1,2,NaN}''::numeric[]'), ('l2', '''{1,2,1e400}''::numeric[]'),
  ('cosine', '''{0,0,0}''::real[]'), ('cosine', '''{-0,0,0}''::real[]'), ('bits', 'B'''''), ('bits', '''''::bytea'), ('bits', 'B''01011'''), ('symbols', '''turtle'''), ('symbols', '''''::bytea'), ('symbols', '''{}''::int[]'),
  ('symbols', '''{{1,2,3,4}}''::int[]'), ('jaccard', '''{}''::int[]'), ('jaccard', '''{}''::text[]'), ('jaccard', '''{}'''), ('jaccard', '''{{1,2,3}}''::int[]'), ('jaccard', '''{1,NULL}''::bigint[]'), ('jaccard', '''{a,NULL}''::text[]'), ('jaccard', '''{{a},{b}}''::text[]');
SELECT v, expect_error(format('SELECT approx_member(f(%L), %s)', f, v)) FROM bad ORDER BY nr;
SELECT v FROM bad WHERE expect_error(format('SELECT approx_member(f(%L), %s)', f, v)) <> expect_error(format('SELECT approx_votes(f(%L), %s)', f, v))
  OR expect_error(format('SELECT approx_member(f(%L), %s)', f, v)) <> expect_error(format('SELECT lsbf_add(f(%L), %s)', f, v))
  OR expect_error(format('SELECT approx_member(f(%L), %s)', f, v)) <> expect_error(format('SELECT lsbf_agg(%2$s, f(%1$L))', f, v));
-- An error does not affect the next call.
SELECT approx_member(f('l2'), ARRAY[1, 2, 3]::real[]) AS l2, approx_member(f('cosine'), ARRAY[1, 2, 3]::real[]) AS cosine, approx_member(f('bits'), B'0101') AS bits, approx_member(f('jaccard'), ARRAY[1, 2, 3]) AS jaccard;

-- Unusual but valid: other lower bounds, negative zero, tiny and huge numbers, order and repetition in sets, other notations.
SELECT approx_member(f('l2'), '[5:7]={1,2,3}'::real[]) AS bounds, approx_member(f('l2'), ARRAY[1, 2, 3]::real[] || '{}'::real[]) AS concatenated, approx_member(f('l2'), (ARRAY[0, 1, 2, 3]::real[])[2:4]) AS slice;
SELECT approx_member(lsbf_add(lsbf_new(capacity => 10, near => 0.1), '{0,0}'::real[]), '{-0,0}'::real[]) AS negative_zero,
  lsbf_add(lsbf_new(capacity => 10, near => 0.1), '{0,0}'::real[]) = lsbf_add(lsbf_new(capacity => 10, near => 0.1), '{-0,0}'::real[]) AS same_member;
SELECT v, approx_member(lsbf_add(p, v), v) AS l2, approx_member(lsbf_add(q, v), v) AS ilbf, approx_member(lsbf_add(c, v), v) AS cosine
  FROM unnest(ARRAY['{1e-45,0}', '{1e-38,1e-38}', '{3.4e38,0}', '{-3.4e38,3.4e38}']) t, LATERAL (SELECT t::real[] AS v) s,
    lsbf_new(capacity => 10, near => 0.1) p, ilbf_new(capacity => 10, near => 0.1) q, lsbf_new(metric => 'cosine', capacity => 10, near => 0.1) c;
SELECT approx_member(f('l2'), '{1e300,1e300,1e300}'::double precision[]) AS huge, expect_error('SELECT approx_member(f(''l2''), ''{1.7e308,1.7e308,1.7e308}''::double precision[])') AS too_large;
SELECT approx_member(f('jaccard'), ARRAY[3, 1, 2, 1]) AS order_and_repetition, approx_member(f('jaccard'), '{1,2,3}'::bigint[]) AS bigint, approx_member(f('jaccard'), ARRAY['3', '2', '1']) AS texts,
  approx_member(f('jaccard'), ARRAY[-1, 2147483647]) AS other;
SELECT approx_member(f('symbols'), 'żółw'::text) AS letters, approx_member(f('symbols'), ARRAY[380, 243, 322, 119]) AS code_points, expect_error('SELECT approx_member(f(''symbols''), convert_to(''żółw'', ''UTF8''))') AS bytes;
-- bit(n) is padded or truncated by PostgreSQL; the filter sees the result.
SELECT approx_member(f('bits'), '0101'::bit(4)) AS bit4, expect_error('SELECT approx_member(f(''bits''), ''010''::bit(3))') AS bit3, approx_member(f('bits'), '01010'::bit(4)) AS cut;
-- Unused bits of the last byte are ignored.
SELECT lsbf_add(p, B'0101') = lsbf_add(p, substring(B'01011111' FROM 1 FOR 4)) AS trailing FROM dsbf_new(capacity => 10, near => 0.1) p;

-- One dimension, and the largest number of dimensions.
SELECT approx_member(lsbf_add(lsbf_new(capacity => 10, near => 0.1), ARRAY[1]), ARRAY[1]) AS one, approx_member(lsbf_add(dsbf_new(capacity => 10, near => 0.1), B'1'), B'1') AS one_bit;
SELECT (lsbf_info(lsbf_add(dsbf_new(capacity => 10, near => 0.1), repeat('01', 524288)::varbit))).dims AS most;
SELECT expect_error('SELECT lsbf_add(dsbf_new(capacity => 10, near => 0.1), repeat(''01'', 524289)::varbit)') AS too_many;
SELECT expect_error('SELECT lsbf_add(lsbf_new(capacity => 10, near => 0.1, tables => 200), array_fill(1::real, ARRAY[1000000]))') AS too_many_random_numbers;

-- Vectors that are TOASTed, compressed or not, and expanded arrays.
CREATE TABLE big(i int, v real[], w real[]);
ALTER TABLE big ALTER v SET STORAGE external, ALTER w SET STORAGE extended;
INSERT INTO big SELECT i, v, v FROM generate_series(1, 20) i, LATERAL (SELECT array_agg((i + j % 3)::real ORDER BY j) AS v FROM generate_series(1, 4000) j) s;
SELECT lsbf_agg(v, p) = lsbf_agg(w, p) AS same, bool_and(pg_column_size(v) > 10000 AND pg_column_size(w) < 8000) AS stored_differently FROM big, lsbf_new(capacity => 100, near => 1) p;
SELECT count(*) FROM big, (SELECT lsbf_agg(v, lsbf_new(capacity => 100, near => 1)) AS f FROM big) s WHERE approx_member(f, v) AND approx_member(f, w);
CREATE FUNCTION expanded(f lsbf) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v real[] := '{}';
BEGIN
  FOR i IN 1..3 LOOP v[i] := i; END LOOP;
  RETURN approx_member(f, v) AND approx_votes(f, v) > 0 AND lsbf_add(f, v) = f;
END $$;
SELECT expanded(f('l2'));
