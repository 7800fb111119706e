-- One pass for near-duplicates, over planted and over real rows. Needs tables planted (id, source, v) and items (id, v),
-- and :near, :repeats.
SET synchronize_seqscans = off;
SELECT count(*) AS rows FROM planted \gset
SELECT count(*) AS items FROM items \gset

-- The filter exists only during the query, so that a few more bytes do no harm: one with few false positives is used.
CREATE TABLE prototypes AS
  SELECT 'planted' AS name, c.* FROM (SELECT * FROM lsbf_design_for('planted', 'v', near => :near, far => 4 * :near, prefer => 'sharp') LIMIT 1) c
  UNION ALL SELECT 'items', c.* FROM (SELECT * FROM lsbf_design_for('items', 'v', near => :near, far => 4 * :near, prefer => 'sharp') LIMIT 1) c;

INSERT INTO bench.queries
  SELECT format('%s: %s', t, way), n, replace(replace(query, 'TABLE', t), 'PROTOTYPE', format('(SELECT prototype FROM prototypes WHERE name = %L)', t))
  FROM (VALUES ('planted', :rows), ('items', :items)) AS t (t, n), (VALUES
    ('one <-> per row', 'SELECT count(*) FROM TABLE WHERE v <-> (SELECT v FROM TABLE WHERE id = 0) < 0.2'),
    ('row_number', 'SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY id) AS n, v FROM TABLE) s WHERE n > 0 AND v IS NOT NULL'),
    ('lsbf_seen', 'SELECT count(*) FROM (SELECT lsbf_seen(v, PROTOTYPE) OVER (ORDER BY id) AS seen FROM TABLE) s WHERE seen'),
    ('lsbf_first', 'SELECT count(*) FROM (SELECT lsbf_first(v, PROTOTYPE) OVER (ORDER BY id) AS first FROM TABLE) s WHERE NOT first')) AS w (way, query);
CALL bench.measure('^(planted|items): ', :repeats);

-- The flagged rows. Of the planted rows the truth is known: false positives are flagged rows that are not a copy and have none.
CREATE TABLE screened AS SELECT id, source, lsbf_seen(v, (SELECT prototype FROM prototypes WHERE name = 'planted')) OVER w AS seen,
  lsbf_first(v, (SELECT prototype FROM prototypes WHERE name = 'planted')) OVER w AS first FROM planted WINDOW w AS (ORDER BY id);
INSERT INTO bench.found
  SELECT 'planted: ' || way, count(*) FILTER (WHERE source IS NOT NULL AND flagged) / count(source)::numeric, count(source),
    count(*) FILTER (WHERE source IS NULL AND NOT copied AND flagged) / count(*) FILTER (WHERE source IS NULL AND NOT copied)::numeric,
    count(*) FILTER (WHERE source IS NULL AND NOT copied)
  FROM (SELECT source, seen, first, EXISTS (SELECT FROM planted c WHERE c.source = j.id) AS copied FROM screened j) j,
    LATERAL (VALUES ('lsbf_seen', seen), ('lsbf_first', NOT first)) AS w (way, flagged) GROUP BY way;
-- Of the real rows it is determined by comparing some of them with all earlier ones.
CREATE TABLE screened_items AS SELECT id, v, lsbf_seen(v, (SELECT prototype FROM prototypes WHERE name = 'items')) OVER (ORDER BY id) AS seen FROM items;
INSERT INTO bench.found
  SELECT 'items: lsbf_seen', count(*) FILTER (WHERE d <= :near AND seen) / nullif(count(*) FILTER (WHERE d <= :near), 0)::numeric, count(*) FILTER (WHERE d <= :near),
    count(*) FILTER (WHERE d > 4 * :near AND seen) / nullif(count(*) FILTER (WHERE d > 4 * :near), 0)::numeric, count(*) FILTER (WHERE d > 4 * :near)
  FROM (SELECT * FROM screened_items ORDER BY md5(id::text) LIMIT 5000) q, LATERAL (SELECT min(e.v <-> q.v) AS d FROM items e WHERE e.id < q.id) n;
INSERT INTO bench.sizes SELECT name || ': lsbf_seen', bytes_per_member FROM prototypes;
