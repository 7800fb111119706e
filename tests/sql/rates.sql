-- The measured rates of a filter are the predicted ones, within 4 standard deviations (include/stats.sql).
CREATE TABLE v AS SELECT i, random_bits('v' || i, 1024)::bit(1024) AS b FROM generate_series(1, 2000) i;
CREATE TABLE f AS SELECT lsbf_agg(b, dsbf_new(dims => 1024, capacity => 2000, near => 0.05, far => 0.4)) AS f FROM v;

-- False negatives below, at and above near (51 of 1,024 bits).
CREATE TABLE missed AS SELECT flips, count(*) AS trials,
    count(*) FILTER (WHERE NOT approx_member(f, flip_bits(b, flips, flips || ' ' || i))) AS hits
  FROM f, v, unnest(ARRAY[25, 51, 77]) AS flips GROUP BY flips;
SELECT assert_rate('false negatives with ' || flips || ' bits flipped', hits, trials, lsbf_fnr(f, flips / 1024.0)) FROM missed, f ORDER BY flips;

-- The default number of tables keeps both predicted rates at 1 % or less.
SELECT lsbf_fnr(f, 0.05) <= 0.01 AS fnr, lsbf_fpr(f) <= 0.01 AS fpr FROM f;
CREATE TABLE passed AS SELECT count(*) AS trials, count(*) FILTER (WHERE approx_member(f, random_bits('far' || i, 1024))) AS hits
  FROM f, generate_series(1, 10000) i;
SELECT assert_rate_at_most('unrelated vectors that pass', hits, trials, 0.01) FROM passed, f;

SELECT lsbf_fnr(f, 0) = 0 AS members_are_found FROM f;
-- The estimate of distinct members has a standard error of 3.3 %.
SELECT abs(lsbf_members(f) - 2000) <= 4 * 0.033 * 2000 AS members FROM f;
