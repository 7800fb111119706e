-- Builds and queries the filters of :set, and compares their times with one exact comparison per row (:peer).
UPDATE quality.sets SET members = (SELECT count(*) FROM :"members") WHERE name = :'set';
UPDATE quality.sets SET (queries, within, median) = (
  SELECT count(*), avg((distance <= near)::integer), percentile_cont(0.5) WITHIN GROUP (ORDER BY distance)
  FROM :"queries" WHERE kind = 'natural') WHERE name = :'set';
UPDATE quality.filters SET f = (SELECT lsbf_agg(v, (choice).prototype) FROM :"members")
  WHERE set = :'set' AND (choice).prototype IS NOT NULL;
VACUUM ANALYZE quality.filters;
INSERT INTO quality.answers
  SELECT set, prefer, kind, distance, approx_member(f, v) FROM quality.filters, :"queries" WHERE set = :'set' AND f IS NOT NULL;

-- Times are measured with natural rows, repeated until there are about :least.
SELECT count(*) AS natural FROM :"queries" WHERE kind = 'natural' \gset
CREATE TABLE scanned AS
  SELECT a.* FROM :"queries" a, generate_series(1, greatest(1, :least / :natural)) WHERE kind = 'natural';
CREATE TABLE one AS SELECT v FROM :"members" LIMIT 1;
VACUUM ANALYZE scanned;
SELECT count(*) AS rows FROM scanned \gset
INSERT INTO bench.queries VALUES ('peer ' || :'set', :rows, 'SELECT count(*) FROM scanned WHERE ' || :'peer');
INSERT INTO bench.queries
  SELECT format('query %s %s', set, prefer), :rows,
    format('SELECT count(*) FROM scanned WHERE approx_member((SELECT f FROM quality.filters WHERE set = %L AND prefer = %L), v)', set, prefer)
  FROM quality.filters WHERE set = :'set' AND f IS NOT NULL ORDER BY place;
CALL bench.measure(format('^(query|peer) %s( |$)', :'set'), :repeats);
DROP TABLE scanned, one;
