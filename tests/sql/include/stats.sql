-- Assertions on rates, with a tolerance in standard deviations of the binomial distribution. With the default of 4, a correct
-- rate fails once in 16,000 independent tests; the seeds are fixed, so that a test that passes keeps passing.

CREATE FUNCTION rate_report(name text, hits bigint, trials bigint, expected float8, sds float8, distance float8)
RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN distance <= sds * sqrt(expected * (1 - expected) / trials) THEN name || ': ok'
    ELSE format('%s: FAILED, %s of %s is a rate of %s, expected %s, allowed distance %s (%s standard deviations)',
      name, hits, trials, round(hits::numeric / trials, 6), expected,
      round((sds * sqrt(expected * (1 - expected) / trials))::numeric, 6), sds) END
$$;

-- Asserts that the rate is the expected one.
CREATE FUNCTION assert_rate(name text, hits bigint, trials bigint, expected float8, sds float8 DEFAULT 4)
RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT rate_report(name, hits, trials, expected, sds, abs(hits::float8 / trials - expected))
$$;

-- Asserts that the rate is at most the given one.
CREATE FUNCTION assert_rate_at_most(name text, hits bigint, trials bigint, most float8, sds float8 DEFAULT 4)
RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT rate_report(name, hits, trials, most, sds, hits::float8 / trials - most)
$$;
