-- lsbf_shingles: documents as sets.
SELECT cardinality(lsbf_shingles('abcabcab', 3)), cardinality(lsbf_shingles('the cat, the cat', 2, 'word')), lsbf_shingles(''), lsbf_shingles(' ?! ', 2, 'word'), lsbf_shingles(NULL);
SELECT lsbf_shingles('abc', 3) = lsbf_shingles('  abc ', 5) AS whole, lsbf_shingles('a  b') = lsbf_shingles(E'a\n\tb') AS spaces, lsbf_shingles('abc', 2) = lsbf_shingles('ABC', 2) AS cases;
SELECT lsbf_shingles('hello', 5), lsbf_shingles('Grüße, Welt', 2, 'word');
SELECT expect_error(s) FROM unnest(ARRAY['SELECT lsbf_shingles(''a'', 0)', 'SELECT lsbf_shingles(''a'', 101)', 'SELECT lsbf_shingles(''a'', 3, ''line'')']) s;
-- near-duplicates of documents
CREATE TABLE documents AS SELECT id, 'document number ' || id || ': ' || md5(id::text) || ' ' || md5((id * 7)::text) AS body FROM generate_series(1, 500) id;
CREATE TABLE filter AS SELECT lsbf_agg(lsbf_shingles(body), lsbf_new(match => 'any', metric => 'jaccard', capacity => 500, near => 0.25, far => 0.7)) AS f FROM documents;
SELECT count(*) FILTER (WHERE approx_member(f, lsbf_shingles(body))) AS members,
  count(*) FILTER (WHERE approx_member(f, lsbf_shingles(replace(body, 'document number', 'paper no.')))) > 470 AS edited,
  count(*) FILTER (WHERE approx_member(f, lsbf_shingles(md5(body) || md5(body || 'x')))) < 20 AS others
FROM documents, filter;
