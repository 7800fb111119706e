-- lsbf_explain and lsbf_curve
CREATE TABLE rows AS SELECT id, ARRAY(SELECT cos(id * j ^ 1.5)::real FROM generate_series(1, 32) j) AS v FROM generate_series(1, 2000) id;
SELECT lsbf_explain(dsbf_new(metric => 'hamming', capacity => 1000, near => 0.1));
SELECT name, lsbf_explain(f) FROM (
  SELECT 'dsbf', lsbf_agg(v, dsbf_new(metric => 'l2', dims => 32, capacity => 2000, near => 0.1)) FROM rows
  UNION ALL SELECT 'lsbf', lsbf_agg(v, lsbf_new(metric => 'l2', dims => 32, capacity => 4000, near => 0.1, far => 8)) FROM rows
  UNION ALL SELECT 'any', lsbf_agg(v, lsbf_new(metric => 'l1', match => 'any', dims => 32, capacity => 1000, near => 0.5, tables => 6, votes => 5, hashes => 4, width => 8, probes => 20, bits => 96000, bloom_hashes => 9)) FROM rows
  UNION ALL SELECT 'lsqf', lsbf_agg(v, lsqf_new(dims => 32, near => 0.5)) FROM rows
  UNION ALL SELECT 'sets', lsbf_agg(ARRAY[id, id + 1, id + 2], lsbf_new(metric => 'jaccard', match => 'any', capacity => 2000, near => 0.2, tables => 20, votes => 5, hashes => 4, bits => 600000, bloom_hashes => 8)) FROM rows
) t (name, f) ORDER BY name;
SELECT lsbf_explain(NULL);

-- the curve is 1 - lsbf_fnr, and never increases with the distance
CREATE TABLE f AS SELECT lsbf_agg(v, (SELECT prototype FROM lsbf_design('l2', 0.5, 2000, dims => 32, max_theta => 2) LIMIT 1)) AS f FROM rows;
SELECT count(*), min(distance), max(distance), max(passed) = 1 AS members_pass, min(passed) < 0.05 AS unrelated_do_not,
  bool_and(abs(passed - 1 + lsbf_fnr(f, distance)) < 1e-12) AS matches_lsbf_fnr, bool_and(passed <= before) AS falls
FROM (SELECT f, c.*, lag(passed, 1, 1) OVER (ORDER BY distance) AS before FROM f, lsbf_curve(f) c) t;
SELECT count(*), max(distance) FROM f, lsbf_curve(f, 1, 0.25, 5) c;
SELECT bool_and(wide.passed >= narrow.passed) AS more_pass FROM f, lsbf_curve(f, 1, 2, 20) narrow JOIN LATERAL lsbf_curve(f, 1.3, 2, 20) wide USING (distance);
SELECT max(distance) FROM lsbf_curve((SELECT lsbf_agg(id::bit(64), dsbf_new(capacity => 100, near => 0.3)) FROM rows WHERE id < 9));
SELECT count(*) FROM lsbf_curve(NULL);
SELECT (SELECT count(*) FROM lsbf_curve(f, NULL)) AS theta, (SELECT count(*) FROM lsbf_curve(f, points => NULL)) AS points FROM f;
\set VERBOSITY sqlstate
SELECT * FROM f, lsbf_curve(f, 1, -1);
SELECT * FROM f, lsbf_curve(f, 1, 'NaN');
SELECT * FROM f, lsbf_curve(f, 1, 'Infinity');
SELECT * FROM f, lsbf_curve(f, 0);
SELECT * FROM f, lsbf_curve(f, 1, 1, 0);
SELECT * FROM f, lsbf_curve(f, 1, 1, 2000000000);
