-- approx_member and approx_votes on bits.
CREATE TABLE v AS SELECT i, random_bits('v' || i, 512)::bit(512) AS b FROM generate_series(1, 500) i;
CREATE TABLE f AS SELECT lsbf_agg(b, dsbf_new(dims => 512, capacity => 500, near => 0.02, far => 0.4)) AS f FROM v;

-- A member is always found, at every theta >= 1.
SELECT theta, count(*) FILTER (WHERE approx_member(f, b, theta)) AS found
  FROM f, v, unnest(ARRAY[1, 1.5, 2, 10, 1000]) AS theta GROUP BY theta ORDER BY theta;

-- The same bits as bit, bit varying and bytea are the same vector.
SELECT bool_and(approx_member(f, b::varbit)) AS varbit, bool_and(approx_votes(f, b::varbit) = approx_votes(f, b)) AS votes
  FROM f, v;
SELECT approx_votes(f, v.b) = approx_votes(f, decode(x, 'hex')) AS same
  FROM f, v, LATERAL (SELECT string_agg(lpad(to_hex(substring(b FROM n FOR 32)::bit(32)::bigint), 8, '0'), '' ORDER BY n) AS x
                      FROM generate_series(1, 512, 32) n) s WHERE i = 7;

-- Every member gets all votes, and the number of votes decides.
SELECT min(approx_votes(f, b)) = (SELECT tables FROM f, lsbf_info(f)) AS all_tables FROM f, v;
SELECT bool_and(approx_member(f, q) = (approx_votes(f, q) >= (lsbf_info(f)).votes)) AS votes_decide
  FROM f, v, LATERAL (SELECT flip_bits(b, i % 60, i::text) AS q) s;

-- Growing theta never turns true into false.
SELECT count(*) AS broken FROM (
  SELECT approx_member(f, q, theta) AS now, lag(approx_member(f, q, theta)) OVER (PARTITION BY i ORDER BY theta) AS before
  FROM f, v, unnest(ARRAY[0.1, 0.5, 1, 1.2, 1.5, 2, 3, 4, 6, 8, 10]) AS theta,
    LATERAL (SELECT flip_bits(b, i % 60, i::text) AS q) s) t
  WHERE before AND NOT now;

-- NULL in, NULL out.
SELECT approx_member(NULL, B'01'), approx_member(f, NULL::bit), approx_member(f, b, NULL), approx_votes(f, NULL::varbit)
  FROM f, v WHERE i = 1;

-- An empty filter has no members.
SELECT approx_member(e, B'0101'), approx_votes(e, B'0101') FROM dsbf_new(dims => 4, capacity => 10, near => 0.1, far => 0.5) e;

-- theta out of range, vectors of the wrong length or type.
SELECT theta, expect_error(format('SELECT approx_member(f, b, %L) FROM f, v', theta))
  FROM unnest(ARRAY['0', '-1', 'NaN', 'Infinity', '1e7']) AS theta;
SELECT expect_error('SELECT approx_member(f, B''0101'') FROM f');
SELECT expect_error('SELECT approx_member(f, random_bits(''a'', 513)) FROM f');
SELECT expect_error('SELECT approx_member(f, ''''::varbit) FROM f');
SELECT expect_error('SELECT approx_member(f, ''\x00''::bytea) FROM f');
SELECT expect_error('SELECT approx_member(f, ARRAY[1, 2]::real[]) FROM f');
SELECT expect_error('SELECT approx_votes(f, B''0101'') FROM f');
