-- Helpers available to every SQL test.

-- The error that a statement raises, as 'SQLSTATE: message' with detail and hint in brackets; else 'no error'.
CREATE FUNCTION expect_error(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  state text;
  message text;
  detail text;
  hint text;
BEGIN
  BEGIN
    EXECUTE statement;
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
      detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN state || ': ' || message
      || CASE WHEN detail <> '' THEN ' [detail: ' || detail || ']' ELSE '' END
      || CASE WHEN hint <> '' THEN ' [hint: ' || hint || ']' ELSE '' END;
  END;
  RETURN 'no error';
END
$$;

-- Pseudorandom bits, the same in every run and on every server.
CREATE FUNCTION random_bits(name text, bits int) RETURNS varbit IMMUTABLE LANGUAGE sql AS $$
  SELECT substring(('x' || string_agg(md5(name || ' ' || i), '' ORDER BY i))::varbit FROM 1 FOR bits)
  FROM generate_series(0, (bits - 1) / 128) AS i
$$;

-- The same bits with exactly `flips` of them changed, at pseudorandom positions that depend on the name.
CREATE FUNCTION flip_bits(vector varbit, flips int, name text DEFAULT '') RETURNS varbit IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  original varbit := vector;
  place int;
  draw int := 0;
BEGIN
  WHILE flips > 0 LOOP
    place := ('x' || left(md5(name || ' ' || draw), 7))::bit(28)::int % length(vector);
    draw := draw + 1;
    IF get_bit(vector, place) = get_bit(original, place) THEN
      vector := set_bit(vector, place, 1 - get_bit(vector, place));
      flips := flips - 1;
    END IF;
  END LOOP;
  RETURN vector;
END
$$;
