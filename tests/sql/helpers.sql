-- Tests of the helpers: one that never fails would make every test pass.
SELECT expect_error('SELECT 1');
SELECT expect_error('SELECT 1/0');
SELECT expect_error('SELECT ''x''::int');
SELECT expect_error($$DO 'BEGIN RAISE EXCEPTION ''m'' USING ERRCODE = ''54000'', DETAIL = ''d'', HINT = ''h''; END'$$);

SELECT length(random_bits('a', 1)), length(random_bits('a', 128)), length(random_bits('a', 1000));
SELECT random_bits('a', 40), random_bits('b', 40);
SELECT flips, bit_count(v # flip_bits(v, flips, 'n')) AS changed
  FROM (SELECT random_bits('a', 100) AS v) s, unnest(ARRAY[0, 1, 7, 50, 100]) AS flips;

SELECT assert_rate('fair coin', 505, 1000, 0.5);
SELECT assert_rate('loaded coin', 600, 1000, 0.5);
SELECT assert_rate('never', 0, 1000, 0);
SELECT assert_rate('once', 1, 1000, 0);
SELECT assert_rate_at_most('far below', 10, 1000, 0.5);
SELECT assert_rate_at_most('above', 600, 1000, 0.5);
