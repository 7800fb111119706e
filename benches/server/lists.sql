-- Filters of few members, whose bits are a list, compared with filters of slightly more, whose bits are words; and groups of so
-- few rows, compared with one filter of all rows. Needs the tables of scans.sql.
SELECT count(*) AS rows FROM items \gset
SELECT count(*) AS prints FROM prints \gset
CREATE TABLE few (name text, source text, col text, rows bigint, prototype lsbf, members integer, list lsbf, words lsbf);
INSERT INTO few
  SELECT name, source, 'v', rows, prototype FROM filters WHERE name !~ 'lsqf';
INSERT INTO few
  SELECT 'hamming chosen', 'prints', 'v', :prints, prototype FROM lsbf_design_for('prints', 'v', near => 4.0 / 1024) LIMIT 1;
INSERT INTO few
  SELECT 'jaccard chosen', 'sets', 's', :prints, prototype FROM lsbf_design_for('sets', 's', near => 0.1) LIMIT 1;
DELETE FROM few WHERE name !~ :'kinds';

-- The most members with which a filter of the first rows is a list: one more, and it has thousands of words.
CREATE FUNCTION most_members(source text, col text, prototype lsbf) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  low integer := 1;
  high integer := 4096;
  size integer;
BEGIN
  WHILE low + 1 < high LOOP
    EXECUTE format('SELECT pg_column_size(lsbf_agg(%I, $1)) FROM %I WHERE id < $2', col, source)
      INTO size USING prototype, (low + high) / 2;
    IF size < 24000 THEN low := (low + high) / 2; ELSE high := (low + high) / 2; END IF;
  END LOOP;
  RETURN low;
END $$;
UPDATE few SET members = most_members(source, col, prototype);
DO $$
DECLARE
  each record;
BEGIN
  FOR each IN SELECT * FROM few LOOP
    EXECUTE format('UPDATE few SET list = (SELECT lsbf_agg(%I, prototype) FROM %I WHERE id < members),
      words = (SELECT lsbf_agg(%1$I, prototype) FROM %2$I WHERE id < members * 1.1 + 1) WHERE name = %L', each.col, each.source, each.name);
  END LOOP;
END $$;
VACUUM FULL ANALYZE few;
SELECT name, members, pg_column_size(list) AS list, pg_column_size(words) AS words FROM few;

INSERT INTO bench.queries
  SELECT format('query %s of %s', form, name), rows,
    format('SELECT count(*) FROM %I WHERE approx_member((SELECT %I FROM few WHERE name = %L), %I)', source, form, name, col)
  FROM few, (VALUES ('list'), ('words')) f (form);
INSERT INTO bench.queries
  SELECT format('build %s of %s', form, name), rows,
    format('SELECT count(f) FROM (SELECT lsbf_agg(%I, (SELECT prototype FROM few WHERE name = %L)) AS f FROM %I GROUP BY id / %s) s',
      col, name, source, CASE form WHEN 'lists' THEN members WHEN 'words' THEN (members * 1.1 + 1)::integer ELSE 1000000 END)
  FROM few, (VALUES ('lists'), ('words'), ('one filter')) f (form);
INSERT INTO bench.queries
  SELECT format('query two of %s', form), :rows,
    format('SELECT count(*) FILTER (WHERE approx_member((SELECT %1$I FROM few WHERE name ~ ''ilbf''), v)), '
      'count(*) FILTER (WHERE approx_member((SELECT %1$I FROM few WHERE name ~ ''lsbf''), v)) FROM items', form)
  FROM (VALUES ('list'), ('words')) f (form);
CALL bench.measure('^query (list|words|two) of ', :repeats);
CALL bench.measure('^build (lists|words|one filter) of ', :repeats);
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('query a list, %s of %s members : words', name, members), 'query list of ' || name, 'query words of ' || name, 'at most', 1.3
  FROM few ORDER BY name;
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  VALUES ('query two lists in turn, ILBF and LSBF : words', 'query two of list', 'query two of words', 'at most', 1.3);
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('build lists, %s of %s members : words', name, members), 'build lists of ' || name, 'build words of ' || name, 'at most', 1.2
  FROM few ORDER BY name;
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('build lists, %s of %s members : one filter of all rows', name, members), 'build lists of ' || name, 'build one filter of ' || name, 'at most', NULL
  FROM few ORDER BY name;
