-- Input over a limit is refused before memory is allocated or time is spent.
SET statement_timeout = '20s';
SELECT expect_error(format('SELECT approx_member(dsbf_new(metric => %L, capacity => 10, near => 0.1), %s)', metric, vector)) FROM (VALUES
  ('l2', $$'[' || repeat('1,', 20000000) || '1]'$$),
  ('l2', $$'[' || repeat('1', 40000000) || ']'$$),
  ('hamming', $$repeat('1', 2000000)$$),
  ('jaccard', $$'{' || repeat('1,', 2000000) || '1}'$$)) AS t(metric, vector);
SELECT expect_error('SELECT lsbf_add(dsbf_new(metric => ''jaccard'', capacity => 10, near => 0.1, tables => 255, hashes => 64), array_agg(i)) FROM generate_series(1, 10000) i');
SELECT expect_error('SELECT dsbf_new(metric => ''l1'', capacity => 10, near => 0.1, dims => 1048576, tables => 17, hashes => 1)');
-- If a constructor is not a constant, parameters are still derived once, not for every row.
CREATE TABLE g AS SELECT ARRAY[i, i * 2, i * 3]::real[] AS v FROM generate_series(1, 20000) i;
SELECT lsbf_agg(v, lsbf_new(capacity => (SELECT count(*) FROM g), near => 0.3)) = lsbf_agg(v, lsbf_new(capacity => 20000, near => 0.3)) AS same FROM g;
