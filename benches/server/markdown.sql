-- The same table for docs/benchmarks.md.
SELECT '| ours : peer | ours, us a row | peer, us a row | ratio | bar | spread |' UNION ALL SELECT '|---|---|---|---|---|---|';
SELECT format('| %s | %s | %s | **%s** | %s | %s %% / %s %% |', what, round(ours_us::numeric, 3), round(peer_us::numeric, 3),
  CASE WHEN ratio < 20 THEN round(ratio::numeric, 2) ELSE round(ratio::numeric) END,
  coalesce(kind || ' ' || bar, 'none') || CASE WHEN met THEN '' ELSE ': **not met**' END,
  round(100 * ours_spread::numeric), round(100 * peer_spread::numeric))
FROM bench.ratios ORDER BY place;
