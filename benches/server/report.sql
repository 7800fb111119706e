-- The results as text: the bars, and all ways to do a semi-join.
\pset border 2
\pset linestyle ascii
\pset footer off
\pset null '-'
SELECT what AS "ours : peer", round(ours_us::numeric, 3) AS "ours, us", round(peer_us::numeric, 3) AS "peer, us",
  CASE WHEN ratio < 20 THEN round(ratio::numeric, 2) ELSE round(ratio::numeric) END AS ratio,
  coalesce(kind || ' ' || bar, '') AS bar, CASE WHEN bar IS NULL THEN '' WHEN met THEN 'met' ELSE 'NOT MET' END AS " ",
  format('%s %% / %s %%', round(100 * ours_spread::numeric), round(100 * peer_spread::numeric)) AS spread
FROM bench.ratios ORDER BY place;
\echo Times are microseconds per row, the best of several runs; spread is how much longer the worst run took, ours / peer.
SELECT name AS "is anything near? for each row", round(query_us::numeric, 2) AS "query, us per row",
  round(build_us::numeric, 2) AS "build, us per row", round(bytes_per_row, 1) AS "bytes per row"
FROM bench.ways;
