-- needs vector
-- Distances mean what pgvector's operators mean: <-> is l2, <+> is l1, <=> is cosine (1 - cos).
CREATE EXTENSION vector;
CREATE EXTENSION pg_lsbf_vector;
CREATE FUNCTION distance(metric text, x vector, y vector) RETURNS float8 IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE metric WHEN 'l2' THEN x <-> y WHEN 'l1' THEN x <+> y WHEN 'cosine' THEN x <=> y END
$$;
CREATE FUNCTION wide_reals(name text) RETURNS real[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg((100 * x)::real ORDER BY i) FROM unnest(random_reals(name, 32)) WITH ORDINALITY AS u (x, i)
$$;
CREATE TABLE v AS SELECT i, wide_reals('v' || i) AS a FROM generate_series(1, 100) i;

-- Queries of one filter share its random functions and are therefore not independent: every rate is averaged over 30 filters with
-- different seeds, and its tolerance follows from the variance between these.
CREATE TABLE f AS SELECT kind || ' ' || metric AS name, metric, near, far, seed, lsbf_agg(a::vector, p) AS f
  FROM v, (VALUES ('l2', 0.5, 2), ('l1', 2, 8), ('cosine', 0.01, 0.3)) AS m (metric, near, far), generate_series(1, 30) AS seed,
    LATERAL (VALUES ('dsbf', dsbf_new(metric => metric, capacity => 100, near => near, far => far, seed => seed)),
      ('lsbf', lsbf_new(metric => metric, capacity => 100, near => near, far => far, seed => seed)),
      ('ilbf', CASE WHEN metric <> 'cosine' THEN ilbf_new(metric => metric, capacity => 100, near => near, far => far, seed => seed) END)) AS p (kind, p)
  WHERE p IS NOT NULL GROUP BY kind, metric, near, far, seed;
CREATE FUNCTION report(name text, rates float8[], predicted float8[], trials bigint, at_most boolean DEFAULT false) RETURNS text LANGUAGE sql AS $$
  SELECT name || CASE WHEN off <= 4 * sd OR at_most AND rate < p THEN ': ok'
    ELSE format(': FAILED, rate %s, predicted %s, 4 standard deviations are %s', round(rate::numeric, 5), round(p::numeric, 5), round(4 * sd::numeric, 5)) END
  FROM (SELECT avg(rate) AS rate, avg(p) AS p, abs(avg(rate - p)) AS off, sqrt(var_samp(rate - p) / count(*) + avg(p * (1 - p)) / trials) AS sd
        FROM unnest(rates, predicted) AS u (rate, p)) s
$$;

-- One query for every member, at 0.5, 1 and 1.5 times near from it as measured by pgvector.
CREATE TABLE q AS SELECT metric, near, times, i, a::vector AS member, at_distance(a, metric, near * times, metric || times || ' ' || i)::vector AS q
  FROM v, (SELECT DISTINCT metric, near FROM f) m, unnest(ARRAY[0.5, 1, 1.5]) AS times;
SELECT metric, max(abs(distance(metric, member, q) / (near * times) - 1)) < 1e-3 AS at_that_distance FROM q GROUP BY metric ORDER BY metric;

-- They are found at the rate that the filter predicts for that distance.
CREATE TABLE found AS SELECT name, seed, times, avg(approx_member(f, q)::int) AS rate, count(*) AS trials
  FROM f JOIN q USING (metric, near) GROUP BY name, seed, times;
SELECT report(name || ' at ' || times || ' x near', array_agg(rate), array_agg(1 - lsbf_fnr(f, near * times)), sum(trials)::bigint)
  FROM found JOIN f USING (name, seed) GROUP BY name, times ORDER BY name, times;

-- Queries farther than `far` from every member, as measured by pgvector, pass at most as often as predicted.
CREATE TABLE s AS SELECT wide_reals('s' || i)::vector AS s FROM generate_series(1, 100) i;
CREATE TABLE unrelated AS SELECT metric, far, s, min(distance(metric, s, a::vector)) AS nearest
  FROM s, v, (SELECT DISTINCT metric, far FROM f) m GROUP BY metric, far, s;
SELECT metric, count(*) FILTER (WHERE nearest > far) AS far_away FROM unrelated GROUP BY metric ORDER BY metric;
CREATE TABLE passed AS SELECT name, seed, avg(approx_member(f, s)::int) AS rate, count(*) AS trials
  FROM f JOIN unrelated USING (metric, far) WHERE nearest > far GROUP BY name, seed;
SELECT report(name || ' false positives', array_agg(rate), array_agg(lsbf_fpr(f)), sum(trials)::bigint, at_most => true)
  FROM passed JOIN f USING (name, seed) GROUP BY name ORDER BY name;

-- The estimated distance is close to pgvector's.
SELECT times, avg((d IS NULL)::int) < 0.05 AS known, avg(d) / avg(exact) BETWEEN 0.7 AND 1.4 AS about_right
  FROM (SELECT times, approx_distance(f, q) AS d, q <-> member AS exact FROM q, f WHERE name = 'ilbf l2' AND q.metric = 'l2' AND seed = 1) s
  GROUP BY times ORDER BY times;
