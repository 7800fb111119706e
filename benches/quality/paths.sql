-- Times of scans of the sentences, relative to one exact comparison per row, on the instruction set :path.
SELECT count(*) AS natural FROM sentences_l2_queries WHERE kind = 'natural' \gset
CREATE TABLE scanned AS
  SELECT a.* FROM sentences_l2_queries a, generate_series(1, greatest(1, :least / :natural)) WHERE kind = 'natural';
CREATE TABLE one AS SELECT v FROM sentences_l2_members LIMIT 1;
VACUUM ANALYZE scanned;
SELECT count(*) AS rows FROM scanned \gset
INSERT INTO bench.queries VALUES (format('path peer %s', :'path'), :rows, 'SELECT count(*) FROM scanned WHERE v <-> (SELECT v FROM one) < 0.2');
INSERT INTO bench.queries
  SELECT format('path %s %s', prefer, :'path'), :rows,
    format('SELECT count(*) FROM scanned WHERE approx_member((SELECT f FROM quality.filters WHERE set = %L AND prefer = %L), v)', set, prefer)
  FROM quality.filters WHERE set = 'sentences_l2' AND f IS NOT NULL ORDER BY place;
CALL bench.measure(format('^path .* %s$', :'path'), :repeats);
INSERT INTO quality.paths (path, prefer, ratio)
  SELECT :'path', prefer, own.us_per_row / peer.us_per_row FROM quality.filters,
    bench.times own, bench.times peer
  WHERE set = 'sentences_l2' AND own.name = format('path %s %s', prefer, :'path') AND peer.name = format('path peer %s', :'path')
  ORDER BY filters.place;
DROP TABLE scanned, one;
