-- lsqf: quotient filters. Their members are a multiset that can be added to and removed from.
CREATE TABLE v AS SELECT id, id % 7 AS g, random_reals('v' || id, 24) AS r FROM generate_series(1, 300) id;
CREATE FUNCTION p() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT lsqf_new(dims => 24, near => 0.5) $$;
CREATE TABLE f AS SELECT lsbf_agg(r, p()) AS f FROM v;

-- the constructor: defaults, and every argument
SELECT i.* FROM lsbf_info(lsqf_new(near => 0.5)) i \gx
SELECT i.metric, i.dims, i.near, i.far, i.bits, i.seed, i.length, i.centred, i.coordinates, i.cells, i.max_theta, i.bytes FROM lsbf_info(lsqf_new(dims => 3, near => 0.01, far => 0.2, bits => 100, seed => -7, metric => 'Cosine', fnr => 0.05, max_theta => 4, cells => 14, length => 2, centre => '{1,2,3}')) i;
SELECT lsqf_new(3, 0.01, 0.2) = lsqf_new(dims => 3, near => 0.01, far => 0.2, bits => 64, seed => 0, metric => 'l2', fnr => 0.01, max_theta => 1.25, cells => 18) AS same, (lsbf_info(lsqf_new(near => 1, centre => '{1,2,3,4}'))).dims AS dims_of_the_centre;
SELECT a, expect_error(format('SELECT lsqf_new(%s)', a)) AS error FROM unnest(ARRAY[
  '', 'near => NULL', 'near => 0', 'near => -1', 'near => ''NaN''', 'near => ''Infinity''', 'near => 1e-31', 'near => 1e31', 'near => 2, metric => ''cosine''',
  'near => 1, far => 1', 'near => 1, far => ''NaN''', 'near => 1, far => ''Infinity''', 'near => 1, far => 2.1, metric => ''cosine''',
  'near => 1, dims => 0', 'near => 1, dims => 1048577', 'near => 1, bits => 7', 'near => 1, bits => 257', 'near => 1, bits => -1',
  'near => 1, metric => ''l1''', 'near => 0.1, metric => ''hamming''', 'near => 0.1, metric => ''jaccard''', 'near => 1, metric => ''euclid''', 'near => 1, metric => NULL',
  'near => 1, fnr => 0.0009', 'near => 1, fnr => 0.11', 'near => 1, fnr => ''NaN''', 'near => 1, max_theta => 0.9', 'near => 1, max_theta => 16.1', 'near => 1, max_theta => ''NaN''',
  'near => 1, cells => 0', 'near => 1, cells => 16', 'near => 1, cells => 23', 'near => 1, length => -1', 'near => 1, length => ''NaN''', 'near => 1, length => ''Infinity''',
  'near => 1, dims => 2, centre => ''{1,2,3}''', 'near => 1, centre => ''{}''', 'near => 1, centre => ''{1,NULL}''', 'near => 1, centre => ''{1,NaN}''', 'near => 1, centre => array_fill(1, ARRAY[1048577])::real[]'
]) a;

-- the aggregate: every type that has numbers gives the same filter
CREATE TABLE n AS SELECT id, ARRAY[id, id * id % 101, -id, id % 13] AS i FROM generate_series(1, 200) id;
SELECT lsbf_members(f) AS members, f = (SELECT lsbf_agg(i::real[], lsqf_new(near => 0.5)) FROM n) AS reals, f = (SELECT lsbf_agg(i::float8[], lsqf_new(near => 0.5)) FROM n) AS doubles,
  f = (SELECT lsbf_agg(i::numeric[], lsqf_new(near => 0.5)) FROM n) AS numerics, f = (SELECT lsbf_agg(i::bigint[], lsqf_new(near => 0.5)) FROM n) AS bigints, f = (SELECT lsbf_agg(to_json(i)::text, lsqf_new(near => 0.5)) FROM n) AS texts
FROM (SELECT lsbf_agg(i, lsqf_new(near => 0.5)) AS f FROM n) t;
SELECT t, expect_error(format('SELECT lsbf_add(lsqf_new(near => 1), %s)', t)) AS error FROM unnest(ARRAY['B''01''', '''\x00''::bytea', 'ARRAY[''a'']', '''{1,2}''::text', '''abc''::text', '''{}''::real[]', '''{1,NULL}''::real[]', '''{1,NaN}''::real[]', '''{1,Infinity}''::float8[]', '''{1e300}''::float8[]', '''{{1,2}}''::real[]']) t;
SELECT expect_error('SELECT lsbf_agg(r, lsqf_new(dims => 23, near => 1)) FROM v') AS dims, expect_error('SELECT lsbf_agg(CASE WHEN id < 200 THEN r ELSE ''{1,2}'' END, lsqf_new(near => 1)) FROM v') AS mixed;
-- no rows, only NULLs, NULLs among rows
SELECT lsbf_agg(r, p()) IS NULL AS no_rows, lsbf_agg(r, NULL) IS NULL AS no_prototype FROM v WHERE id < 0;
SELECT lsbf_agg(NULL::real[], p()) IS NULL AS only_nulls FROM v;
SELECT lsbf_agg(CASE WHEN id % 2 = 0 THEN r END, p()) = lsbf_agg(r, p()) FILTER (WHERE id % 2 = 0) AS nulls_skipped FROM v;
SELECT expect_error('SELECT lsbf_agg(r, NULL) FROM v') AS no_prototype;
-- any number of members gives what adding them one by one gives
CREATE FUNCTION added(first int, last int, f lsbf) RETURNS lsbf LANGUAGE plpgsql AS $$
DECLARE
  vec real[];
BEGIN
  FOR vec IN SELECT r FROM v WHERE id BETWEEN first AND last ORDER BY id DESC LOOP
    f := lsbf_add(f, vec);
  END LOOP;
  RETURN f;
END $$;
SELECT last, lsbf_members(f) AS members, f = added(1, last, p()) AS same, pg_column_size(f) AS bytes FROM unnest(ARRAY[1, 2, 63, 64, 65, 66, 129, 300]) last, LATERAL (SELECT lsbf_agg(r, p()) AS f FROM v WHERE id <= last) a;
SELECT lsbf_agg(r, p() ORDER BY id) = lsbf_agg(r, p() ORDER BY g, r DESC) AS order_does_not_matter, lsbf_agg(r, p()) = lsbf_agg(r, p()) AS shared FROM v;
-- hashed and sorted groups, with few and with many members
SET enable_sort = off;
CREATE TABLE hashed AS SELECT least(id % 30, 5) AS g, lsbf_agg(r, p()) AS f FROM v GROUP BY 1;
RESET enable_sort;
SET enable_hashagg = off;
CREATE TABLE sorted AS SELECT least(id % 30, 5) AS g, lsbf_agg(r, p()) AS f FROM v GROUP BY 1;
RESET enable_hashagg;
SELECT g, lsbf_members(h.f) AS members, h.f = s.f AS same FROM hashed h JOIN sorted s USING (g) ORDER BY g;
SELECT count(*) FILTER (WHERE NOT approx_member(f, r)) AS members_not_found FROM v JOIN hashed h ON h.g = least(id % 30, 5);
SELECT lsbf_union_agg(f) = (SELECT f FROM f) AS whole FROM hashed;
-- in parallel: the same bytes
CREATE TABLE many AS SELECT id, random_reals('many' || id, 8) AS r FROM generate_series(1, 6000) id;
ANALYZE many;
CREATE TABLE alone AS SELECT lsbf_agg(r, lsqf_new(near => 0.1)) AS f FROM many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
EXPLAIN (COSTS OFF) SELECT lsbf_agg(r, lsqf_new(near => 0.1)) FROM many;
SELECT lsbf_agg(r, lsqf_new(near => 0.1)) = (SELECT f FROM alone) AS same, lsbf_members(lsbf_agg(r, lsqf_new(near => 0.1))) AS members FROM many;
SELECT bool_and(approx_member(f, r)) AS found FROM alone, many;
RESET max_parallel_workers_per_gather;
-- unions of many small filters
SELECT count(*) AS filters, lsbf_union_agg(f) = (SELECT f FROM alone) AS whole FROM (SELECT lsbf_agg(r, lsqf_new(near => 0.1)) AS f FROM many GROUP BY id % 1500) s;
SELECT lsbf_union_agg(f) IS NULL AS no_rows FROM f WHERE false;
SELECT (f.f | p()) = f.f AND (p() | f.f) = f.f AS empty, lsbf_members(f.f | f.f) AS twice, (a.f | b.f) = (b.f | a.f) AS order_does_not_matter FROM f, hashed a, hashed b WHERE a.g = 1 AND b.g = 5;
-- only of filters that hash alike
SELECT a, expect_error(format('SELECT lsqf_new(dims => 24, near => 0.5) | lsqf_new(%s)', a)) AS error FROM unnest(ARRAY['dims => 24, near => 0.4, far => 1.25', 'dims => 24, near => 0.5, far => 1', 'dims => 24, near => 0.5, bits => 32', 'dims => 24, near => 0.5, seed => 1', 'dims => 24, near => 0.5, far => 1.25, metric => ''cosine''', 'dims => 24, near => 0.5, fnr => 0.02',
  'dims => 24, near => 0.5, max_theta => 2', 'dims => 24, near => 0.5, cells => 14', 'dims => 24, near => 0.5, length => 1', 'dims => 24, near => 0.5, centre => array_fill(0, ARRAY[24])::real[]', 'dims => 23, near => 0.5', 'near => 0.5']) a;
SELECT expect_error('SELECT p() | dsbf_new(metric => ''l2'', dims => 24, capacity => 10, near => 0.5)') AS kind;
SELECT expect_error('SELECT lsbf_union_agg(CASE WHEN id < 100 THEN lsbf_add(p(), r) ELSE lsbf_add(lsqf_new(dims => 24, near => 0.6), r) END) FROM v') AS aggregate;

-- windows: the state is still added to after its value was returned
CREATE TABLE running AS SELECT id, lsbf_agg(r, p()) OVER (ORDER BY id) AS f FROM v;
SELECT count(*) AS rows, count(*) FILTER (WHERE f <> (SELECT lsbf_agg(r, p()) FROM v WHERE v.id <= running.id)) AS wrong FROM running;
CREATE TABLE sliding AS SELECT id, lsbf_agg(r, p()) OVER (ORDER BY id ROWS 2 PRECEDING) AS three, lsbf_agg(r, p()) OVER (ORDER BY id ROWS BETWEEN 80 PRECEDING AND 1 PRECEDING) AS eighty FROM v;
SELECT count(*) AS rows, count(*) FILTER (WHERE three <> (SELECT lsbf_agg(r, p()) FROM v WHERE v.id BETWEEN s.id - 2 AND s.id)) AS wrong,
  count(*) FILTER (WHERE eighty IS DISTINCT FROM (SELECT lsbf_agg(r, p()) FROM v WHERE v.id BETWEEN s.id - 80 AND s.id - 1)) AS wrong_eighty FROM sliding s;
SELECT bool_and(whole = f) AS whole FROM (SELECT lsbf_union_agg(h.f) OVER (ORDER BY h.g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS whole FROM hashed h) s, f;
-- an aggregate of one's own with the same step, without a final function; its state as an argument of functions
CREATE AGGREGATE own(real[], lsbf) (SFUNC = lsbf_agg_step, STYPE = lsbf);
SELECT last, own(r, p()) = lsbf_agg(r, p()) AS same, lsbf_members(own(r, p())) AS members, approx_member(own(r, p()), min(r)) AS found, pg_column_size(own(r, p())) = pg_column_size(lsbf_agg(r, p())) AS size, lsbf_add(own(r, p()), min(r)) = (lsbf_agg(r, p()) | lsbf_add(p(), min(r))) AS grown
FROM v, unnest(ARRAY[1, 64, 65, 300]) last WHERE id <= last GROUP BY last ORDER BY last;
CREATE AGGREGATE changed(real[], lsbf) (SFUNC = lsbf_agg_step, STYPE = lsbf, FINALFUNC = lsbf_members, FINALFUNC_MODIFY = READ_ONLY);
SELECT id, changed(r, p()) OVER (ORDER BY id) AS members FROM v ORDER BY id LIMIT 3 OFFSET 63;

-- a prototype with members is refused, as parallel workers would add them several times
CREATE TABLE stored AS SELECT last, lsbf_agg(r, p()) AS f FROM v, unnest(ARRAY[1, 64, 65, 200]) last WHERE id <= last GROUP BY last;
SELECT last, expect_error(format('SELECT lsbf_agg(r, (SELECT f FROM stored WHERE last = %s)) FROM v', last)) FROM stored ORDER BY last;
SELECT last, (s.f | lsbf_agg(v.r, p())) = (SELECT f FROM f) AS merged FROM stored s, v WHERE id > last GROUP BY last, s.f ORDER BY last;
-- one prototype per group
SELECT last, expect_error(format('SELECT lsbf_agg(r, CASE WHEN id < %s THEN p() ELSE lsqf_new(dims => 24, near => 0.5, seed => 1) END) FROM v WHERE id > 150', last)) AS seed,
  expect_error(format('SELECT lsbf_agg(r, CASE WHEN id < %s THEN p() ELSE (SELECT f FROM stored WHERE last = 200) END) FROM v WHERE id > 150', last)) AS members FROM unnest(ARRAY[160, 290]) last;

-- lsbf_add and lsbf_remove are exact, also with members that are equal
SELECT last, lsbf_remove(lsbf_add(f, '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24}'::real[]), '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24}'::float8[]) = f AS undone FROM stored ORDER BY last;
SELECT last, bool_and(lsbf_members(lsbf_remove(f, r)) = last - 1) AS fewer, bool_and(lsbf_add(lsbf_remove(f, r), r) = f) AS added_again, bool_and(NOT approx_member(lsbf_remove(f, r), r)) AS forgotten FROM stored, v WHERE id <= last GROUP BY last ORDER BY last;
SELECT last, bool_and(lsbf_remove(f, r) = f) AS unchanged FROM stored, v WHERE id > 200 GROUP BY last ORDER BY last;
CREATE FUNCTION removed(first int, last int, f lsbf) RETURNS lsbf LANGUAGE plpgsql AS $$
DECLARE
  vec real[];
BEGIN
  FOR vec IN SELECT r FROM v WHERE id BETWEEN first AND last ORDER BY id LOOP
    f := lsbf_remove(f, vec);
  END LOOP;
  RETURN f;
END $$;
SELECT last, removed(1, last, f) = (SELECT lsbf_agg(r, p()) FROM v WHERE id > last) AS rest FROM f, unnest(ARRAY[1, 235, 236, 299]) last;
SELECT lsbf_members(removed(1, 300, f)) AS none, removed(1, 300, f) = p() AS like_new, approx_member(removed(1, 300, f), (SELECT r FROM v WHERE id = 1)) AS found FROM f;
SELECT n, lsbf_members(f) AS members, approx_votes(f, '{1,2}'::real[]) AS votes, lsbf_members(lsbf_remove(f, '{1,2}'::real[])) AS removed, lsbf_remove(f, '{1,2}'::int[]) = (SELECT lsbf_agg('{1,2}'::int[], lsqf_new(near => 1)) FROM generate_series(2, n)) AS one_less
FROM unnest(ARRAY[1, 2, 64, 65, 500]) n, LATERAL (SELECT lsbf_agg('{1,2}'::int[], lsqf_new(near => 1)) AS f FROM generate_series(1, n)) s;
SELECT lsbf_remove(p(), r) = p() AS from_empty, lsbf_remove(NULL, r) IS NULL AND lsbf_remove(p(), NULL::real[]) IS NULL AS nulls FROM v WHERE id = 1;
SELECT kind, expect_error(format('SELECT lsbf_remove(lsbf_add(%s, ''{1,2}''::real[]), ''{1,2}''::real[])', p)) AS error FROM (VALUES ('dsbf', 'dsbf_new(metric => ''l2'', capacity => 10, near => 1)'), ('lsbf', 'lsbf_new(capacity => 10, near => 1)'),
  ('any', 'lsbf_new(match => ''any'', metric => ''l1'', capacity => 10, near => 1)'), ('ilbf', 'ilbf_new(capacity => 10, near => 1)')) k (kind, p);
SELECT expect_error('SELECT lsbf_remove(f, ''{1,2}''::real[]) FROM f') AS dims, expect_error('SELECT lsbf_remove(f, B''01'') FROM f') AS type;

-- queries: every member is found at theta 1 and above; near vectors nearly always, others rarely
SELECT count(*) FILTER (WHERE approx_member(f, r)) AS members, count(*) FILTER (WHERE approx_member(f, r, 1.25)) AS wider, count(*) FILTER (WHERE approx_member(f, r, 0.01)) AS narrow, count(*) FILTER (WHERE approx_member(f, r::float8[])) AS doubles,
  count(*) FILTER (WHERE approx_member(f, at_distance(r, 'l2', 0.5, 'near'))) > 290 AS near, count(*) FILTER (WHERE approx_member(f, at_distance(r, 'l2', 1.25, 'far'))) < 5 AS far, count(*) FILTER (WHERE approx_member(f, random_reals('other' || id, 24))) AS unrelated FROM f, v;
-- theta: half the distance, up to max_theta, and no more
SELECT max_theta, theta, count(*) FILTER (WHERE approx_member(f, at_distance(r, 'l2', 0.5 * theta, 'q'), theta)) > 290 AS near, count(*) FILTER (WHERE approx_member(f, at_distance(r, 'l2', 0.5 * theta * 2.5, 'q'), theta)) < 15 AS far
FROM (VALUES (1, 0.25), (1, 1), (3, 0.5), (3, 3), (16, 1), (16, 2)) t (max_theta, theta), LATERAL (SELECT lsbf_agg(r, lsqf_new(dims => 24, near => 0.5, bits => 96, max_theta => max_theta)) AS f FROM v) s, v GROUP BY max_theta, theta ORDER BY 1, 2;
SELECT count(*) FILTER (WHERE now < before) AS answers_that_shrink FROM (SELECT approx_member(f, q, theta) AS now, lag(approx_member(f, q, theta), 1, false) OVER (PARTITION BY id ORDER BY theta) AS before FROM (SELECT id, at_distance(r, 'l2', 0.6, 'q') AS q FROM v) s, f, unnest(ARRAY[0.1, 0.5, 0.8, 1, 1.1, 1.25]) theta) t;
SELECT metric, asked, (lsbf_info(p)).max_theta >= asked AS enough, approx_member(lsbf_add(p, r), r, asked) AS at_it, expect_error(format('SELECT approx_member(%L::lsbf, r, %s) FROM v', lsbf_add(p, r), (lsbf_info(p)).max_theta + 1)) AS beyond
FROM (VALUES ('l2', 1.0), ('l2', 2), ('l2', 16), ('cosine', 1), ('cosine', 3), ('cosine', 16)) t (metric, asked), LATERAL (SELECT lsqf_new(dims => 24, metric => metric, near => 0.1, max_theta => asked) AS p) s, v WHERE id = 1;
SELECT theta, expect_error(format('SELECT approx_member(f, r, %L) FROM f, v', theta)) AS member, expect_error(format('SELECT approx_votes(f, r, %L) FROM f, v', theta)) AS votes FROM unnest(ARRAY['0', '-1', 'NaN', 'Infinity', '1.3']) theta;
SELECT expect_error('SELECT lsbf_seen(r, p(), 1.3) OVER (ORDER BY id) FROM v') AS seen, expect_error('SELECT lsbf_fpr(f, 1.3) FROM f') AS fpr, expect_error('SELECT count(*) FROM f, lsbf_curve(f, 1.3)') AS curve;
SELECT approx_member(p(), r) AS empty, approx_votes(p(), r) AS votes, approx_distance(p(), r) AS distance, approx_member(f, NULL::real[]) AS no_vector, approx_member(f, r, NULL) AS no_theta FROM f, v WHERE id = 1;
-- votes are the number of members that match
SELECT min(approx_votes(f, r)), max(approx_votes(f, r)), min(approx_votes(f | f, r)) AS twice, bool_and(approx_member(f, r) = (approx_votes(f, r) > 0)) AS agree FROM f, v;
-- estimated distances
SELECT bool_and(approx_distance(f, r) = 0) AS members, count(approx_distance(f, random_reals('other' || id, 24))) AS unrelated FROM f, v;
SELECT share, avg(approx_distance(f, at_distance(r, 'l2', 0.5 * share, 'd'))) BETWEEN 0.7 * 0.5 * share AND 1.3 * 0.5 * share AS about, count(approx_distance(f, at_distance(r, 'l2', 0.5 * share, 'd'))) > 250 AS found FROM f, v, unnest(ARRAY[0.5, 0.8, 1]) share GROUP BY share ORDER BY share;

-- descriptions
SELECT lsbf_kind(f), lsbf_members(f), lsbf_explain(f) FROM f;
SELECT lsbf_explain(lsqf_new(near => 0.5)) AS empty, lsbf_explain(p()) AS with_dims;
SELECT kind, metric, family, dims, capacity, width, tables, hashes, bits, verify_bits, bloom_hashes, votes, members, bits_set, fill, bytes = octet_length(f::bytea) + 4 AS bytes, fpr < 0.01 AS fpr, fnr BETWEEN 0.005 AND 0.015 AS fnr, match, probes, length, centred, coordinates, cells, max_theta FROM f, lsbf_info(f) \gx
SELECT lsbf_fpr(f) < 0.01 AS fpr, lsbf_fpr(f, 0.5) < 0.01 AS narrow, lsbf_fnr(f, 0) = 0 AS itself, lsbf_fnr(f, 0.5) BETWEEN 0.005 AND 0.015 AS near, lsbf_fnr(f, 0.5, 0.8) > lsbf_fnr(f, 0.5) AS narrower, lsbf_fnr(f, 5) > 0.99 AS far FROM f;
SELECT count(*), max(passed) = 1 AS members_pass, min(passed) < 0.01 AS unrelated_do_not, bool_and(abs(passed - 1 + lsbf_fnr(f, distance)) < 1e-12) AS matches_lsbf_fnr, bool_and(passed <= before) AS falls
FROM (SELECT f, c.*, lag(passed, 1, 1) OVER (ORDER BY distance) AS before FROM f, lsbf_curve(f) c) t;
SELECT lsbf_overlap(f.f, f.f) AS same, round(lsbf_overlap(f.f, s.f)::numeric, 3) AS part, lsbf_overlap(f.f, p()) AS empty, lsbf_overlap(p(), p()) AS both_empty, lsbf_overlap(f.f | f.f, f.f) AS twice FROM f, stored s WHERE last = 200;
SELECT expect_error('SELECT approx_distance(lsbf_new(capacity => 10, near => 1), ''{1}''::real[])') AS distance;

-- equality, order, hashing; text, binary and bytea
SELECT count(*) AS filters, count(DISTINCT f) AS different, count(DISTINCT lsbf_hash(f)) AS hashes, bool_and(f = f AND NOT f <> f AND f <= f) AS itself FROM (SELECT f FROM stored UNION ALL SELECT f FROM stored UNION ALL SELECT p() UNION ALL SELECT lsqf_new(dims => 24, near => 0.5, seed => 1)) s;
SELECT bool_and((a.f = b.f) = (a.last = b.last) AND (a.f < b.f) = (b.f > a.f) AND (a.f <= b.f OR a.f > b.f) AND lsbf_cmp(a.f, b.f) = - lsbf_cmp(b.f, a.f)) AS agree FROM stored a, stored b;
SELECT last, f::text::lsbf = f AS text, f::bytea::lsbf = f AS bytea, lsbf_send(f) = f::bytea AS binary, octet_length(f::bytea) AS bytes, md5(f::bytea) FROM (SELECT last, f FROM stored UNION ALL SELECT 0, p()) s ORDER BY last;
SELECT what, expect_error(format('SELECT %L::bytea::lsbf', changed)) AS error FROM (SELECT f::bytea AS b FROM stored WHERE last = 200) s,
  LATERAL (VALUES ('shorter', substr(b, 1, octet_length(b) - 8)), ('longer', b || '\x0000000000000000'), ('more members', set_byte(b, 20, get_byte(b, 20) + 1)), ('padding', set_byte(b, octet_length(b) - 1, 1)), ('flags', set_byte(b, 5, get_byte(b, 5) # 8))) c (what, changed);

-- lsbf_seen and lsbf_first: exact duplicates are those of a self-join
CREATE TABLE d AS SELECT i, random_reals('d' || (i * 7919 % 170), 12) AS r FROM generate_series(1, 400) i;
SELECT count(*) AS rows, count(*) FILTER (WHERE seen) AS seen, count(*) FILTER (WHERE seen <> earlier) AS seen_differs, count(*) FILTER (WHERE first = earlier) AS first_differs
FROM (SELECT i, lsbf_seen(r, lsqf_new(near => 0.01)) OVER w AS seen, lsbf_first(r, lsqf_new(near => 0.01)) OVER w AS first, EXISTS (SELECT FROM d e WHERE e.r = d.r AND e.i < d.i) AS earlier FROM d WINDOW w AS (ORDER BY i)) s;
SELECT members, count(*) FILTER (WHERE seen) AS seen, count(*) FILTER (WHERE seen <> (earlier OR member)) AS seen_differs, count(*) FILTER (WHERE first = (earlier OR member)) AS first_differs
FROM (SELECT members, i, lsbf_seen(r, f) OVER w AS seen, lsbf_first(r, f) OVER w AS first, EXISTS (SELECT FROM d e WHERE e.r = d.r AND e.i < d.i) AS earlier, EXISTS (SELECT FROM d e WHERE e.r = d.r AND e.i <= members) AS member
  FROM d, (SELECT members, lsbf_agg(r, lsqf_new(near => 0.01)) AS f FROM d, unnest(ARRAY[3, 100]) members WHERE i <= members GROUP BY members) p WINDOW w AS (PARTITION BY members ORDER BY i)) s GROUP BY members ORDER BY members;
-- nearly every answer is that of a filter built row by row, of which a query searches other cells
CREATE FUNCTION screened(only_new boolean, f lsbf, theta float8) RETURNS TABLE (id int, seen boolean) LANGUAGE plpgsql AS $$
DECLARE
  row v;
  at real[];
BEGIN
  FOR row IN SELECT * FROM v ORDER BY v.id LOOP
    id := row.id;
    at := at_distance((SELECT r FROM v WHERE v.id = row.id % 90 + 1), 'l2', 0.04 * (row.id % 23), 'step' || row.id);
    seen := approx_member(f, at, theta);
    IF NOT (seen AND only_new) THEN
      f := lsbf_add(f, at);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT theta, count(*) AS rows, count(*) FILTER (WHERE w.seen <> s.seen) < 3 AS seen_agrees, count(*) FILTER (WHERE w.first = o.seen) < 3 AS first_agrees, count(*) FILTER (WHERE w.seen) BETWEEN 50 AND 250 AS some_seen
FROM unnest(ARRAY[0.5, 1, 1.25]) theta, LATERAL (SELECT id, lsbf_seen(q, p(), theta) OVER (ORDER BY id) AS seen, lsbf_first(q, p(), theta) OVER (ORDER BY id) AS first
  FROM (SELECT v.id, at_distance(o.r, 'l2', 0.04 * (v.id % 23), 'step' || v.id) AS q FROM v JOIN v o ON o.id = v.id % 90 + 1) q) w JOIN LATERAL screened(false, p(), theta) s USING (id) JOIN LATERAL screened(true, p(), theta) o USING (id) GROUP BY theta ORDER BY theta;

-- cosine: lengths do not matter, and zero vectors have no direction
CREATE TABLE c AS SELECT lsbf_agg(r, lsqf_new(metric => 'cosine', near => 0.01)) AS f FROM v;
SELECT count(*) FILTER (WHERE approx_member(f, r)) AS members, count(*) FILTER (WHERE approx_member(f, (SELECT array_agg(x * id * 100 ORDER BY i) FROM unnest(r) WITH ORDINALITY u (x, i)))) AS longer, count(*) FILTER (WHERE approx_distance(f, r) = 0) AS at_0,
  count(*) FILTER (WHERE approx_member(f, (SELECT array_agg(-x ORDER BY i) FROM unnest(r) WITH ORDINALITY u (x, i)))) AS opposite, count(*) FILTER (WHERE approx_member(f, at_distance(r, 'cosine', 0.01, 'near'))) > 290 AS near, count(*) FILTER (WHERE approx_member(f, at_distance(r, 'cosine', 0.07, 'far'))) < 10 AS far FROM c, v;
SELECT call, expect_error(format(call, 'array_fill(0, ARRAY[24])::real[]')) AS zeros, expect_error(format(call, 'array_fill(1e-42, ARRAY[24])::real[]')) AS small, expect_error(format(call, 'array_fill(1e-320, ARRAY[24])::float8[]')) AS smaller
FROM unnest(ARRAY['SELECT approx_member(f, %s) FROM c', 'SELECT lsbf_add(f, %s) FROM c', 'SELECT lsbf_agg(%s, lsqf_new(metric => ''cosine'', near => 0.01))', 'SELECT lsbf_seen(%s, lsqf_new(metric => ''cosine'', near => 0.01)) OVER ()']) call;
SELECT approx_member(lsbf_add(lsqf_new(near => 1), array_fill(0, ARRAY[24])), array_fill(0.01, ARRAY[24])) AS l2_of_zeros;
-- few and many dimensions, with a centre and a length
SELECT dims, count(*) FILTER (WHERE approx_member(f, r)) AS members, count(*) FILTER (WHERE approx_member(f, at_distance(r, 'l2', 0.1, 'q'))) > 185 AS near, (lsbf_info(f)).coordinates
FROM unnest(ARRAY[1, 2, 16, 17, 64, 65, 128, 500]) dims, LATERAL (SELECT lsbf_agg(random_reals('m' || i, dims), lsqf_new(dims => dims, near => 0.1, length => sqrt(dims / 3.0), centre => array_fill(0.01, ARRAY[dims])::real[])) AS f FROM generate_series(1, 200) i) s,
  LATERAL (SELECT random_reals('m' || i, dims) AS r FROM generate_series(1, 200) i) m GROUP BY dims, f ORDER BY dims;

-- the planner knows how many rows pass, and what a query costs
CREATE FUNCTION planned(query text, OUT rows float8, OUT cost float8) LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  rows := plan -> 0 -> 'Plan' ->> 'Plan Rows';
  cost := plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
ANALYZE v;
SET max_parallel_workers_per_gather = 0;
SELECT a.rows AS all, m.rows BETWEEN 1 AND 30 AS members, e.rows AS empty, u.rows AS unknown, m.cost > a.cost + 300 * 40 * current_setting('cpu_operator_cost')::float8 AS dearer
FROM planned('SELECT FROM v') a, f, planned(format('SELECT FROM v WHERE approx_member(%L::lsbf, r)', f)) m, planned('SELECT FROM v WHERE approx_member(p(), r)') e, planned('SELECT FROM v WHERE approx_member((SELECT f FROM f), r)') u;

-- a filter that an aggregate returns is a flat value, like a stored one
CREATE TABLE parts AS SELECT id % 3 AS part, lsbf_agg(ARRAY[id, 2 * id, 7]::real[], lsqf_new(near => 0.5)) AS f FROM generate_series(1, 3000) id GROUP BY id % 3;
SELECT lsbf_agg_final(f) = f AS unchanged FROM parts LIMIT 1;
WITH w AS NOT MATERIALIZED (SELECT lsbf_union_agg(f) AS f FROM parts) SELECT count(*) FROM generate_series(1, 5000) id, w WHERE approx_member(f, ARRAY[id, 2 * id, 7]::real[]);
-- the same prototype in all rows of a partition: other members are another prototype, even if there are as many
SELECT expect_error($$WITH p AS (SELECT lsbf_add(lsqf_new(dims => 3, near => 1), '[1,2,3]') AS p1, lsbf_add(lsqf_new(dims => 3, near => 1), '[100,2,3]') AS p2)
  SELECT lsbf_seen(ARRAY[id * 50, 2, 3]::real[], CASE WHEN id = 1 THEN p1 ELSE p2 END) OVER (ORDER BY id) FROM p, generate_series(1, 3) id$$) AS error;
-- directions of very long and very short vectors
SELECT n, bool_and(approx_member(f, ARRAY[3 * 10 ^ n, 4 * 10 ^ n]::float8[])) AS same FROM (SELECT lsbf_add(lsqf_new(metric => 'cosine', near => 0.001), '{3,4}') AS f) f, unnest(ARRAY[-300, -170, -10, 10, 160, 300]) n GROUP BY n ORDER BY n;
SELECT expect_error('SELECT lsbf_add(lsqf_new(near => 1, dims => 3), ARRAY[3e37,0,0]::real[])') AS error;
SELECT distance, passed FROM lsbf_curve(lsqf_new(near => 1), 1, 1e308, 2) c;
