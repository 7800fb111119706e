-- dsbf_new, lsbf_new, ilbf_new: capacity and near are enough; the rest is derived, the same way every time.
CREATE TABLE made(kind text, metric text, f lsbf);
INSERT INTO made SELECT 'dsbf', m, dsbf_new(metric => m, capacity => 1000, near => n) FROM (VALUES ('hamming', 0.05), ('l2', 0.5), ('l1', 0.5), ('cosine', 0.05), ('jaccard', 0.1)) t(m, n);
INSERT INTO made SELECT 'lsbf', m, lsbf_new(metric => m, capacity => 1000, near => n) FROM (VALUES ('hamming', 0.05), ('l2', 0.5), ('l1', 0.5), ('cosine', 0.05), ('jaccard', 0.1)) t(m, n);
INSERT INTO made SELECT 'ilbf', m, ilbf_new(metric => m, capacity => 1000, near => n) FROM (VALUES ('l2', 0.5), ('l1', 0.5)) t(m, n);
SELECT i.kind, i.metric, i.family, i.dims, i.capacity, i.near, i.far > i.near AS far, i.width > 0 AS width, i.tables > 0 AS tables, i.hashes > 0 AS hashes, i.bits > 0 AS bits,
  i.verify_bits > 0 AS verify, i.overflow, i.robust, i.blooms > 0 AS blooms, i.slots, i.blooms_aligned AS aligned, i.seed, i.members, i.bits_set, i.fill, i.fpr, i.fnr
  FROM made, lsbf_info(f) i ORDER BY 1, 2;
SELECT bool_and(m.kind = lsbf_kind(f) AND m.kind = i.kind AND m.metric = i.metric) AS kinds, bool_and(length(f::bytea) < 200 AND pg_column_size(f) < 200 AND i.bytes = length(f::bytea) + 4) AS small,
  bool_and(lsbf_members(f) = 0) AS empty FROM made m, lsbf_info(f) i;
-- The default metric of each kind.
SELECT (lsbf_info(dsbf_new(capacity => 10, near => 0.1))).metric AS dsbf, (lsbf_info(lsbf_new(capacity => 10, near => 0.1))).metric AS lsbf, (lsbf_info(ilbf_new(capacity => 10, near => 0.1))).metric AS ilbf;

-- The same arguments give the same bytes: named, positional, defaults written out, in any letter case and order.
SELECT dsbf_new(64, 10, 0.1)::bytea = dsbf_new(near => 0.1, capacity => 10, dims => 64, metric => 'HAMMING', seed => 0, alphabet => 'bits')::bytea AS dsbf,
  lsbf_new(64, 10, 0.1)::bytea = lsbf_new(near => 0.1, capacity => 10, dims => 64, metric => 'L2', seed => 0, far => NULL)::bytea AS lsbf,
  ilbf_new(64, 10, 0.1)::bytea = ilbf_new(near => 0.1, capacity => 10, dims => 64, metric => 'l2', seed => 0, blooms_aligned => false)::bytea AS ilbf;
SELECT count(DISTINCT f::bytea) AS different FROM generate_series(1, 100) i, LATERAL (SELECT lsbf_new(dims => 16 + i * 0, capacity => 1000, near => 0.3)) s(f);
-- The parameters that lsbf_info returns, passed to the constructor, give the same filter.
SELECT m.kind, m.metric, f = CASE m.kind
  WHEN 'dsbf' THEN dsbf_new(metric => i.metric, capacity => i.capacity, near => i.near, far => i.far, tables => i.tables, seed => i.seed, hashes => i.hashes, width => i.width, bits => i.bits)
  WHEN 'lsbf' THEN lsbf_new(metric => i.metric, capacity => i.capacity, near => i.near, far => i.far, tables => i.tables, seed => i.seed, hashes => i.hashes, width => i.width, bits => i.bits,
    verify_bits => i.verify_bits, bloom_hashes => i.bloom_hashes, overflow => i.overflow, robust => i.robust)
  ELSE ilbf_new(metric => i.metric, capacity => i.capacity, near => i.near, far => i.far, tables => i.tables, seed => i.seed, width => i.width, blooms => i.blooms, slots => i.slots,
    bloom_hashes => i.bloom_hashes, blooms_aligned => i.blooms_aligned) END AS same FROM made m, lsbf_info(f) i ORDER BY 1, 2;
-- Every argument matters: changing one changes the bytes.
SELECT count(*) AS filters, count(DISTINCT f::bytea) AS different FROM (VALUES
  (lsbf_new(dims => 8, capacity => 10, near => 0.1)), (lsbf_new(dims => 9, capacity => 10, near => 0.1)), (lsbf_new(dims => 8, capacity => 11, near => 0.1)), (lsbf_new(dims => 8, capacity => 10, near => 0.2)),
  (lsbf_new(dims => 8, capacity => 10, near => 0.1, far => 1)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, tables => 9)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, seed => 1)),
  (lsbf_new(dims => 8, capacity => 10, near => 0.1, metric => 'l1')), (lsbf_new(dims => 8, capacity => 10, near => 0.1, hashes => 7)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, width => 7)),
  (lsbf_new(dims => 8, capacity => 10, near => 0.1, bits => 12345)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, verify_bits => 1000)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, verify_bits => 0)),
  (lsbf_new(dims => 8, capacity => 10, near => 0.1, bloom_hashes => 3)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, overflow => 0)), (lsbf_new(dims => 8, capacity => 10, near => 0.1, overflow => 2)),
  (lsbf_new(dims => 8, capacity => 10, near => 0.1, robust => false)), (dsbf_new(dims => 8, capacity => 10, near => 0.1)), (dsbf_new(dims => 8, capacity => 10, near => 0.1, alphabet => 'symbols')),
  (dsbf_new(dims => 8, capacity => 10, near => 0.1, votes => 2)), (ilbf_new(dims => 8, capacity => 10, near => 0.1)), (ilbf_new(dims => 8, capacity => 10, near => 0.1, blooms => 100)),
  (ilbf_new(dims => 8, capacity => 10, near => 0.1, slots => 64)), (ilbf_new(dims => 8, capacity => 10, near => 0.1, bloom_hashes => 3)), (ilbf_new(dims => 8, capacity => 10, near => 0.1, votes => 4)),
  (ilbf_new(dims => 8, capacity => 10, near => 0.1, blooms_aligned => true))) t(f);
-- Constants are folded when a query is planned; a constructor over a column is not.
CREATE TABLE t(v real[], n int);
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query; END $$;
SELECT p FROM plan('SELECT lsbf_agg(v, lsbf_new(capacity => 10, near => 0.1)) FROM t') p WHERE p ~ '_new';
SELECT p FROM plan('SELECT lsbf_agg(v, lsbf_new(capacity => n, near => 0.1)) FROM t') p WHERE p ~ '_new';

-- Invalid arguments: the error names what was given and what is allowed.
SELECT a, expect_error('SELECT lsbf_new(' || a || ')') FROM unnest(ARRAY['', 'capacity => 10', 'near => 1', 'capacity => 0, near => 1', 'capacity => -1, near => 1',
  'capacity => 1000000000001, near => 1', 'capacity => 9223372036854775807, near => 1', 'capacity => 10, near => 0', 'capacity => 10, near => -1', 'capacity => 10, near => ''NaN''',
  'capacity => 10, near => ''Infinity''', 'capacity => 10, near => ''-Infinity''', 'capacity => 10, near => 1e308', 'capacity => 10, near => 1, far => 1', 'capacity => 10, near => 1, far => 0.5',
  'capacity => 10, near => 1, far => -1', 'capacity => 10, near => 1, far => ''NaN''', 'capacity => 10, near => 1, far => ''Infinity''', 'capacity => 10, near => 1, width => 0',
  'capacity => 10, near => 1, width => -1', 'capacity => 10, near => 1, width => ''NaN''', 'capacity => 10, near => 1, width => ''Infinity''', 'capacity => 10, near => 1, dims => 0',
  'capacity => 10, near => 1, dims => -1', 'capacity => 10, near => 1, dims => 1048577', 'capacity => 10, near => 1, dims => 2147483647', 'capacity => 10, near => 1, tables => 0',
  'capacity => 10, near => 1, tables => -1', 'capacity => 10, near => 1, tables => 256', 'capacity => 10, near => 1, tables => 2147483647', 'capacity => 10, near => 1, hashes => 0',
  'capacity => 10, near => 1, hashes => -1', 'capacity => 10, near => 1, hashes => 65', 'capacity => 10, near => 1, tables => 4, bits => 0', 'capacity => 10, near => 1, tables => 4, bits => -1',
  'capacity => 10, near => 1, tables => 4, bits => 3', 'capacity => 10, near => 1, bits => 9223372036854775807', 'capacity => 10, near => 1, verify_bits => -1', 'capacity => 10, near => 1, verify_bits => 1',
  'capacity => 10, near => 1, verify_bits => 63', 'capacity => 10, near => 1, verify_bits => 9223372036854775807', 'capacity => 10, near => 1, bloom_hashes => 0', 'capacity => 10, near => 1, bloom_hashes => 33',
  'capacity => 10, near => 1, verify_bits => 0, bloom_hashes => 3', 'capacity => 10, near => 1, overflow => -1', 'capacity => 10, near => 1, overflow => 17',
  'capacity => 10, near => 1, overflow => 0, robust => true', 'capacity => 10, near => 1, verify_bits => 0, robust => true', 'capacity => 10, near => 1, metric => ''''', 'capacity => 10, near => 1, metric => ''L3''',
  'capacity => 10, near => 1, metric => NULL', 'capacity => 10, near => 1, alphabet => ''bits''', 'capacity => 10, near => 1, alphabet => ''symbols''', 'capacity => 10, near => 0.1, metric => ''hamming'', alphabet => ''''',
  'capacity => 10, near => 1, metric => ''hamming''', 'capacity => 10, near => 2, metric => ''cosine''', 'capacity => 10, near => 1.5, metric => ''cosine''', 'capacity => 10, near => 0.1, metric => ''cosine'', far => 2.1',
  'capacity => 10, near => 0.1, metric => ''jaccard'', dims => 3', 'capacity => 10, near => 0.1, metric => ''jaccard'', width => 3', 'capacity => 1000000000000, near => 1', 'capacity => 10, near => 1, dims => 1048576, tables => 255',
  'capacity => 10, near => 1, votes => 3', 'capacity => 10, near => 1, nonsense => 3', 'capacity => 1e3, near => 1']) AS a;
SELECT a, expect_error('SELECT ilbf_new(' || a || ')') FROM unnest(ARRAY['', 'capacity => 10', 'near => 1', 'capacity => 10, width => 1', 'capacity => 10, near => 0', 'capacity => 10, near => 1, blooms => 0',
  'capacity => 10, near => 1, blooms => 1', 'capacity => 10, near => 1, blooms => -1', 'capacity => 10, near => 1, blooms => 4294967296', 'capacity => 10, near => 1, slots => 0', 'capacity => 10, near => 1, slots => 7',
  'capacity => 10, near => 1, slots => 12', 'capacity => 10, near => 1, slots => 65', 'capacity => 10, near => 1, slots => 4097', 'capacity => 10, near => 1, slots => 8, bloom_hashes => 9',
  'capacity => 10, near => 1, bloom_hashes => 0', 'capacity => 10, near => 1, bloom_hashes => 33', 'capacity => 10, near => 1, votes => 0', 'capacity => 10, near => 1, votes => 17', 'capacity => 10, near => 1, tables => 8, votes => 9',
  'capacity => 10, near => 1, tables => 256', 'capacity => 10, near => 1, metric => ''cosine''', 'capacity => 10, near => 0.1, metric => ''hamming''', 'capacity => 10, near => 0.1, metric => ''jaccard''',
  'capacity => 1000000000000, near => 1', 'capacity => 1000000000, near => 1', 'capacity => 10, near => 1, hashes => 2']) AS a;
SELECT a, expect_error('SELECT dsbf_new(' || a || ')') FROM unnest(ARRAY['capacity => 10, near => 1, metric => ''l2'', far => 1.0001', 'capacity => 10, near => 1, metric => ''l2'', votes => 1000', 'capacity => 10, near => 0.1, metric => ''jaccard'', dims => 1',
  'capacity => 10, near => 0.1, metric => ''jaccard'', alphabet => ''symbols''', 'capacity => 10, near => 0.1, verify_bits => 3', 'capacity => 10, near => 0.1, bloom_hashes => 3']) AS a;
