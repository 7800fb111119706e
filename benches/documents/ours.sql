-- Filters of sets that lsbf_design_for chooses, and what they take. Needs tables members and asked of the texts, the
-- procedures of benches/server/measure.sql, and :repeats.
SELECT count(*) AS members FROM members \gset
SELECT count(*) AS asked FROM asked \gset

ALTER TABLE members ADD s bigint[];
ALTER TABLE asked ADD s bigint[];
CALL bench.once('sets of members', :members, 'UPDATE members SET s = lsbf_shingles(body, 5)');
UPDATE asked SET s = lsbf_shingles(body, 5);
VACUUM (FULL, ANALYZE) members, asked;

-- What is wanted of each filter, beside near: by a preference alone, and for the share of misses that datasketch has.
CREATE TABLE wishes (place serial, name text, prefer text, far double precision, fpr double precision, fnr double precision);
INSERT INTO wishes (name, prefer, far, fpr, fnr) VALUES
  ('small', 'small', NULL, NULL, NULL), ('balanced', 'balanced', NULL, NULL, NULL),
  ('fast', 'fast', NULL, NULL, NULL), ('sharp', 'sharp', NULL, NULL, NULL);

CREATE TABLE filters (place integer, name text, f lsbf, prototype lsbf, strangers double precision, choose_ms double precision);
DO $$
DECLARE
  w wishes;
  c lsbf_choice;
  started timestamptz;
BEGIN
  FOR w IN SELECT * FROM wishes ORDER BY place LOOP
    started := clock_timestamp();
    SELECT * INTO c FROM lsbf_design_for('members', 's', near => 0.3, metric => 'jaccard', far => w.far, fpr => w.fpr,
      fnr => w.fnr, prefer => w.prefer) LIMIT 1;
    INSERT INTO filters VALUES (w.place, w.name, NULL, c.prototype, c.strangers,
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
