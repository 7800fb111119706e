-- The results of ours.sql as one JSON value. Of query sets with a member of similarity 0.7 or more, those that pass are
-- found; of those without a member of similarity 0.5 or more, those that pass are false positives. The predicted rates are
-- means of lsbf_fnr over the same query sets, at the distance of the nearest member.
WITH answers AS MATERIALIZED (
  SELECT f.name, nearest, batch, approx_member(f.f, s) AS passed FROM filters f, query_texts),
rates AS (
  SELECT name,
    count(*) FILTER (WHERE nearest >= 0.7) AS near_count,
    count(*) FILTER (WHERE nearest >= 0.7 AND passed) AS near_passed,
    count(*) FILTER (WHERE batch = 'planted 0.7') AS planted_count,
    count(*) FILTER (WHERE batch = 'planted 0.7' AND passed) AS planted_passed,
    count(*) FILTER (WHERE batch = 'planted 0.85') AS closer_count,
    count(*) FILTER (WHERE batch = 'planted 0.85' AND passed) AS closer_passed,
    count(*) FILTER (WHERE nearest < 0.7 AND nearest >= 0.5) AS between_count,
    count(*) FILTER (WHERE nearest < 0.7 AND nearest >= 0.5 AND passed) AS between_passed,
    count(*) FILTER (WHERE nearest < 0.5) AS far_count,
    count(*) FILTER (WHERE nearest < 0.5 AND passed) AS far_passed
  FROM answers GROUP BY name),
predicted AS (
  SELECT name,
    sum(n * (1 - lsbf_fnr(f, 1 - nearest))) FILTER (WHERE is_near) / sum(n) FILTER (WHERE is_near) AS near,
    sum(n * (1 - lsbf_fnr(f, 1 - nearest))) FILTER (WHERE is_far) / sum(n) FILTER (WHERE is_far) AS far
  FROM filters, (SELECT round(nearest, 2)::double precision AS nearest, nearest >= 0.7 AS is_near, nearest < 0.5 AS is_far,
      count(*) AS n FROM query_texts GROUP BY 1, 2, 3) AS q
  GROUP BY name)
SELECT jsonb_build_object(
  'server', version(),
  'pg_lsbf', (SELECT extversion FROM pg_extension WHERE extname = 'pg_lsbf'),
  'members', (SELECT count(*) FROM members),
  'queries', (SELECT count(*) FROM query_texts),
  'elements', (SELECT sum(cardinality(s)) FROM query_texts),
  'times', (SELECT jsonb_object_agg(name, us_per_row) FROM bench.times),
  'filters', (SELECT jsonb_agg(jsonb_build_object(
      'name', f.name, 'chosen', f.chosen, 'bytes', octet_length(f.f::bytea), 'choose_ms', choose_ms, 'unrelated', unrelated,
      'tables', i.tables, 'hashes', i.hashes, 'votes', i.votes, 'near', i.near, 'far', i.far,
      'fpr', lsbf_fpr(f.f), 'fnr', lsbf_fnr(f.f, 0.3), 'predicted_near', p.near, 'predicted_far', p.far,
      'rates', to_jsonb(r) - 'name') ORDER BY f.place)
    FROM filters f JOIN rates r USING (name) JOIN predicted p USING (name), lsbf_info(f.f) i));
