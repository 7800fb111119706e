-- Text, binary and bytea: output is accepted as input, and invalid input is refused.
CREATE TABLE f AS SELECT 'empty' AS n, dsbf_new(dims => 64, capacity => 4, near => 0.05, far => 0.5) AS f
  UNION ALL SELECT 'members', lsbf_agg(random_bits('v' || i, 64), dsbf_new(dims => 64, capacity => 4, near => 0.05, far => 0.5))
  FROM generate_series(1, 4) i;
SELECT n, f::text::lsbf = f AS text, f::bytea::lsbf = f AS bytea, lsbf_send(f) = f::bytea AS send, f::text !~ '[^A-Za-z0-9+/=]' AS base64 FROM f;
-- An empty filter is small.
SELECT n, length(f::bytea) < 200 AS small FROM f;
-- White space around text is ignored.
SELECT (' ' || f::text || E'\n')::lsbf = f AS trimmed FROM f WHERE n = 'empty';

CREATE FUNCTION from_text(t text) RETURNS text LANGUAGE sql AS $$ SELECT expect_error(format('SELECT %L::lsbf', t)) $$;
CREATE FUNCTION from_bytea(b bytea) RETURNS text LANGUAGE sql AS $$ SELECT expect_error(format('SELECT %L::bytea::lsbf', b)) $$;

SELECT t, from_text(t) FROM unnest(ARRAY['', ' ', '!', 'hello', 'AAAA', 'TFNCRg==', 'TFNCRg', 'TFNC Rg==', 'żółw']) AS t;
SELECT from_text(left(f::text, -4)), from_text(f::text || 'AAAA') FROM f WHERE n = 'empty';

-- Every wrong length.
SELECT count(*) AS lengths, count(*) FILTER (WHERE e LIKE '22P03: not a valid filter: %') AS refused
  FROM f, LATERAL (SELECT from_bytea(substring(f::bytea FROM 1 FOR l)) AS e FROM generate_series(0, length(f::bytea) - 1) l) s;
SELECT from_bytea(f::bytea || '\x00') AS one_more, from_bytea(f::bytea || '\x0000000000000000') AS eight_more FROM f WHERE n = 'members';

-- Every byte of the header changed in three ways: refused, or a valid filter that is output unchanged.
CREATE FUNCTION round_trip(b bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF b::lsbf::bytea = b THEN RETURN 'valid'; END IF;
  RETURN 'changed';
EXCEPTION WHEN invalid_binary_representation THEN RETURN 'refused';
  WHEN OTHERS THEN RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT n, outcome, count(*) > 0 AS some FROM f,
  LATERAL (SELECT round_trip(set_byte(f::bytea, i, get_byte(f::bytea, i) # x)) AS outcome
    FROM generate_series(0, least(length(f::bytea), 1200) - 1) i, unnest(ARRAY[1, 128, 255]) x) s
  GROUP BY n, outcome ORDER BY n, outcome;
-- Each field of the header overwritten.
SELECT field, from_bytea(set_byte(f::bytea, at, 255)) FROM f, (VALUES
  ('magic', 0), ('version', 4), ('flags', 5), ('reserved', 6), ('length of the parameters', 8),
  ('length of the parameters, high byte', 11), ('dims', 15), ('reserved', 16), ('bits set', 20), ('load', 28),
  ('first parameter', 36)) t(field, at)
  WHERE n = 'members';

-- A filter can be a column, a constant, a key of a hash join and of GROUP BY.
CREATE TABLE stored (k int PRIMARY KEY, f lsbf NOT NULL);
INSERT INTO stored SELECT row_number() OVER (ORDER BY n), f FROM f;
SELECT count(*) FROM stored s JOIN f ON s.f = f.f;
SELECT count(*) FROM (SELECT f FROM stored UNION SELECT f FROM f) s;
