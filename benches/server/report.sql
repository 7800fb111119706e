-- The table of ratios and, where :json is given, everything as JSON.
\pset border 2
\pset linestyle ascii
\pset footer off
SELECT what AS "ours : peer", round(ours_us::numeric, 3) AS "ours, us", round(peer_us::numeric, 3) AS "peer, us",
  CASE WHEN ratio < 20 THEN round(ratio::numeric, 2) ELSE round(ratio::numeric) END AS ratio,
  coalesce(kind || ' ' || bar, '') AS bar, CASE WHEN bar IS NULL THEN '' WHEN met THEN 'met' ELSE 'NOT MET' END AS " ",
  format('%s %% / %s %%', round(100 * ours_spread::numeric), round(100 * peer_spread::numeric)) AS spread
FROM bench.ratios ORDER BY place;
