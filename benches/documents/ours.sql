-- Filters of sets that lsbf_design_for chooses, and their costs. Needs the tables members and query_texts, the procedures of
-- benches/server/measure.sql, and :repeats.
SELECT count(*) AS members FROM members \gset
SELECT count(*) AS queries FROM query_texts \gset

ALTER TABLE members ADD s bigint[];
ALTER TABLE query_texts ADD s bigint[];
CALL bench.once('sets of members', :members, 'UPDATE members SET s = lsbf_shingles(body, 5)');
UPDATE query_texts SET s = lsbf_shingles(body, 5);
VACUUM (FULL, ANALYZE) members, query_texts;

-- Filters chosen by a preference alone, and filters of given bands: those that datasketch uses at this threshold, also with
-- about the same size, and some with fewer false negatives.
CREATE TABLE designs (place serial, name text, prefer text, tables integer, hashes integer, votes integer,
  bytes double precision);
INSERT INTO designs (name, prefer) VALUES ('small', 'small'), ('balanced', 'balanced'), ('fast', 'fast'), ('sharp', 'sharp');
INSERT INTO designs (name, tables, hashes, votes, bytes) VALUES
  ('14 x 9', 14, 9, 1, NULL), ('14 x 9 small', 14, 9, 1, 25), ('20 x 6', 20, 6, 1, NULL), ('64 x 7', 64, 7, 2, NULL),
  ('128 x 9', 128, 9, 2, NULL);

CREATE TABLE filters (place integer, name text, chosen boolean, f lsbf, prototype lsbf, unrelated double precision,
  choose_ms double precision);
DO $$
DECLARE
  d designs;
  c lsbf_choice;
  n bigint := count(*) FROM members;
  started timestamptz;
BEGIN
  FOR d IN SELECT * FROM designs ORDER BY place LOOP
    started := clock_timestamp();
    IF d.prefer IS NOT NULL THEN
      SELECT * INTO c FROM lsbf_design_for('members', 's', near => 0.3, metric => 'jaccard', prefer => d.prefer) LIMIT 1;
    ELSE
      c := NULL;
      c.prototype := lsbf_new(metric => 'jaccard', match => 'any', near => 0.3, far => 0.5, capacity => n,
        tables => d.tables, hashes => d.hashes, votes => d.votes, bits => (8 * d.bytes * n)::bigint);
    END IF;
    INSERT INTO filters VALUES (d.place, d.name, d.prefer IS NOT NULL, NULL, c.prototype, c.unrelated,
      1000 * extract(epoch FROM clock_timestamp() - started));
  END LOOP;
END $$;
UPDATE filters SET f = (SELECT lsbf_agg(s, prototype) FROM members);
VACUUM (FULL, ANALYZE) filters;

INSERT INTO bench.queries VALUES
  ('shingles', :queries, 'SELECT sum(cardinality(lsbf_shingles(body, 5))) FROM query_texts'),
  ('scan of texts', :queries, 'SELECT sum(length(body)) FROM query_texts'),
  ('scan', :queries, 'SELECT count(*) FROM query_texts WHERE cardinality(s) > 0');
INSERT INTO bench.queries
  SELECT 'query ' || name, :queries,
    format('SELECT count(*) FROM query_texts WHERE approx_member((SELECT f FROM filters WHERE name = %L), s)', name)
  FROM filters ORDER BY place;
INSERT INTO bench.queries
  SELECT 'build ' || name, :members,
    format('SELECT lsbf_kind(lsbf_agg(s, (SELECT prototype FROM filters WHERE name = %L))) FROM members', name)
  FROM filters ORDER BY place;
CALL bench.measure('^(shingles|scan|scan of texts|query .*)$', :repeats);
CALL bench.measure('^build ', least(:repeats, 3));
