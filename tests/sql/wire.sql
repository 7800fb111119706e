-- The binary and text formats are the same on every server: filters with all parameters given, byte for byte, and the golden files.
CREATE TABLE v AS SELECT i, ARRAY[i * 37 % 101, i * 73 % 103, i * 91 % 107, i * 29 % 109]::real[] AS r, random_bits('v' || i, 128) AS b,
  ARRAY[i, i + 1, i + 2, i * 7] AS s FROM generate_series(1, 50) i;
CREATE TABLE f (name text, f lsbf);
INSERT INTO f SELECT 'dsbf hamming', lsbf_agg(b, dsbf_new(dims => 128, capacity => 50, near => 0.05, far => 0.4, tables => 8, hashes => 12, bits => 4096, votes => 3, seed => 5)) FROM v;
INSERT INTO f SELECT 'dsbf l2', lsbf_agg(r, dsbf_new(metric => 'l2', dims => 4, capacity => 50, near => 1, far => 8, tables => 8, hashes => 4, width => 8, bits => 4096, votes => 3, transform => 'dense')) FROM v;
INSERT INTO f SELECT 'dsbf jaccard', lsbf_agg(s, dsbf_new(metric => 'jaccard', capacity => 50, near => 0.2, far => 0.7, tables => 8, hashes => 3, bits => 4096, votes => 3)) FROM v;
INSERT INTO f SELECT 'lsbf l2', lsbf_agg(r, lsbf_new(dims => 4, capacity => 50, near => 1, far => 20, tables => 4, hashes => 4, width => 45, bits => 1024, verify_bits => 640, bloom_hashes => 8, overflow => 1, robust => true, transform => 'dense')) FROM v;
INSERT INTO f SELECT 'lsbf l1', lsbf_agg(r, lsbf_new(metric => 'l1', dims => 4, capacity => 50, near => 1, far => 20, tables => 4, hashes => 4, width => 90, bits => 1024, verify_bits => 640, bloom_hashes => 8, overflow => 1, robust => true)) FROM v;
INSERT INTO f SELECT 'lsbf any', lsbf_agg(r, lsbf_new(metric => 'l1', match => 'any', dims => 4, capacity => 50, near => 1, far => 20, tables => 4, hashes => 3, width => 30, probes => 5, votes => 2, bits => 4096, bloom_hashes => 6)) FROM v;
INSERT INTO f SELECT 'lsqf cosine', lsbf_agg(r, lsqf_new(metric => 'cosine', dims => 4, near => 0.01, far => 0.2, bits => 32)) FROM v;
INSERT INTO f SELECT 'ilbf l2', lsbf_agg(r, ilbf_new(dims => 4, capacity => 50, near => 1, far => 8, tables => 16, width => 2, blooms => 800, slots => 32, bloom_hashes => 4, votes => 12, transform => 'dense')) FROM v;
SELECT name, octet_length(lsbf_send(f)) AS bytes, md5(lsbf_send(f)) AS sent, md5(f::text) AS text, f = lsbf_union_agg(f) OVER (PARTITION BY name) AS merged FROM f ORDER BY name;
-- So are the answers: the votes for members and for other vectors.
SELECT name, sum(CASE WHEN name LIKE '%hamming' THEN approx_votes(f, b) WHEN name LIKE '%jaccard' THEN approx_votes(f, s) ELSE approx_votes(f, r) END) AS members,
  sum(CASE WHEN name LIKE '%hamming' THEN approx_votes(f, ~b) WHEN name LIKE '%jaccard' THEN approx_votes(f, ARRAY[-i, i + 1, i + 2, i * 7]) ELSE approx_votes(f, ARRAY[r[2] + 0.5, r[1], r[4], r[3]]) END) AS others
  FROM f, v GROUP BY name ORDER BY name;

-- The golden files, read and written by the server; a filter with few members that is stored as words is written as a list.
\set files `cd ../../crates/lsbf/tests/golden && for file in *.txt; do echo "$file $(cat "$file")"; done`
CREATE TABLE golden AS SELECT split_part(line, ' ', 1) AS file, split_part(line, ' ', 2) AS t FROM regexp_split_to_table(:'files', E'\n') line;
SELECT file, lsbf_kind(t::lsbf) AS kind, t::lsbf::text = coalesce((SELECT l.t FROM golden l WHERE l.file = replace(g.file, 'v1_', 'v1_list_')), t) AS same,
  t::lsbf::bytea::lsbf = t::lsbf AS through_bytea FROM golden g ORDER BY file COLLATE "C";
