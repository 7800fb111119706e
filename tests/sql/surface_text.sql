-- Literals and parameters without a type: the overload for text parses the kind of vector that the filter's metric expects.
CREATE TABLE f AS SELECT * FROM (VALUES
  ('hamming', lsbf_add(dsbf_new(capacity => 10, near => 0.1), B'0101')),
  ('symbols', lsbf_add(dsbf_new(capacity => 10, near => 0.1, alphabet => 'symbols'), 'word')),
  ('l2', lsbf_add(lsbf_new(capacity => 10, near => 0.1), ARRAY[1, 2.5, -3]::real[])),
  ('l1', lsbf_add(ilbf_new(capacity => 10, near => 0.1, metric => 'l1'), ARRAY[1, 2.5, -3]::real[])),
  ('cosine', lsbf_add(lsbf_new(capacity => 10, near => 0.001, metric => 'cosine'), ARRAY[1, 2.5, -3]::real[])),
  ('jaccard', lsbf_add(dsbf_new(capacity => 10, near => 0.1, metric => 'jaccard'), ARRAY['a', 'b c', 'd"e', '']))) t(name, f);
CREATE FUNCTION f(metric text) RETURNS lsbf STABLE LANGUAGE sql AS $$ SELECT f FROM f WHERE name = metric $$;

SELECT approx_member(f('l2'), '[1,2.5,-3]') AS brackets, approx_member(f('l2'), '{1,2.5,-3}') AS braces, approx_member(f('l2'), E' [ 1 ,\t2.50, -3e0 ]\n') AS spaces,
  approx_member(f('l2'), '[1,2.5,-3]'::varchar) AS varchar, approx_member(f('l2'), '[1,2.5,-3]'::char(20)) AS char, approx_member(f('l2'), '[100,2.5,-3]') AS far;
SELECT approx_member(f('l1'), '[1,2.5,-3]') AS l1, approx_member(f('cosine'), '[2,5,-6]') AS cosine, approx_member(f('hamming'), '0101') AS hamming,
  approx_member(f('symbols'), 'word') AS symbols, approx_member(f('symbols'), 'wxyz') AS others, approx_member(f('hamming'), '1010') AS inverse;
SELECT approx_member(f('jaccard'), '{a,"b c","d\"e",""}') AS quoted, approx_member(f('jaccard'), '[ "d\"e" , a,b c,"" ]') AS brackets,
  approx_member(f('jaccard'), ARRAY['a', 'b c', 'd"e', '']::text) AS printed, approx_member(f('jaccard'), '{x}') AS other;
SELECT approx_votes(f('l2'), '[1,2.5,-3]') = approx_votes(f('l2'), ARRAY[1, 2.5, -3]::real[]) AS votes,
  approx_distance(f('l1'), '[1,2.5,-3]') = approx_distance(f('l1'), ARRAY[1, 2.5, -3]::real[]) AS distance,
  lsbf_add(f('l2'), '[4,5,6]') = lsbf_add(f('l2'), ARRAY[4, 5, 6]::real[]) AS add;
SELECT lsbf_agg(v, lsbf_new(capacity => 10, near => 0.1)) = lsbf_agg(v::real[], lsbf_new(capacity => 10, near => 0.1)) AS agg FROM (VALUES ('{1,2}'), ('{3,4}')) t(v);
-- theta may be any numeric literal, quoted or not.
SELECT approx_member(f('l2'), '[1,2.5,-3]', 2), approx_member(f('l2'), '[1,2.5,-3]', 1.5), approx_member(f('l2'), '[1,2.5,-3]', '3'), approx_member(f('l2'), vec => '[1,2.5,-3]', theta => 1e3);

-- Parameters without a type, as drivers send them.
PREPARE one AS SELECT approx_member(f('l2'), $1);
PREPARE two AS SELECT approx_member(f('l2'), $1, $2);
PREPARE three AS SELECT approx_member($1, $2, $3), approx_votes($1, $2), approx_distance($1, $2), lsbf_fnr($1, $3), lsbf_kind($1 | $1);
PREPARE four AS SELECT lsbf_add($1, $2) = f('l2') FROM generate_series(1, 2);
PREPARE five(unknown) AS SELECT approx_member(f('l2'), $1);
PREPARE six(text) AS SELECT approx_member(f('l2'), $1);
PREPARE seven AS SELECT lsbf_kind(lsbf_agg($1, $2)) FROM generate_series(1, 2);
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY statement;
EXECUTE one('[1,2.5,-3]');
EXECUTE one('{1,2.5,-3}');
EXECUTE one(NULL);
EXECUTE one('[1,2]');
EXECUTE one('rubbish');
EXECUTE two('[1,2.5,-3]', 2);
EXECUTE two('[1,2.5,-3]', NULL);
EXECUTE four(f('l2'), '[1,2.5,-3]');
EXECUTE six('[1,2.5,-3]');
EXECUTE seven('[1,2]', ilbf_new(capacity => 10, near => 0.1));
-- A typed array is not read as text.
PREPARE typed(real[]) AS SELECT approx_member(f('l2'), $1);
EXECUTE typed('{1,2.5,-3}');
EXECUTE typed(ARRAY[1, 2.5, -3]);

-- Text that is not a valid vector.
SELECT t, expect_error(format('SELECT approx_member(f(%L), %L)', m, t)) FROM (VALUES
  ('l2', ''), ('l2', ' '), ('l2', '[]'), ('l2', '{}'), ('l2', '1,2,3'), ('l2', '[1,2'), ('l2', '1,2]'), ('l2', '[1,2,3}'), ('l2', '[1,,3]'), ('l2', '[1,2,]'),
  ('l2', '[1 2 3]'), ('l2', '[1,2,x]'), ('l2', '[1,2,NULL]'), ('l2', '[[1,2,3]]'), ('l2', '{{1,2,3}}'), ('l2', '[0:2]={1,2,3}'), ('l2', '[1,2,0x10]'), ('l2', '[1,2,1_0]'),
  ('l2', '[1,2,NaN]'), ('l2', '[1,2,Infinity]'), ('l2', '[1,2,1e400]'), ('l2', '[1,2]'), ('l2', '[1,2,3,4]'),
  ('l2', 'a rather long text that is not a vector at all'),
  ('hamming', ''), ('hamming', '2'), ('hamming', '01'), ('hamming', '0x05'), ('hamming', '[0,1,0,1]'), ('symbols', ''), ('symbols', 'words'),
  ('jaccard', ''), ('jaccard', 'a,b'), ('jaccard', '{a,b'), ('jaccard', '{a,,b}'), ('jaccard', '{a,}'), ('jaccard', '{,a}'), ('jaccard', '{NULL}'),
  ('jaccard', '{"a}'), ('jaccard', '{"a"b}'), ('jaccard', '{a\')) v(m, t);

-- Types that are not vectors: PostgreSQL's own error.
SELECT DISTINCT ON (t) t, expect_error(format('SELECT approx_member(f(''l2''), %s)', t)) FROM unnest(ARRAY['1', '1.5', 'true', 'now()', '''[1,2,3]''::jsonb', 'point(1,2)', 'f(''l2'')', 'ARRAY[true]']) AS t ORDER BY t;
