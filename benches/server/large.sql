-- Large filters and many rows: stored and inline filters, a single query of a stored filter, parallel workers, ten million
-- members. Needs tables random (integer, vector) and large (kind, members, filter).
SELECT count(*) AS rows FROM random \gset

\echo querying filters of ten thousand and of ten million members
INSERT INTO bench.queries
  SELECT format('query %s of %s', kind, members), :rows,
    format('SELECT count(*) FROM random WHERE approx_member((SELECT f FROM large WHERE kind = %L AND members = %s), v)', kind, members)
  FROM large;
CALL bench.measure('^query .* of [0-9]+$', 3);
INSERT INTO bench.bars (what, ours, peer, kind, bar)
  SELECT format('query %s of %s members : of %s', upper(kind), max(members), min(members)),
    format('query %s of %s', kind, max(members)), format('query %s of %s', kind, min(members)), 'at most', 4
  FROM large GROUP BY kind ORDER BY kind;

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
CALL bench.measure('^(one query|reading all of it)$', 10);
INSERT INTO bench.bars (what, ours, peer, kind, bar) VALUES
  ('one query of a stored filter of 50 MB : reading all of it', 'one query', 'reading all of it', 'at least', 20);

\echo building with two workers and with none
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE prototypes (kind text, p lsbf);
INSERT INTO prototypes VALUES
  ('dsbf', dsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows, tables => 4, hashes => 4)),
  ('lsbf', lsbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows, tables => 7, hashes => 10)),
  ('ilbf', ilbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows, blooms => 4 * :rows)),
  ('ilbf default', ilbf_new(metric => 'l2', dims => :dims, near => 1, capacity => :rows));
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
  SELECT format('build %s of %s bytes per row with two workers : with none', upper(i.kind), round((bits + coalesce(verify_bits, 0)) / 8.0 / :rows)),
    format('build %s with 2 workers', prototypes.kind), format('build %s with 0 workers', prototypes.kind), 'at least', 1.6
  FROM prototypes, lsbf_info(p) i;
INSERT INTO bench.bars (what, ours, peer, kind, bar) VALUES
  ('one <-> per row with two workers : with none, the limit of the machine', '<-> with 2 workers', '<-> with 0 workers', 'at least', NULL);
