-- The tables of docs/benchmarks.md.
SELECT '| ours : peer | ours, us per row | peer, us per row | ratio | bar | spread |' UNION ALL SELECT '|---|---|---|---|---|---|';
SELECT format('| %s | %s | %s | **%s** | %s | %s %% / %s %% |', what, round(ours_us::numeric, 3), round(peer_us::numeric, 3),
  CASE WHEN ratio < 20 THEN round(ratio::numeric, 2) ELSE round(ratio::numeric) END,
  CASE WHEN bar IS NULL THEN 'none' WHEN met THEN kind || ' ' || bar ELSE kind || ' ' || bar || ': **not met**' END,
  round(100 * ours_spread::numeric), round(100 * peer_spread::numeric))
FROM bench.ratios ORDER BY place;
SELECT '';
SELECT '| is anything near? | query, us per row | build, us per row | bytes per row |' UNION ALL SELECT '|---|---|---|---|';
SELECT format('| %s | %s | %s | %s |', name, round(query_us::numeric, 2), round(build_us::numeric, 2), round(bytes_per_row, 1))
FROM bench.ways;
