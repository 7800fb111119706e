-- Filters of sets that lsbf_design_for chooses, and what they take. Needs tables members and asked of the texts, the
-- procedures of benches/server/measure.sql, and :repeats.
SELECT count(*) AS members FROM members \gset
SELECT count(*) AS asked FROM asked \gset

ALTER TABLE members ADD s bigint[];
ALTER TABLE asked ADD s bigint[];
CALL bench.once('sets of members', :members, 'UPDATE members SET s = lsbf_shingles(body, 5)');
UPDATE asked SET s = lsbf_shingles(body, 5);
VACUUM (FULL, ANALYZE) members, asked;

-- Filters chosen by a preference alone, and filters of given bands: those that datasketch takes at this threshold, also in
-- about its bytes, and some that miss less.
CREATE TABLE wishes (place serial, name text, prefer text, tables integer, hashes integer, votes integer,
  bytes double precision);
INSERT INTO wishes (name, prefer) VALUES ('small', 'small'), ('balanced', 'balanced'), ('fast', 'fast'), ('sharp', 'sharp');
INSERT INTO wishes (name, tables, hashes, votes, bytes) VALUES
  ('14 x 9', 14, 9, 1, NULL), ('14 x 9 small', 14, 9, 1, 25), ('20 x 6', 20, 6, 1, NULL), ('64 x 7', 64, 7, 2, NULL),
  ('128 x 9', 128, 9, 2, NULL);

CREATE TABLE filters (place integer, name text, chosen boolean, f lsbf, prototype lsbf, strangers double precision,
  choose_ms double precision);
DO $$
DECLARE
  w wishes;
  c lsbf_choice;
  n bigint := count(*) FROM members;
  started timestamptz;
BEGIN
  FOR w IN SELECT * FROM wishes ORDER BY place LOOP
    started := clock_timestamp();
    IF w.prefer IS NOT NULL THEN
      SELECT * INTO c FROM lsbf_design_for('members', 's', near => 0.3, metric => 'jaccard', prefer => w.prefer) LIMIT 1;
    ELSE
      c := NULL;
      c.prototype := lsbf_new(metric => 'jaccard', match => 'any', near => 0.3, far => 0.5, capacity => n,
        tables => w.tables, hashes => w.hashes, votes => w.votes, bits => (8 * w.bytes * n)::bigint);
    END IF;
    INSERT INTO filters VALUES (w.place, w.name, w.prefer IS NOT NULL, NULL, c.prototype, c.strangers,
      1000 * extract(epoch FROM clock_timestamp() - started));
  END LOOP;
END $$;
UPDATE filters SET f = (SELECT lsbf_agg(s, prototype) FROM members);
VACUUM (FULL, ANALYZE) filters;

INSERT INTO bench.queries VALUES
  ('shingles', :asked, 'SELECT sum(cardinality(lsbf_shingles(body, 5))) FROM asked'),
  ('scan of texts', :asked, 'SELECT sum(length(body)) FROM asked'),
  ('scan', :asked, 'SELECT count(*) FROM asked WHERE cardinality(s) > 0');
INSERT INTO bench.queries
  SELECT 'ask ' || name, :asked,
    format('SELECT count(*) FROM asked WHERE approx_member((SELECT f FROM filters WHERE name = %L), s)', name)
  FROM filters ORDER BY place;
INSERT INTO bench.queries
  SELECT 'build ' || name, :members,
    format('SELECT lsbf_kind(lsbf_agg(s, (SELECT prototype FROM filters WHERE name = %L))) FROM members', name)
  FROM filters ORDER BY place;
CALL bench.measure('^(shingles|scan|scan of texts|ask .*)$', :repeats);
CALL bench.measure('^build ', least(:repeats, 3));
