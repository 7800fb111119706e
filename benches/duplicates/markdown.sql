-- The tables of docs/duplicates.md. Needs :'set', the set of rows.
SELECT '| way | us a row | : one `<->` | rows/s | all rows | found at `near` | strangers told | bytes a row |' UNION ALL SELECT '|---|---|---|---|---|---|---|---|';
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', label || CASE WHEN reckoned THEN ' (reckoned)' ELSE '' END, bench.short(us_a_row), bench.short(ratio),
  to_char(round(1e6 / us_a_row), 'FM999,999,999'), CASE WHEN seconds < 600 THEN bench.short(seconds) || ' s' ELSE bench.short(seconds / 3600) || ' h' END,
  CASE WHEN recall IS NOT NULL THEN to_char(100 * recall, 'FM990.0') || ' %' END,
  CASE WHEN strangers IS NOT NULL THEN to_char(100 * strangers, 'FM990.000') || ' %' END, round(bytes_a_row, 1))
FROM bench.passes WHERE name LIKE :'set' || ':%' ORDER BY place;
