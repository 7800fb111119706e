-- All results as one JSON value.
SELECT jsonb_pretty(jsonb_build_object(
  'server', version(),
  'pgvector', (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  'pg_lsbf', (SELECT extversion FROM pg_extension WHERE extname = 'pg_lsbf'),
  'processor', :'processor',
  'data', :'data',
  'ratios', (SELECT jsonb_agg(to_jsonb(r) - 'place' ORDER BY place) FROM bench.ratios r),
  'ways', (SELECT jsonb_agg(to_jsonb(w)) FROM bench.ways w),
  'times', (SELECT jsonb_agg(to_jsonb(t) ORDER BY name) FROM bench.times t),
  'filters', (SELECT jsonb_agg(jsonb_build_object('name', name, 'bytes', octet_length(f::bytea), 'fpr', lsbf_fpr(f))) FROM filters)));
