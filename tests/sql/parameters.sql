-- dsbf_new: derived parameters, and invalid ones.
SELECT i.* FROM dsbf_new(dims => 1024, capacity => 1000, near => 0.05, far => 0.2, tables => 20, seed => 7) f, lsbf_info(f) i \gx
-- Section 3 of the paper: l' = ceil(log_{(1-near)/(1-far)} 4n), 2^l' positions per table if that is small.
SELECT n, e, d, hashes, hashes = ceil(ln(4 * n) / ln((1 - e) / (1 - d))) AS as_in_the_paper
  FROM (VALUES (1000, 0.05, 0.4), (1000, 0.05, 0.2), (10000, 0.025, 0.2), (10, 0.1, 0.5)) t(n, e, d),
  LATERAL lsbf_info(dsbf_new(dims => 1024, capacity => n, near => e, far => d, tables => 8)) i;
-- Named, positional and omitted arguments.
SELECT dsbf_new(8, 10, 0.1, 0.5) = dsbf_new(dims => 8, capacity => 10, near => 0.1, far => 0.5, seed => 0, metric => 'Hamming') AS same;
SELECT (lsbf_info(dsbf_new(capacity => 10, near => 0.1))).far;

SELECT a, expect_error('SELECT dsbf_new(' || a || ')') FROM unnest(ARRAY[
  '',
  'capacity => 10',
  'near => 0.1',
  'capacity => 0, near => 0.1',
  'capacity => -5, near => 0.1',
  'capacity => 9223372036854775807, near => 0.1',
  'capacity => 10, near => 0',
  'capacity => 10, near => -0.1',
  'capacity => 10, near => 1',
  'capacity => 10, near => ''NaN''',
  'capacity => 10, near => ''Infinity''',
  'capacity => 10, near => 0.2, far => 0.2',
  'capacity => 10, near => 0.3, far => 0.2',
  'capacity => 10, near => 0.1, far => 1.1',
  'capacity => 10, near => 0.1, far => ''NaN''',
  'capacity => 10, near => 0.1, far => 0.1000001',
  'capacity => 10, near => 0.1, tables => 0',
  'capacity => 10, near => 0.1, tables => -1',
  'capacity => 10, near => 0.1, tables => 1000000',
  'capacity => 10, near => 0.1, tables => 4, votes => 5',
  'capacity => 10, near => 0.1, votes => 0',
  'capacity => 10, near => 0.1, hashes => 0',
  'capacity => 10, near => 0.1, hashes => 65',
  'capacity => 10, near => 0.1, tables => 4, bits => 0',
  'capacity => 10, near => 0.1, tables => 4, bits => 9223372036854775807',
  'capacity => 10, near => 0.1, width => 1',
  'capacity => 10, near => 0.1, dims => 0',
  'capacity => 10, near => 0.1, dims => -1',
  'capacity => 10, near => 0.1, dims => 2147483647',
  'capacity => 10, near => 0.1, metric => ''euclid''',
  'capacity => 10, near => 0.1, metric => NULL',
  'capacity => 10, near => 0.1, alphabet => ''greek'''
]) AS a;

-- Sizes over the limit are detected before anything is allocated.
SELECT expect_error('SELECT dsbf_new(dims => 1024, capacity => 1000000000000, near => 0.05, far => 0.4, tables => 8)');
SELECT expect_error('SELECT dsbf_new(dims => 1024, capacity => 100, near => 0.05, far => 0.4, tables => 8, bits => 8589934592)');
