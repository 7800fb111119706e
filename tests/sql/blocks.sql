-- Filters for hamming with keys of blocks: chosen without misses, with any theta up to a largest one, from every type.
\set SHOW_CONTEXT never
CREATE TABLE images AS SELECT id, random_bits('image ' || id, 64)::bit(64) AS hash FROM generate_series(1, 2000) id;
ANALYZE images;
CREATE FUNCTION flipped(hash bit, n integer, name text) RETURNS bit(64) IMMUTABLE LANGUAGE sql AS $$ SELECT flip_bits(hash::varbit, n, name)::bit(64) $$;

-- no misses: 3 of 64 bits
CREATE TABLE filters AS SELECT lsbf_agg(hash, p) AS f FROM images, (SELECT prototype AS p FROM lsbf_design_for('images', 'hash', near => 3 / 64.0, fnr => 0) LIMIT 1) c;
SELECT family, fnr, fpr < 0.1 AS fpr, unrelated < 0.02 AS unrelated, tables % blocks = 0 OR hashes > 1 AS partitions, probes, bytes_per_member < 60 AS bytes
FROM lsbf_design_for('images', 'hash', near => 3 / 64.0, fnr => 0) LIMIT 1;
SELECT count(*) AS strings, count(*) FILTER (WHERE NOT approx_member(f, flipped(hash, 1 + n % 3, 'q' || n))) AS missed FROM images, filters, generate_series(1, 10) n;
SELECT count(*) FILTER (WHERE approx_member(f, random_bits('other ' || n, 64)::bit(64))) < 40 AS few_pass FROM filters, generate_series(1, 2000) n;
SELECT bits, lsbf_fnr(f, bits / 64.0) = 0 AS never FROM filters, generate_series(0, 4) bits;
SELECT lsbf_fnr(f, 3 / 64.0), (lsbf_info(f)).fnr, substring(lsbf_explain(f) FROM 'is never missed') FROM filters;
-- the same members from other types
SELECT bool_and(approx_member(f, hash::varbit)), bool_and(approx_member(f, decode(lpad(to_hex(hash::bigint), 16, '0'), 'hex'))), bool_and(approx_member(f, hash::text)) FROM images, filters;
-- theta
SELECT (lsbf_info(f)).max_theta BETWEEN 1 AND 3 AS largest, expect_error('SELECT approx_member(f, (SELECT hash FROM images LIMIT 1), 5) FROM filters') AS error FROM filters;
SELECT count(*) FILTER (WHERE NOT approx_member(f, flipped(hash, floor(3 * theta + 1e-9)::integer, 'q'), theta)) AS missed FROM images, filters, LATERAL (SELECT (lsbf_info(f)).max_theta AS theta) t;
SELECT expect_error('SELECT lsbf_fpr(f, 5) FROM filters') AS error;

-- strings over an alphabet
SELECT family, fnr, blocks > 2 AS blocks FROM lsbf_design('hamming', 2 / 32.0, 1000, dims => 32, alphabet => 'symbols', fnr => 0) LIMIT 1;
SELECT count(*) FILTER (WHERE NOT approx_member(f, overlay(overlay(t PLACING '*' FROM id % 32 + 1) PLACING 'é' FROM 7 * id % 32 + 1))) AS missed,
  count(*) FILTER (WHERE approx_member(f, md5('other ' || id))) < 20 AS few_pass
FROM (SELECT id, md5(id::text) AS t FROM generate_series(1, 1000) id) t,
  (SELECT lsbf_agg(md5(id::text), (SELECT prototype FROM lsbf_design('hamming', 2 / 32.0, 1000, dims => 32, alphabet => 'symbols', fnr => 0) LIMIT 1)) AS f FROM generate_series(1, 1000) id) f;

-- by hand, merged, and as text; equal however they were made
CREATE TABLE p AS SELECT lsbf_new(metric => 'hamming', match => 'any', dims => 64, capacity => 2000, near => 3 / 64.0, blocks => 5, hashes => 2, tables => 10, votes => 1) AS p;
SELECT (lsbf_info(p)).tables, (lsbf_info(p)).hashes, (lsbf_info(p)).blocks, (lsbf_info(p)).votes, (lsbf_info(p)).family FROM p;
SELECT lsbf_agg(hash, p) = (SELECT lsbf_union_agg(f) FROM (SELECT lsbf_agg(hash, p) AS f FROM images, p GROUP BY id % 7) s) AS merged,
  lsbf_agg(hash, p)::text::lsbf = lsbf_agg(hash, p) AS text, lsbf_agg(hash, p)::bytea::lsbf = lsbf_agg(hash, p) AS bytea FROM images, p GROUP BY p;
SELECT expect_error('SELECT p | lsbf_new(metric => ''hamming'', match => ''any'', dims => 64, capacity => 2000, near => 3 / 64.0, blocks => 6, hashes => 2, tables => 15, votes => 1) FROM p') AS error;
SELECT expect_error('SELECT p | lsbf_new(metric => ''hamming'', match => ''any'', alphabet => ''symbols'', dims => 64, capacity => 2000, near => 3 / 64.0, blocks => 5, hashes => 2, tables => 10, votes => 1) FROM p') AS error;
SELECT expect_error('SELECT lsbf_add(p, B''01'') FROM p') AS error;
-- duplicates in one pass
SELECT count(*) AS seen FROM (SELECT lsbf_seen(hash, p) OVER (ORDER BY id) AS seen FROM (SELECT id, hash FROM images UNION ALL SELECT id + 2000, flipped(hash, 3, 'copy') FROM images WHERE id <= 100) i, p) s WHERE seen;

-- bad input
SELECT * FROM unnest(ARRAY['''hamming'', 0.1, 10, fnr => 0', '''hamming'', 255 / 1000.0, 10, dims => 1000, fnr => 0', '''jaccard'', 0.1, 10, fnr => 0', '''l2'', 0.1, 10, fnr => 0', '''hamming'', 0.1, 10, fnr => -1', '''hamming'', 0.1, 10, dims => 64, fpr => 0']) a,
  LATERAL (SELECT expect_error(format('SELECT lsbf_design(%s)', a)) AS error) e;
