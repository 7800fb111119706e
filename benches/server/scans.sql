-- Scans and builds with real vectors and fingerprints: the first four fifths of the rows are members, and all rows are queries.
-- Needs tables items and prints, and :dims, :kinds (a regular expression), :repeats.
SELECT count(*) AS rows FROM items \gset
SELECT count(*) AS prints FROM prints \gset

CREATE TABLE filters (name text, source text, rows bigint, prototype lsbf, f lsbf);
INSERT INTO filters VALUES
  ('ilbf 16', 'items', :rows,
    ilbf_new(metric => 'l2', dims => :dims, near => 0.2, capacity => :rows, tables => 16)),
  ('dsbf 4 x 4', 'items', :rows,
    dsbf_new(metric => 'l2', dims => :dims, near => 0.2, capacity => :rows, tables => 4, hashes => 4)),
  ('lsbf 7 x 10', 'items', :rows,
    lsbf_new(metric => 'l2', dims => :dims, near => 0.2, capacity => :rows, tables => 7, hashes => 10)),
  ('lsqf chosen', 'items', :rows, (SELECT prototype FROM lsbf_design_for('items', 'v', near => 0.2) LIMIT 1)),
  ('dsbf bits 25', 'prints', :prints,
    dsbf_new(metric => 'hamming', dims => 1024, near => 0.01, capacity => :prints, tables => 25));
DELETE FROM filters WHERE name !~ :'kinds';
UPDATE filters SET f = (SELECT lsbf_agg(v, prototype) FROM items WHERE id < 0.8 * rows) WHERE source = 'items';
UPDATE filters SET f = (SELECT lsbf_agg(v, prototype) FROM prints WHERE id < 0.8 * rows) WHERE source = 'prints';
VACUUM FULL ANALYZE filters;

-- The value that the peers compare every row with.
CREATE TABLE item AS SELECT v FROM items WHERE id = 0;
CREATE TABLE print AS SELECT v FROM prints WHERE id = 0;
CREATE TABLE sets AS SELECT id, ARRAY(SELECT at FROM generate_series(0, 1023) at WHERE get_bit(v, at) = 1) AS s FROM prints;
CREATE TABLE set AS SELECT s FROM sets WHERE id = 0;
VACUUM ANALYZE sets;
INSERT INTO bench.queries VALUES
  ('scan', :rows, 'SELECT count(*) FROM items WHERE id IS NOT NULL'),
  ('scan with <->', :rows, 'SELECT count(*) FROM items WHERE v <-> (SELECT v FROM item) < 0.2'),
  ('scan of bits', :prints, 'SELECT count(*) FROM prints WHERE id IS NOT NULL'),
  ('scan with bit_count', :prints,
    'SELECT count(*) FROM prints WHERE bit_count(v # (SELECT v FROM print)) < 10'),
  ('scan with <~>', :prints, 'SELECT count(*) FROM prints WHERE v <~> (SELECT v FROM print) < 10'),
  ('jaccard_distance of bits', :prints,
    'SELECT count(*) FROM prints WHERE jaccard_distance(v::varbit, (SELECT v::varbit FROM print)) < 0.3'),
  ('jaccard_distance of sets', :prints, 'SELECT count(*) FROM sets WHERE jaccard_distance(s, (SELECT s FROM set)) < 0.3'),
  ('reading sets', :prints, 'SELECT count(*) FROM sets WHERE s <> (SELECT s FROM set)');
INSERT INTO bench.queries
  SELECT 'query ' || name, rows,
    format('SELECT count(*) FROM %s WHERE approx_member((SELECT f FROM filters WHERE name = %L), v)', source, name)
  FROM filters;
INSERT INTO bench.queries
  SELECT 'build ' || name, rows,
    format('SELECT lsbf_kind(lsbf_agg(v, (SELECT prototype FROM filters WHERE name = %L))) FROM %s', name, source)
  FROM filters;

CALL bench.measure('^(scan|scan with <->|query (ilbf|dsbf|lsbf|lsqf) [0-9x ]+|query lsqf chosen)$', :repeats);
CALL bench.measure('^(scan of bits|scan with bit_count|scan with <~>|jaccard_distance of .*|reading sets|query dsbf bits .*)$', :repeats);
CALL bench.measure('^build ', :repeats);

INSERT INTO bench.bars (what, ours, peer, kind, bar) VALUES
  ('scan with approx_member, ILBF of 16 projections : scan with <->', 'query ilbf 16', 'scan with <->', 'at most', 2),
  ('scan with approx_member, DSBF of 4 x 4 projections : scan with <->', 'query dsbf 4 x 4', 'scan with <->', 'at most', 2),
  ('scan with approx_member, LSBF of 7 x 10 projections : scan with <->', 'query lsbf 7 x 10', 'scan with <->', 'at most', 5),
  ('scan with approx_member, LSQF as chosen : scan with <->', 'query lsqf chosen', 'scan with <->', 'at most', 3),
  ('scan with approx_member, DSBF of 25 tables on bit(1024) : scan with bit_count', 'query dsbf bits 25', 'scan with bit_count', 'at most', 3),
  ('the same : scan with <~>', 'query dsbf bits 25', 'scan with <~>', 'at most', NULL),
  ('jaccard_distance of bit(1024) : bit_count', 'jaccard_distance of bits', 'scan with bit_count', 'at most', 3),
  ('jaccard_distance of integer[] of 43 elements : s <> t', 'jaccard_distance of sets', 'reading sets', 'at most', 3),
  ('build of LSQF as chosen : of LSBF of 7 x 10 projections', 'build lsqf chosen', 'build lsbf 7 x 10', 'at most', 2);
