-- needs vector
-- pgvector's types: cast to real[] without pg_lsbf_vector, read in place with it.
CREATE EXTENSION vector;
CREATE TABLE v AS SELECT i, random_reals('v' || i, 24)::vector(24) AS v, random_reals('v' || i, 24) AS a FROM generate_series(1, 300) i;
CREATE TABLE prototypes AS SELECT * FROM (VALUES
  ('dsbf l2', dsbf_new(metric => 'l2', capacity => 300, near => 0.2)),
  ('lsbf l1', lsbf_new(metric => 'l1', capacity => 300, near => 0.5)),
  ('lsbf cosine', lsbf_new(metric => 'cosine', capacity => 300, near => 0.01)),
  ('ilbf l2', ilbf_new(metric => 'l2', capacity => 300, near => 0.2)),
  ('lsqf l2', lsqf_new(near => 0.2, max_theta => 2)), ('lsqf cosine', lsqf_new(metric => 'cosine', near => 0.01, max_theta => 2))) AS p (name, p);

-- Without pg_lsbf_vector: no call is ambiguous, as pgvector's implicit cast resolves it to real[].
CREATE TABLE f AS SELECT name, lsbf_agg(v, p) AS f, lsbf_agg(a, p) AS from_arrays FROM v, prototypes GROUP BY name;
SELECT name, f = from_arrays AS same, lsbf_members(f) BETWEEN 270 AND 330 AS members FROM f ORDER BY name;
SELECT name, bool_and(approx_member(f, v)) AS found, bool_and(approx_member(f, v, 2)) AS wider,
    bool_and(approx_votes(f, v) = approx_votes(f, a)) AS votes, bool_and(lsbf_add(f, v) = f) AS added
  FROM f, v GROUP BY name ORDER BY name;
SELECT bool_and(approx_distance(f, v) IS NOT DISTINCT FROM approx_distance(f, a)) AS distances FROM f, v WHERE name = 'ilbf l2';
-- One row in three is repeated, slightly changed.
CREATE TABLE again AS SELECT i, v FROM v UNION ALL SELECT 300 + i, at_distance(a, 'l2', 0.02, 'again' || i)::vector FROM v WHERE i % 3 = 0;
CREATE TABLE screened_by_cast AS SELECT name, i, lsbf_seen(v, p) OVER w AS seen, lsbf_first(v, p) OVER w AS first FROM again, prototypes WINDOW w AS (PARTITION BY name ORDER BY i);
SELECT name, count(*) FILTER (WHERE seen AND i > 300) AS again, count(*) FILTER (WHERE seen AND i <= 300) < 100 AS few_others FROM screened_by_cast GROUP BY name ORDER BY name;
CREATE VIEW by_cast AS SELECT i FROM v, f WHERE approx_member(f, v);
SELECT pg_get_viewdef('by_cast');
SELECT expect_error('SELECT approx_member(f, ''[1,2]''::vector) FROM f');
SELECT expect_error('SELECT approx_member(dsbf_new(capacity => 10, near => 0.1), ''[1,2]''::vector)');
-- halfvec and sparsevec have no implicit cast.
SELECT expect_error('SELECT approx_member(f, v::halfvec) FROM f, v');
SELECT name, bool_and(approx_member(f, v::halfvec::real[])) AS halfvec, bool_and(approx_member(f, v::sparsevec::vector)) AS sparsevec
  FROM f, v GROUP BY name ORDER BY name;

CREATE EXTENSION pg_lsbf_vector;

-- With it, calls resolve to the function for their own type.
CREATE VIEW in_place AS SELECT i FROM v, f WHERE approx_member(f, v);
SELECT pg_get_viewdef('in_place');
SELECT (SELECT count(*) FROM by_cast) AS by_cast, (SELECT count(*) FROM in_place) AS in_place;
SELECT name, lsbf_agg(v, p) = f AS same FROM v, prototypes JOIN f USING (name) GROUP BY name, f ORDER BY name;

-- The same numbers are the same vector in every type. Half-precision numbers are exact in all of them.
CREATE TABLE w AS SELECT i, h, h::vector AS v, h::sparsevec AS s, h::real[] AS r, h::real[]::float8[] AS d
  FROM (SELECT i, random_reals('w' || i, 24)::halfvec AS h FROM generate_series(1, 300) i) x;
CREATE TABLE g AS SELECT name, lsbf_agg(v, p) AS v, lsbf_agg(h, p) AS h, lsbf_agg(s, p) AS s, lsbf_agg(r, p) AS r, lsbf_agg(d, p) AS d
  FROM w, prototypes GROUP BY name;
SELECT name, v = r AS vector, h = r AS halfvec, s = r AS sparsevec, d = r AS doubles FROM g ORDER BY name;
-- lsbf_design_for reads all types of pgvector, and chooses the same filter for each.
SELECT count(DISTINCT prototype) AS prototypes FROM unnest(ARRAY['v', 'h', 's', 'r']) c, LATERAL (SELECT prototype FROM lsbf_design_for('w', c, near => 0.1) LIMIT 1) d;
SELECT name, bool_and(approx_member(g.r, w.v) AND approx_member(g.r, w.h) AND approx_member(g.r, w.s)) AS found,
    bool_and(approx_votes(g.r, w.v) = approx_votes(g.r, w.r) AND approx_votes(g.r, w.h) = approx_votes(g.r, w.r)
      AND approx_votes(g.r, w.s) = approx_votes(g.r, w.r)) AS votes
  FROM g, w GROUP BY name ORDER BY name;
-- The same for queries near to members and far from them.
SELECT name, count(*) FILTER (WHERE approx_member(f, q)) > 0 AS some, count(*) FILTER (WHERE NOT approx_member(f, q)) > 0 AS others,
    bool_and(approx_member(f, q) = approx_member(f, q::real[])) AS halfvec,
    bool_and(approx_member(f, q::vector) = approx_member(f, q::real[])) AS vector,
    bool_and(approx_member(f, q::sparsevec, 1.5) = approx_member(f, q::real[], 1.5)) AS sparsevec,
    bool_and(approx_votes(f, q::sparsevec, 1.5) = approx_votes(f, q::real[], 1.5)) AS votes
  FROM f, v, LATERAL (SELECT at_distance(a, 'l2', i * 0.01, 'q' || i)::halfvec AS q) s GROUP BY name ORDER BY name;
SELECT bool_and(approx_distance(g.r, w.v) IS NOT DISTINCT FROM approx_distance(g.r, w.r)) AS vector,
    bool_and(approx_distance(g.r, w.h) IS NOT DISTINCT FROM approx_distance(g.r, w.r)) AS halfvec,
    bool_and(approx_distance(g.r, w.s) IS NOT DISTINCT FROM approx_distance(g.r, w.r)) AS sparsevec
  FROM g, w WHERE name = 'ilbf l2';
SELECT bool_and(lsbf_add(p, v) = lsbf_add(p, r)) AS vector, bool_and(lsbf_add(p, h) = lsbf_add(p, r)) AS halfvec,
    bool_and(lsbf_add(p, s) = lsbf_add(p, r)) AS sparsevec
  FROM w, prototypes WHERE i <= 10;

-- Window functions for pgvector's types give the same answers as those for arrays.
SELECT name, count(*) FILTER (WHERE s.seen <> c.seen) AS seen_differs, count(*) FILTER (WHERE s.first <> c.first) AS first_differs
  FROM (SELECT name, i, lsbf_seen(v, p) OVER w AS seen, lsbf_first(v, p) OVER w AS first FROM again, prototypes WINDOW w AS (PARTITION BY name ORDER BY i)) s
  JOIN screened_by_cast c USING (name, i) GROUP BY name ORDER BY name;
SELECT name, count(*) FILTER (WHERE seen) > 0 AS some, count(*) FILTER (WHERE NOT seen) > 0 AS others, count(*) FILTER (WHERE halfvec <> seen) AS halfvec,
    count(*) FILTER (WHERE sparsevec <> seen) AS sparsevec, count(*) FILTER (WHERE halfvec_first <> first) AS halfvec_first, count(*) FILTER (WHERE sparsevec_first <> first) AS sparsevec_first
  FROM (SELECT name, lsbf_seen(q::real[], p) OVER w AS seen, lsbf_seen(q, p) OVER w AS halfvec, lsbf_seen(q::sparsevec, p) OVER w AS sparsevec,
      lsbf_first(q::real[], p) OVER w AS first, lsbf_first(q, p) OVER w AS halfvec_first, lsbf_first(q::sparsevec, p) OVER w AS sparsevec_first
    FROM (SELECT i, v::halfvec AS q FROM again) a, prototypes WINDOW w AS (PARTITION BY name ORDER BY i)) s GROUP BY name ORDER BY name;
DROP TABLE again, screened_by_cast;

-- Extreme half-precision numbers: the smallest, the largest subnormal, the smallest normal, the largest, zeros of both signs.
SELECT lsbf_add(p, x::halfvec) = lsbf_add(p, x::halfvec::real[]) AS halfvec, lsbf_add(p, x::halfvec) = lsbf_add(p, x::halfvec::sparsevec) AS sparsevec
  FROM (VALUES ('[5.9604645e-8,-6.0975552e-5,6.1035156e-5,65504,-65504,0,-0,1]')) AS e (x), prototypes WHERE name = 'lsbf l1';

-- Few nonzero elements among many dimensions: the sparse and the dense product give the same bits.
CREATE TABLE few AS SELECT i, s, s::vector AS v FROM (
  SELECT i, format('{%s:%s,%s:%s,%s:-2}/5000', i, i * 0.37, 2000 + 7 * i, i * -0.11, 5000 - i)::sparsevec AS s FROM generate_series(1, 100) i) x;
SELECT metric, lsbf_agg(v, p) = lsbf_agg(s, p) AS same FROM few, unnest(ARRAY['l2', 'l1', 'cosine']) AS metric,
  LATERAL (SELECT dsbf_new(metric => metric, dims => 5000, capacity => 100, near => 0.01, tables => 8) AS p) x GROUP BY metric ORDER BY metric;

-- Stored vectors: short headers, values out of line, a short vector after a long one.
CREATE TABLE stored AS SELECT i, random_reals('s' || i, dims) AS a, random_reals('s' || i, dims)::vector AS v,
    random_reals('s' || i, dims)::vector::halfvec AS h, random_reals('s' || i, dims)::vector::sparsevec AS s
  FROM generate_series(1, 20) i, LATERAL (SELECT CASE i % 3 WHEN 0 THEN 1 WHEN 1 THEN 40 ELSE 1500 END AS dims) x;
SELECT min(pg_column_size(v)) AS shortest, max(pg_column_size(v)) AS longest, pg_relation_size(reltoastrelid) > 0 AS out_of_line
  FROM stored, pg_class WHERE pg_class.oid = 'stored'::regclass GROUP BY reltoastrelid;
SELECT bool_and(lsbf_add(p, v) = lsbf_add(p, a)) AS vector, bool_and(lsbf_add(p, h) = lsbf_add(p, h::real[])) AS halfvec,
    bool_and(lsbf_add(p, s) = lsbf_add(p, a)) AS sparsevec
  FROM stored, lsbf_new(capacity => 10, near => 0.1) AS p;

-- Untyped literals and parameters are still read as the kind of vector that the filter expects.
SELECT approx_member(f, '[1,2,3]'), approx_member(f, '{1,2,3}'), approx_member(f, '[1,2,3]'::vector), approx_member(f, '{1:1,2:2,3:3}/3'::sparsevec)
  FROM lsbf_add(lsbf_new(capacity => 10, near => 0.1), '[1,2,3]') AS f;
PREPARE untyped AS SELECT approx_member(f, $1) FROM lsbf_add(lsbf_new(capacity => 10, near => 0.1), '[1,2,3]'::halfvec) AS f;
EXECUTE untyped ('[1,2,3]');
PREPARE typed (vector) AS SELECT approx_member(f, $1) FROM lsbf_add(lsbf_new(capacity => 10, near => 0.1), '[1,2,3]') AS f;
EXECUTE typed ('[1,2,3]');

-- pgvector has exact distances of bit, too: calls are not ambiguous, and return the same.
SELECT hamming_distance(B'1011', B'1101') AS bit, hamming_distance(B'1011', B'1101'::varbit) AS varbit, jaccard_distance(B'1011', B'1101') = jaccard_distance(B'1011'::varbit, B'1101') AS same,
  jaccard_distance(B'10', B'01') AS bit_apart, jaccard_distance(B'10'::varbit, B'01'::varbit) AS varbit_apart, jaccard_distance(B'00', B'00') AS bit_empty, jaccard_distance(B'00'::varbit, B'00'::varbit) AS varbit_empty;

-- Quantized vectors are bit strings. Their distance is the share of bits that differ; pgvector's <~> is the number of these.
SELECT bool_and(approx_member(f, b)) AS found, max((b <~> flip_bits(b, 3, i::text)::bit(24)) / 24) = 0.125 AS distance
  FROM (SELECT i, binary_quantize(v)::bit(24) AS b FROM v) s,
    (SELECT lsbf_agg(binary_quantize(v), dsbf_new(capacity => 300, near => 0.05)) AS f FROM v) g;

-- NULLs and no rows.
SELECT approx_member(NULL, v), approx_member(f, NULL::vector), approx_member(f, v, NULL), approx_votes(f, NULL::halfvec),
    approx_distance(f, NULL::sparsevec), lsbf_add(f, NULL::vector) IS NULL AS added
  FROM f, v WHERE i = 1 AND name = 'ilbf l2';
SELECT lsbf_agg(v, p) IS NULL AS no_rows FROM v, prototypes WHERE i < 0;
SELECT name, f = lsbf_add(p, v) AS nulls_are_skipped
  FROM (SELECT p, name, lsbf_agg(CASE i WHEN 2 THEN v END, p) AS f FROM prototypes, v GROUP BY p, name) s, v WHERE i = 2 ORDER BY name;
SELECT expect_error('SELECT lsbf_agg(v, NULL::lsbf) FROM v');
SELECT expect_error('SELECT lsbf_agg(v, lsbf_new(capacity => 300 + i, near => 0.5)) FROM v');

-- Wrong dimensions, types and metrics.
SELECT expect_error('SELECT approx_member(f, ' || value || ') FROM f WHERE name = ''dsbf l2''')
  FROM unnest(ARRAY['''[1,2]''::vector', '''[1,2]''::halfvec', '''{1:1}/2''::sparsevec', '''{1:1}/2000000''::sparsevec']) AS value;
SELECT expect_error('SELECT approx_member(dsbf_new(capacity => 10, near => 0.1), ''[1,2]''::' || type || ')')
  FROM unnest(ARRAY['vector', 'halfvec']) AS type;
SELECT expect_error('SELECT approx_member(dsbf_new(metric => ''jaccard'', capacity => 10, near => 0.1), ''{1:1}/2''::sparsevec)');
SELECT expect_error('SELECT approx_member(f, B''0101'') FROM f WHERE name = ''dsbf l2''');
SELECT expect_error('SELECT approx_distance(f, v) FROM f, v WHERE name = ''lsbf l1''');
SELECT expect_error('SELECT approx_member(f, ''{}/24''::' || type || ') FROM f WHERE name = ''lsbf cosine''') FROM unnest(ARRAY['sparsevec']) AS type;
SELECT expect_error('SELECT lsbf_add(dsbf_new(metric => ''cosine'', capacity => 10, near => 0.1), ''[0,0]''::' || type || ')')
  FROM unnest(ARRAY['vector', 'halfvec']) AS type;

-- What the extension installs, and how.
SELECT extrelocatable, extversion = (SELECT extversion FROM pg_extension WHERE extname = 'pg_lsbf') AS same_version
  FROM pg_extension WHERE extname = 'pg_lsbf_vector';
CREATE VIEW ours AS
  SELECT p.* FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
  JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass WHERE extname = 'pg_lsbf_vector';
SELECT oid::regprocedure AS function, prosupport::regproc AS support, procost AS cost, proisstrict AS strict FROM ours ORDER BY oid::regprocedure::text;
SELECT bool_and(provolatile = 'i') AS immutable, bool_and(proparallel = 's') AS parallel_safe, bool_or(prosecdef) AS definer,
  bool_and(obj_description(oid, 'pg_proc') IS NOT NULL) AS commented FROM ours;
-- Except for the type, they are the same as the functions of pg_lsbf for real[].
CREATE FUNCTION for_real(function oid) RETURNS regprocedure LANGUAGE sql AS $$
  SELECT to_regprocedure(regexp_replace(function::regprocedure::text, 'vector|halfvec|sparsevec', 'real[]'))
$$;
SELECT count(*) AS functions, count(*) FILTER (WHERE
    (o.procost, o.prosupport, o.proisstrict, o.proargnames, pg_get_expr(o.proargdefaults, 0), o.prorettype, o.prokind, obj_description(o.oid, 'pg_proc'))
    IS NOT DISTINCT FROM (t.procost, t.prosupport, t.proisstrict, t.proargnames, pg_get_expr(t.proargdefaults, 0), t.prorettype, t.prokind, obj_description(t.oid, 'pg_proc'))
  ) AS alike, count(t.proargdefaults) AS defaults
  FROM ours o JOIN pg_proc t ON t.oid = for_real(o.oid);
SELECT count(*) AS aggregates, count(*) FILTER (WHERE (o.aggcombinefn, o.aggtranstype, o.aggtransspace) = (t.aggcombinefn, t.aggtranstype, t.aggtransspace)) AS alike
  FROM ours JOIN pg_aggregate o ON o.aggfnoid = ours.oid JOIN pg_aggregate t ON t.aggfnoid = for_real(ours.oid);

-- It is trusted, like pg_lsbf. Other types of the same names are not used.
DROP VIEW ours, in_place;
DROP EXTENSION pg_lsbf_vector;
CREATE ROLE owner_of_pgvector_test;
GRANT CREATE ON DATABASE test_pgvector TO owner_of_pgvector_test;
SET ROLE owner_of_pgvector_test;
CREATE SCHEMA here;
CREATE DOMAIN here.vector AS bigint;
CREATE DOMAIN here.lsbf AS bigint;
CREATE EXTENSION pg_lsbf_vector SCHEMA here;
SELECT count(*) FROM pg_proc WHERE 'here.vector'::regtype = ANY (proargtypes) OR 'here.lsbf'::regtype = ANY (proargtypes);
DROP DOMAIN here.vector, here.lsbf;
SELECT here.approx_member(here.lsbf_agg('[1,2]'::vector, lsbf_new(capacity => 10, near => 0.1)), '{1:1,2:2}/2'::sparsevec);
DROP EXTENSION pg_lsbf_vector;
RESET ROLE;
REVOKE CREATE ON DATABASE test_pgvector FROM owner_of_pgvector_test;
DROP SCHEMA here;
DROP ROLE owner_of_pgvector_test;

-- Extensions in different schemas, created by CASCADE, then moved.
DROP VIEW by_cast;
DROP TABLE v, w, few, stored, f, g, prototypes;
DROP EXTENSION pg_lsbf, vector;
CREATE SCHEMA a;
CREATE SCHEMA b;
CREATE EXTENSION vector SCHEMA a;
CREATE EXTENSION pg_lsbf_vector SCHEMA b CASCADE;
ALTER EXTENSION vector SET SCHEMA b;
ALTER EXTENSION pg_lsbf_vector SET SCHEMA a;
SELECT extname, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname <> 'plpgsql' ORDER BY 1;
SELECT a.approx_member(a.lsbf_agg('[1,2]'::b.vector, b.lsbf_new(capacity => 10, near => 0.1)), '[1,2]'::b.halfvec);
SELECT expect_error('DROP EXTENSION vector');
DROP EXTENSION vector CASCADE;
