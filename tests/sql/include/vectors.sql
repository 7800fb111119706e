-- Pseudorandom numbers between -1 and 1, the same in every run and on every server.
CREATE FUNCTION random_reals(name text, dims int) RETURNS real[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg((('x' || left(md5(name || ' ' || i), 8))::bit(32)::int / 2147483648.0)::real ORDER BY i)
  FROM generate_series(1, dims) AS i
$$;

-- A vector at the given distance, up to rounding, in a direction that depends on the name.
CREATE FUNCTION at_distance(vector real[], metric text, distance float8, name text) RETURNS real[] IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  noise float8[] := random_reals(name, cardinality(vector));
  length float8;
  along float8;
BEGIN
  IF metric = 'cosine' THEN
    -- Rotate by the angle whose cosine is 1 - distance, towards the part of the noise that is orthogonal to the vector.
    SELECT sqrt(sum(v::float8 * v)), sum(v * n) INTO length, along FROM unnest(vector, noise) AS u (v, n);
    SELECT array_agg(n - along / length / length * v ORDER BY i), sqrt(sum((n - along / length / length * v) ^ 2)) INTO noise, along
      FROM unnest(vector, noise) WITH ORDINALITY AS u (v, n, i);
    RETURN (SELECT array_agg((v / length * (1 - distance) + n / along * sqrt(1 - (1 - distance) ^ 2))::real ORDER BY i)
      FROM unnest(vector, noise) WITH ORDINALITY AS u (v, n, i));
  END IF;
  SELECT CASE metric WHEN 'l2' THEN sqrt(sum(n * n)) WHEN 'l1' THEN sum(abs(n)) END INTO length FROM unnest(noise) AS n;
  RETURN (SELECT array_agg((v + distance / length * n)::real ORDER BY i) FROM unnest(vector, noise) WITH ORDINALITY AS u (v, n, i));
END
$$;
