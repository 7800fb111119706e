-- Large filters and many rows: stored and inline filters, a single query of a stored filter, parallel workers, ten million
-- members, and the choice of a filter. Needs tables random and others (integer, vector) and large (kind, members, filter).
SELECT count(*) AS rows FROM random \gset

\echo building quotient filters
CREATE TABLE chosen AS
  SELECT rows, d.prototype FROM (VALUES (least(24000, :rows / 2)), (:rows)) AS n (rows),
    LATERAL (SELECT * FROM lsbf_design_for('random', 'v', near => 1e6, capacity => rows) LIMIT 1) d;
INSERT INTO large
  SELECT 'lsqf', lsbf_members(f), f
  FROM chosen c, LATERAL (SELECT lsbf_agg(v, c.prototype) AS f FROM random WHERE id < rows) s
  WHERE 'lsqf' ~ :'kinds';

\echo querying filters of few and of many members
INSERT INTO bench.queries
  SELECT format('query %s of %s', kind, members), :rows,
    format('SELECT count(*) FROM random WHERE approx_member((SELECT f FROM large WHERE kind = %L AND members = %s), v)', kind, members)
  FROM large;
-- All of these rows are members of the larger quotient filter; the others are members of none.
SELECT count(*) AS others FROM others \gset
INSERT INTO bench.queries
  SELECT format('query %s of %s by others', kind, members), :others,
    format('SELECT count(*) FROM others WHERE approx_member((SELECT f FROM large WHERE kind = %L AND members = %s), v)', kind, members)
  FROM large WHERE kind = 'lsqf';
CALL bench.measure('^query .* of [0-9]+( by others)?$', 3);
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('query %s of %s members : of %s', upper(kind), max(members), min(members)),
    format('query %s of %s', kind, max(members)), format('query %s of %s', kind, min(members)), 'at most', CASE kind WHEN 'lsqf' THEN 1.6 ELSE 4 END
  FROM large GROUP BY kind ORDER BY kind;
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('the same for rows that are no members'), format('query lsqf of %s by others', max(members)),
    format('query lsqf of %s by others', min(members)), 'at most', 1.6
  FROM large WHERE kind = 'lsqf' HAVING count(*) > 0;

\echo querying a stored filter of 10 MB in a nested loop, and the same filter inline
CREATE TABLE ten AS
  SELECT lsbf_agg(v, dsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => 2500000, tables => 4, hashes => 4)) AS f
  FROM random WHERE id < 100000;
CREATE FUNCTION inline_filter() RETURNS lsbf IMMUTABLE LANGUAGE sql AS 'SELECT f FROM ten';
VACUUM ANALYZE ten;
INSERT INTO bench.queries VALUES
  ('nested loop, stored', :rows, 'SELECT count(*) FROM random, ten WHERE approx_member(f, v)'),
  ('inline', :rows, 'SELECT count(*) FROM random WHERE approx_member(inline_filter(), v)');
CALL bench.measure('^(nested loop, stored|inline)$', 3);
INSERT INTO bench.bars (what, ours, peer, kind, bar) VALUES
  ('stored filter of 10 MB in a nested loop : the same inline', 'nested loop, stored', 'inline', 'at most', 1.1);

\echo querying a stored filter of 50 MB once
CREATE TABLE fifty AS
  SELECT lsbf_agg(v, dsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => 12500000, tables => 4, hashes => 4)) AS f,
    dsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => 12500000, tables => 4, hashes => 4) AS prototype
  FROM random WHERE id < 100000;
VACUUM ANALYZE fifty;
INSERT INTO bench.queries VALUES
  ('one query', 1, 'SELECT count(*) FROM fifty WHERE approx_member(f, (SELECT v FROM random WHERE id = 0))'),
  ('reading all of it', 1, 'SELECT lsbf_kind(f | prototype) FROM fifty');
CREATE INDEX ON random (id);
CREATE TABLE codes AS
  SELECT f, lsbf_empty(f) AS prototype FROM (SELECT lsbf_agg(v, lsqf_new(dims => :dims, near => 1e6, bits => 256, centre => array_fill(5e5, ARRAY[:dims])::real[])) AS f FROM random) s;
VACUUM ANALYZE codes;
INSERT INTO bench.queries VALUES
  ('one query of codes', 1, 'SELECT count(*) FROM codes WHERE approx_member(f, (SELECT v FROM random WHERE id = 0))'),
  ('reading all codes', 1, 'SELECT length(f::bytea) FROM codes');
CALL bench.measure('^(one query|reading all of it|one query of codes|reading all codes)$', 10);
INSERT INTO bench.bars (what, ours, peer, kind, bar) VALUES
  ('one query of a stored DSBF of 50 MB : reading all of it', 'one query', 'reading all of it', 'at least', 20);
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('one query of a stored LSQF of %s MB : reading all of it', length(f::bytea) / 1000000), 'one query of codes', 'reading all codes', 'at least', 20
  FROM codes;

\echo choosing a filter
CREATE TABLE part AS SELECT * FROM random WHERE id < 300000;
VACUUM ANALYZE part;
INSERT INTO bench.queries VALUES
  ('choose', 1, $$SELECT lsbf_kind(prototype) FROM lsbf_design_for('part', 'v', near => 1e6) LIMIT 1$$),
  ('1.5 seconds', 1, 'SELECT pg_sleep(1.5)');
CALL bench.measure('^(choose|1.5 seconds)$', 3);
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('lsbf_design_for of %s rows : 1.5 seconds', count(*)), 'choose', '1.5 seconds', 'at most', 1 FROM part;

\echo building with two workers and with none
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE prototypes (kind text, p lsbf);
INSERT INTO prototypes VALUES
  ('dsbf', dsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows, tables => 4, hashes => 4)),
  ('lsbf', lsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows, tables => 7, hashes => 10)),
  ('ilbf', ilbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows, blooms => 4 * :rows)),
  ('ilbf default', ilbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows)),
  ('lsqf', (SELECT prototype FROM chosen WHERE rows = :rows));
DELETE FROM prototypes WHERE kind !~ :'kinds';
INSERT INTO bench.queries
  SELECT format('build %s with %s workers', kind, workers), :rows,
    format('SELECT lsbf_kind(lsbf_agg(v, (SELECT p FROM prototypes WHERE kind = %L))) FROM random', kind)
  FROM prototypes, (VALUES (0), (2)) AS w (workers);
INSERT INTO bench.queries VALUES
  ('<-> with 0 workers', :rows, 'SELECT count(v <-> v) FROM random'),
  ('<-> with 2 workers', :rows, 'SELECT count(v <-> v) FROM random');
DO $$ BEGIN
  FOR turn IN 1..4 LOOP
    FOR workers IN 0..2 BY 2 LOOP
      PERFORM set_config('max_parallel_workers_per_gather', workers::text, false);
      CALL bench.measure(format(' with %s workers$', workers), 2);
    END LOOP;
  END LOOP;
END $$;
RESET max_parallel_workers_per_gather;
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('build %s of %s bytes per row with two workers : with none', upper(i.kind), round(CASE i.kind WHEN 'lsqf' THEN 9 ELSE (bits + coalesce(verify_bits, 0)) / 8.0 / :rows END)),
    format('build %s with 2 workers', prototypes.kind), format('build %s with 0 workers', prototypes.kind), 'at least', 1.6
  FROM prototypes, lsbf_info(p) i;
INSERT INTO bench.bars (what, ours, peer, kind, bar) VALUES
  ('one <-> per row with two workers : with none, the limit of the machine', '<-> with 2 workers', '<-> with 0 workers', 'at least', NULL);
