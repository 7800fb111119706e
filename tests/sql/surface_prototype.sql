-- The second argument of lsbf_agg: the parameters of the filter, and its initial members.
CREATE TABLE v AS SELECT i, ARRAY[i * 37 % 1001, i * i % 997, i]::real[] AS v FROM generate_series(1, 300) i;
CREATE FUNCTION p() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT lsbf_new(capacity => 300, near => 0.1) $$;
CREATE FUNCTION p3() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT lsbf_new(capacity => 300, near => 0.1, dims => 3) $$;

-- If dims is omitted it is taken from the first vector, and is fixed from then on.
SELECT (lsbf_info(p())).dims AS before, (lsbf_info(lsbf_add(p(), v))).dims AS after_add, (lsbf_info((SELECT lsbf_agg(v, p()) FROM v))).dims AS after_agg FROM v WHERE i = 1;
SELECT lsbf_agg(v, p()) = lsbf_agg(v, p3()) AS same FROM v;
SELECT lsbf_add(p(), v) = lsbf_add(p3(), v) AS same FROM v WHERE i = 1;
SELECT expect_error('SELECT lsbf_agg(x, p()) FROM (VALUES (ARRAY[1, 2, 3]), (ARRAY[1, 2])) t(x)');
SELECT expect_error('SELECT lsbf_agg(x, p3()) FROM (VALUES (ARRAY[1, 2])) t(x)');
SELECT expect_error('SELECT lsbf_add(lsbf_add(p(), ''[1,2,3]''), ''[1,2]'')');
SELECT expect_error('SELECT lsbf_add(p(), ''[1,2,3]'') | lsbf_add(p(), ''[1,2]'')');
SELECT lsbf_add(p(), '[1,2,3]') | p() = lsbf_add(p(), '[1,2,3]') AS left, p() | lsbf_add(p(), '[1,2,3]') = lsbf_add(p(), '[1,2,3]') AS right, p() | p3() = p3() AND p3() | p() = p3() AS dims_win;
-- An empty filter without dims can be queried with a vector of any length, and contains none.
SELECT approx_member(p(), '[1]'), approx_member(p(), '[1,2,3,4]'), approx_votes(p(), '[1,2]');

-- Groups may have different prototypes; the rows of one group may not.
SELECT g, (lsbf_info(f)).seed, lsbf_members(f) > 0 AS members FROM (SELECT i % 3 AS g, lsbf_agg(v, lsbf_new(capacity => 100, near => 0.1, seed => i % 3)) AS f FROM v GROUP BY 1) s ORDER BY g;
SELECT what, expect_error(format('SELECT lsbf_agg(v, %s ORDER BY i) FROM v', p)) FROM (VALUES
  ('seed', 'lsbf_new(capacity => 300, near => 0.1, seed => i)'), ('capacity', 'lsbf_new(capacity => i, near => 0.1)'), ('near', 'lsbf_new(capacity => 300, near => i)'),
  ('dims', 'CASE WHEN i = 1 THEN p() ELSE lsbf_new(capacity => 300, near => 0.1, dims => 4) END'), ('kind', 'CASE WHEN i = 1 THEN p() ELSE ilbf_new(capacity => 300, near => 0.1) END'),
  ('dims given later', 'CASE WHEN i = 1 THEN p() ELSE p3() END'), ('dims given first', 'CASE WHEN i = 1 THEN p3() ELSE p() END'),
  ('members', 'CASE WHEN i < 200 THEN p() ELSE lsbf_add(p(), ''[-1,-1,-1]'') END'), ('null', 'CASE WHEN i < 200 THEN p() END')) t(what, p);
SELECT expect_error('SELECT lsbf_agg(v, lsbf_new(capacity => 300, near => 0.1, seed => i)) OVER (ORDER BY i) FROM v');

-- A prototype with members: the rows are added to these. The prototype itself is never changed.
CREATE TABLE stored AS SELECT lsbf_agg(v, p()) AS f FROM v WHERE i <= 100;
CREATE TABLE whole AS SELECT lsbf_agg(v, p()) AS f FROM v;
SELECT lsbf_agg(v, stored.f) = whole.f AS from_table FROM v, stored, whole WHERE i > 100 GROUP BY whole.f;
SELECT lsbf_agg(v, (SELECT f FROM stored)) = (SELECT f FROM whole) AS from_subquery FROM v WHERE i > 100;
SELECT lsbf_agg(v, lsbf_add(stored.f, '[1,2,3]')) = lsbf_add(whole.f, '[1,2,3]') AS made_for_each_row FROM v, stored, whole WHERE i > 100 GROUP BY whole.f;
SELECT lsbf_agg(v, stored.f) FILTER (WHERE i < 0) IS NULL AS no_rows_is_null FROM v, stored;
SELECT bool_and(lsbf_agg = stored.f | own) AS each_group FROM stored, (SELECT i % 7 AS g, lsbf_agg(v, stored.f), lsbf_agg(v, p()) AS own FROM v, stored GROUP BY 1) s;
SELECT stored.f = s.f AS unchanged FROM stored, (SELECT lsbf_agg(v, p()) AS f FROM v WHERE i <= 100) s;
-- The usual way to update a filter in bulk.
UPDATE stored SET f = coalesce((SELECT lsbf_agg(v, stored.f) FROM v WHERE i > 100), f);
SELECT stored.f = whole.f AS updated FROM stored, whole;
UPDATE stored SET f = coalesce((SELECT lsbf_agg(v, stored.f) FROM v WHERE i > 1000), f);
SELECT stored.f = whole.f AS nothing_new FROM stored, whole;
-- A later prototype may not have members that the state lacks, whether the filters are stored as lists (few members) or as words.
CREATE TABLE forms AS SELECT n, lsbf_agg(ARRAY[i, n * i, i - n, 1]::real[], lsbf_new(dims => 4, capacity => 100, near => 0.1)) AS f
  FROM (VALUES (1, 2), (2, 2), (3, 90)) t (n, members), generate_series(1, members) i GROUP BY n;
SELECT n, pg_column_size(f) < 600 AS is_list FROM forms ORDER BY n;
SELECT a.n AS first, b.n AS second, expect_error(format('SELECT lsbf_agg(ARRAY[i, 2, 3, 4]::real[], CASE i WHEN 1 THEN %L::lsbf ELSE %L::lsbf END) FROM generate_series(1, 2) i', a.f, b.f)) AS error
  FROM forms a, forms b ORDER BY 1, 2;
-- A later prototype may have members that the first prototype had.
SELECT a.n AS part, expect_error(format('SELECT lsbf_agg(ARRAY[i, 2, 3, 4]::real[], CASE i WHEN 1 THEN %L::lsbf ELSE %L::lsbf END) FROM generate_series(1, 2) i', a.f | b.f, a.f)) AS error
  FROM forms a, forms b WHERE b.n = 3 ORDER BY 1;

-- An aggregate of a user can start from an empty filter, which does not contain the members of a prototype.
SELECT lsbf_new(dims => 3, near => 1, capacity => 100000) AS empty \gset
CREATE AGGREGATE from_empty (real[], lsbf) (SFUNC = lsbf_agg_step, STYPE = lsbf, INITCOND = :'empty');
SELECT expect_error($$SELECT from_empty('{1,2,3}'::real[], lsbf_add(lsbf_new(dims => 3, near => 1, capacity => 100000), '{5,6,7}'::real[]))$$);
SELECT from_empty(v, :'empty'::lsbf) = lsbf_agg(v, :'empty'::lsbf) AS same FROM (VALUES ('{1,2,3}'::real[]), ('{4,5,6}')) t (v);
