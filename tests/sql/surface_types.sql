-- Every metric with every vector type: accepted, or refused with an error that names both and a hint.
CREATE TABLE prototypes AS SELECT * FROM (VALUES
  ('dsbf hamming', dsbf_new(metric => 'hamming', capacity => 10, near => 0.1)),
  ('dsbf hamming, symbols', dsbf_new(metric => 'hamming', alphabet => 'symbols', capacity => 10, near => 0.1)),
  ('dsbf l2', dsbf_new(metric => 'l2', capacity => 10, near => 0.1)),
  ('dsbf l1', dsbf_new(metric => 'l1', capacity => 10, near => 0.1)),
  ('dsbf cosine', dsbf_new(metric => 'cosine', capacity => 10, near => 0.01)),
  ('dsbf jaccard', dsbf_new(metric => 'jaccard', capacity => 10, near => 0.1)),
  ('lsbf hamming', lsbf_new(metric => 'hamming', capacity => 10, near => 0.1)),
  ('lsbf hamming, symbols', lsbf_new(metric => 'hamming', alphabet => 'symbols', capacity => 10, near => 0.1)),
  ('lsbf l2', lsbf_new(metric => 'l2', capacity => 10, near => 0.1)),
  ('lsbf l1', lsbf_new(metric => 'l1', capacity => 10, near => 0.1)),
  ('lsbf cosine', lsbf_new(metric => 'cosine', capacity => 10, near => 0.01)),
  ('lsbf jaccard', lsbf_new(metric => 'jaccard', capacity => 10, near => 0.1)),
  ('ilbf l2', ilbf_new(metric => 'l2', capacity => 10, near => 0.1)),
  ('ilbf l1', ilbf_new(metric => 'l1', capacity => 10, near => 0.1))) t(name, p);
CREATE TABLE vectors(type text, value text, nr serial);
INSERT INTO vectors VALUES ('bit', 'B''10110010'''), ('bit varying', 'B''10110010''::bit varying'), ('bytea', '''\xb2''::bytea'),
  ('real[]', 'ARRAY[1, 2, 3]::real[]'), ('double precision[]', 'ARRAY[1, 2, 3]::double precision[]'), ('numeric[]', 'ARRAY[1.0, 2, 3]'),
  ('integer[]', 'ARRAY[1, 2, 3]'), ('bigint[]', 'ARRAY[1, 2, 3]::bigint[]'), ('text[]', 'ARRAY[''1'', ''2'', ''3'']'), ('text', '''word''::text');

-- The outcome of lsbf_add, lsbf_agg, approx_member and approx_votes for a vector: one word, or the error.
CREATE FUNCTION outcome(prototype lsbf, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  added lsbf; aggregated lsbf; member boolean; votes int; hint text;
BEGIN
  EXECUTE format('SELECT lsbf_add($1, %1$s), lsbf_agg(%1$s, $1) FROM generate_series(1, 3)', value) INTO added, aggregated USING prototype;
  EXECUTE format('SELECT approx_member($1, %1$s), approx_votes($1, %1$s)', value) INTO member, votes USING added;
  RETURN CASE WHEN added = aggregated AND member AND votes > 0 AND lsbf_members(added) = 1 THEN 'accepted' ELSE 'WRONG' END;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RETURN SQLSTATE || ': ' || SQLERRM || ' [hint: ' || hint || ']';
END $$;
CREATE TABLE outcomes AS SELECT name, p, type, nr, outcome(p, value) AS outcome FROM prototypes, vectors;
SELECT name, string_agg(type, ', ' ORDER BY nr) FILTER (WHERE outcome = 'accepted') AS accepted FROM outcomes GROUP BY name ORDER BY name;
SELECT outcome FROM outcomes WHERE outcome <> 'accepted' AND name LIKE 'dsbf%' GROUP BY name, outcome ORDER BY name, min(nr);
SELECT name, type, outcome FROM outcomes WHERE outcome NOT LIKE '22%' AND outcome <> 'accepted';

-- The same vector in another type is the same member.
SELECT name, count(DISTINCT md5(lsbf_add::bytea)) AS different FROM (
  SELECT name, lsbf_add(p, ARRAY[1, 2, 3]::real[]) FROM prototypes WHERE name ~ 'l1|l2|cosine'
  UNION ALL SELECT name, lsbf_add(p, ARRAY[1, 2, 3]::double precision[]) FROM prototypes WHERE name ~ 'l1|l2|cosine'
  UNION ALL SELECT name, lsbf_add(p, ARRAY[1.0, 2, 3]) FROM prototypes WHERE name ~ 'l1|l2|cosine'
  UNION ALL SELECT name, lsbf_add(p, ARRAY[1, 2, 3]) FROM prototypes WHERE name ~ 'l1|l2|cosine|jaccard'
  UNION ALL SELECT name, lsbf_add(p, ARRAY[1, 2, 3]::bigint[]) FROM prototypes WHERE name ~ 'l1|l2|cosine|jaccard'
  UNION ALL SELECT name, lsbf_add(p, ARRAY['1', '2', '3']) FROM prototypes WHERE name ~ 'jaccard'
  UNION ALL SELECT name, lsbf_add(p, '{1,2,3}') FROM prototypes WHERE name ~ 'l1|l2|cosine|jaccard'
  UNION ALL SELECT name, lsbf_add(p, '[1, 2, 3]') FROM prototypes WHERE name ~ 'l1|l2|cosine|jaccard'
  UNION ALL SELECT name, lsbf_add(p, B'10110010') FROM prototypes WHERE name ~ 'hamming$'
  UNION ALL SELECT name, lsbf_add(p, '\xb2'::bytea) FROM prototypes WHERE name ~ 'hamming$'
  UNION ALL SELECT name, lsbf_add(p, '10110010') FROM prototypes WHERE name ~ 'hamming$'
  UNION ALL SELECT name, lsbf_add(p, 'word'::text) FROM prototypes WHERE name ~ 'symbols'
  UNION ALL SELECT name, lsbf_add(p, 'word'::bytea) FROM prototypes WHERE name ~ 'symbols'
  UNION ALL SELECT name, lsbf_add(p, ARRAY[119, 111, 114, 100]) FROM prototypes WHERE name ~ 'symbols') s GROUP BY name ORDER BY name;

-- Wrong dims: the error names the dimensions of the filter and of the vector. Each prototype with one member.
CREATE TABLE f AS SELECT name, CASE WHEN name LIKE '%hamming' THEN lsbf_add(p, B'10110010') WHEN name LIKE '%symbols' THEN lsbf_add(p, 'word')
  ELSE lsbf_add(p, ARRAY[1, 2, 3]) END AS f FROM prototypes;
SELECT name, (lsbf_info(f)).dims FROM f ORDER BY name;
CREATE VIEW wrong AS SELECT name, CASE WHEN name LIKE '%symbols' THEN '''words''' WHEN name LIKE '%hamming' THEN 'B''1011001''' ELSE 'ARRAY[1, 2]::real[]' END AS value
  FROM f WHERE name NOT LIKE '%jaccard';
SELECT name, expect_error(format('SELECT approx_member(f, %s) FROM f WHERE name = %L', value, name)) FROM wrong ORDER BY name;
SELECT DISTINCT expect_error(format('SELECT %s FROM f WHERE name = ''ilbf l2''', call)) FROM unnest(ARRAY['approx_votes(f, ''[1,2]'')',
  'approx_distance(f, ''[1,2]'')', 'lsbf_add(f, ''[1,2]'')', 'lsbf_agg(''[1,2]'', f)', 'lsbf_agg(NULL, f), lsbf_agg(''[1,2]'', f)']) AS call;
-- Sets have no dims: any size is accepted.
SELECT name, approx_member(f, ARRAY[1, 2, 3, 3, 2, 1]) AS same_set, approx_member(f, ARRAY[7]) AS other FROM f WHERE name LIKE '%jaccard' ORDER BY name;
