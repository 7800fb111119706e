-- The tables of docs/duplicates.md. Needs :'set', the set of rows.
SELECT '| method | us per row | x one `<->` | rows/s | all rows | found at `near` | false positives | bytes per row |' UNION ALL SELECT '|---|---|---|---|---|---|---|---|';
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', label || CASE WHEN extrapolated THEN ' (extrapolated)' ELSE '' END, bench.short(us_per_row), bench.short(ratio),
  to_char(round(1e6 / us_per_row), 'FM999,999,999'), CASE WHEN seconds < 600 THEN bench.short(seconds) || ' s' ELSE bench.short(seconds / 3600) || ' h' END,
  CASE WHEN recall IS NOT NULL THEN to_char(100 * recall, 'FM990.0') || ' %' END,
  CASE WHEN false_positives IS NOT NULL THEN to_char(100 * false_positives, 'FM990.000') || ' %' END, round(bytes_per_row, 1))
FROM bench.passes WHERE name LIKE :'set' || ':%' ORDER BY place;
