-- Which characters look alike? 42,996 characters as images of 16 x 16 pixels; two are alike if at most 4 of the 256 pixels
-- differ.
--   psql -v glyphs='gzip -dc demo/glyphs.tsv.gz' -v curve=FILE -v part=N
-- glyphs: a command that prints the rows; curve: the file for the points of the plot; part: every Nth ideograph is compared
-- exactly with all others, to evaluate the filter; 1 compares all pairs.
\set QUIET on
\pset tuples_only on
\pset format unaligned
\set pixels 4
\set near :pixels / 256.0
SET client_min_messages = warning;
SET client_encoding = 'UTF8';
-- No parallel workers: window functions cannot use them, and times are compared.
SET max_parallel_workers_per_gather = 0;
SET demo.clock = 0;

CREATE EXTENSION pg_lsbf;

\echo '==> reading the characters and their pixels'
CREATE TABLE digits (code int, name text, pixels text);
\setenv GLYPHS :glyphs
\copy digits FROM PROGRAM 'eval "$GLYPHS"'
CREATE TABLE glyphs AS SELECT code, chr(code) AS character, name, ('x' || pixels)::bit(256) AS pixels FROM digits ORDER BY code;
CREATE TABLE latin AS SELECT * FROM glyphs WHERE character ~ '^[A-Za-z0-9]$';
CREATE TABLE others AS SELECT * FROM glyphs WHERE character !~ '^[A-Za-z0-9]$';
CREATE TABLE ideographs AS SELECT * FROM glyphs WHERE name LIKE 'CJK UNIFIED IDEOGRAPH-%';
VACUUM ANALYZE;

CREATE TABLE times (what text, seconds numeric);
-- took(what): records the time since the last call
CREATE FUNCTION took(what text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO times SELECT what, extract(epoch FROM clock_timestamp()) - current_setting('demo.clock')::numeric;
  SELECT set_config('demo.clock', extract(epoch FROM clock_timestamp())::text, false);
$$;
SELECT took('read') \g /dev/null

\echo '==> choosing a filter for A-Z, a-z and 0-9, and one for ideographs (a few seconds)'
CREATE TABLE chosen AS
  SELECT prototype AS latin FROM lsbf_design_for('glyphs', 'pixels', near => :near, capacity => 62) LIMIT 1;
SELECT took('choose latin') \g /dev/null
ALTER TABLE chosen ADD ideographs lsbf;
UPDATE chosen SET ideographs = (SELECT prototype FROM lsbf_design_for('ideographs', 'pixels', near => :near) LIMIT 1);
SELECT took('choose ideographs') \g /dev/null

\echo '==> what looks like a letter or digit? querying a filter of these with all other characters'
CREATE TABLE filters AS SELECT lsbf_agg(pixels, (SELECT latin FROM chosen)) AS f FROM latin;
CREATE TABLE passed AS SELECT * FROM others WHERE approx_member((SELECT f FROM filters), pixels);
CREATE TABLE alike AS
  SELECT l.character AS letter, p.code, p.character, bit_count(l.pixels # p.pixels) AS differ
  FROM passed p JOIN latin l ON bit_count(l.pixels # p.pixels) <= :pixels;
SELECT took('query latin') \g /dev/null

\echo '==> which ideographs are nearly the same? one pass forwards, one backwards, then comparing the flagged ones'
CREATE TABLE flagged AS
  SELECT *, lsbf_seen(pixels, (SELECT ideographs FROM chosen)) OVER (ORDER BY code) AS has_earlier,
    lsbf_seen(pixels, (SELECT ideographs FROM chosen)) OVER (ORDER BY code DESC) AS has_later
  FROM ideographs;
CREATE TABLE pairs AS
  SELECT a.code AS one, b.code AS other, bit_count(a.pixels # b.pixels) AS differ
  FROM flagged a JOIN flagged b ON a.has_later AND b.has_earlier AND a.code < b.code WHERE bit_count(a.pixels # b.pixels) <= :pixels;
SELECT took('query ideographs') \g /dev/null

\echo '==> comparing without a filter, to evaluate it (ten seconds)'
CREATE TABLE nearest AS
  SELECT code, pixels, (SELECT min(bit_count(l.pixels # o.pixels)) FROM latin l) AS differ FROM others o;
SELECT took('exact latin') \g /dev/null
CREATE TABLE exact AS
  SELECT a.code AS one, b.code AS other FROM ideographs a JOIN ideographs b ON a.code < b.code
  WHERE a.code % :part = 0 AND bit_count(a.pixels # b.pixels) <= :pixels;
SELECT took('exact ideographs') \g /dev/null

-- A character near several letters collects votes from each, but the prediction assumes one: `second` is the number of pixels
-- in which the second nearest letter differs.
CREATE TABLE shares AS
  SELECT differ, second, approx_member((SELECT f FROM filters), pixels)::int AS passes
  FROM nearest n, LATERAL (SELECT bit_count(l.pixels # n.pixels) AS second FROM latin l ORDER BY 1 OFFSET 1 LIMIT 1) s WHERE differ <= 32;
COPY (
  SELECT 'measured', differ, round(avg(passes), 5) FROM shares GROUP BY differ
  UNION ALL
  SELECT 'alone', differ, round(avg(passes), 5) FROM shares WHERE second >= 16 GROUP BY differ
  UNION ALL
  SELECT 'predicted', round((256 * distance)::numeric, 3), round(passed::numeric, 5) FROM filters, lsbf_curve(f, upto => 32 / 256.0, points => 32)
  ORDER BY 1, 2) TO STDOUT \g :curve

\echo
\echo 'Characters that look like a letter or digit, for example in a domain name; identical ones first:'
SELECT format('    %s   %s', letter, string_agg(character, ' ' ORDER BY differ, code))
FROM (SELECT *, row_number() OVER (PARTITION BY letter ORDER BY differ, code) AS place FROM alike) a
WHERE letter IN ('A', 'S', 'a', 'c', 'e', 'o', 'p') AND place <= 20 GROUP BY letter ORDER BY letter COLLATE "C";
SELECT format('    "space" without a single Latin letter: %s', string_agg(character, '' ORDER BY position))
FROM regexp_split_to_table('space', '') WITH ORDINALITY AS word (letter, position),
  LATERAL (SELECT character FROM alike WHERE alike.letter = word.letter AND differ = 0 ORDER BY code LIMIT 1) a;

\echo
SELECT format('Ideographs that differ in at most %s pixels, some of %s pairs: %s', :pixels, (SELECT count(*) FROM pairs),
  string_agg(chr(one) || chr(other), ' ' ORDER BY differ, one))
FROM pairs WHERE chr(one) || chr(other) IN ('晚晩', '己已', '已巳', '研硏', '苖苗', '吕呂', '免兔', '大犬', '大太', '玉王', '土圡', '折拆', '責貴', '舍舎');

-- Draws two rows of pixels per line of text.
CREATE FUNCTION drawn(pixels bit, line int) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT string_agg((ARRAY[' ', '▄', '▀', '█'])[1 + 2 * get_bit(pixels, 32 * line + x) + get_bit(pixels, 32 * line + 16 + x)], '' ORDER BY x)
  FROM generate_series(0, 15) x
$$;
SELECT rtrim('    ' || string_agg(drawn(pixels, line), '  ' ORDER BY strpos('己已巳免兔', character)))
FROM ideographs, generate_series(0, 7) line WHERE character IN ('己', '已', '巳', '免', '兔') GROUP BY line ORDER BY line;

CREATE FUNCTION line(label text, latin text, ideographs text, note text DEFAULT '') RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT rtrim('  ' || rpad(label, 28) || lpad(latin, 16) || lpad(ideographs, 12) || '   ' || note)
$$;
CREATE FUNCTION whole(n numeric) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT to_char(n, 'FM999,999,999,990') $$;
CREATE FUNCTION percent(share float8) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT to_char(100 * share, 'FM990.0') || ' %' $$;
CREATE FUNCTION seconds(name text, times_as_long numeric DEFAULT 1) RETURNS text STABLE LANGUAGE sql AS $$
  SELECT to_char(times_as_long * sum(seconds), 'FM990.00') || ' s' FROM times WHERE what = name
$$;

\echo
WITH figures AS (
  SELECT (SELECT count(*) FROM others) AS others, (SELECT count(*) FROM ideographs) AS ideographs,
    (SELECT count(*) FROM passed) AS passed, (SELECT count(DISTINCT code) FROM alike) AS passed_alike,
    (SELECT count(*) FROM nearest WHERE differ <= :pixels) AS alike,
    (SELECT count(*) FROM flagged WHERE has_earlier OR has_later) AS flagged,
    (SELECT count(*) FROM (SELECT one FROM pairs UNION SELECT other FROM pairs) c) AS flagged_alike,
    (SELECT count(*) FROM exact) AS exact, (SELECT count(*) FROM (SELECT one, other FROM exact EXCEPT SELECT one, other FROM pairs) e) AS missed,
    (SELECT lsbf_fnr(f, :near) FROM filters) AS latin_fnr, lsbf_fnr(all_ideographs, :near) AS ideographs_fnr,
    (SELECT sum(pg_column_size(pixels)) FROM latin) AS latin_bytes, (SELECT sum(pg_column_size(pixels)) FROM ideographs) AS ideographs_bytes,
    (SELECT octet_length(f::bytea) FROM filters) AS latin_filter, octet_length(all_ideographs::bytea) AS ideographs_filter
  FROM (SELECT lsbf_agg(pixels, (SELECT ideographs FROM chosen)) AS all_ideographs FROM ideographs) a
)
SELECT unnest(ARRAY[
  line('', 'like A-Z a-z 0-9', 'ideographs'),
  line('characters queried', whole(others), whole(ideographs)),
  line('passed the filter', whole(passed), whole(flagged)),
  line('  alike', whole(passed_alike), whole(flagged_alike), 'at most ' || :pixels || ' of 256 pixels differ'),
  line('  not alike', whole(passed - passed_alike), whole(flagged - flagged_alike), 'false positives, removed by comparing'),
  line('missed, though alike', (alike - passed_alike) || ' of ' || alike, missed || ' of ' || exact,
    'false negatives' || CASE WHEN :part > 1 THEN format(', of pairs of every %sth ideograph', :part) ELSE ', of pairs' END),
  line('  predicted, at most', percent(latin_fnr), percent(2 * ideographs_fnr), 'a pair must be flagged by both passes'),
  line('bytes of the pixels', whole(latin_bytes), whole(ideographs_bytes)),
  line('bytes of the filter', whole(latin_filter), whole(ideographs_filter), '62 rows are too few to save space'),
  line('time, comparing all', seconds('exact latin'), seconds('exact ideographs', :part),
    CASE WHEN :part > 1 THEN format('extrapolated from every %sth ideograph', :part) ELSE '' END),
  line('time, filter and comparing', seconds('query latin'), seconds('query ideographs')),
  line('time, choosing the filter', seconds('choose latin'), seconds('choose ideographs'), 'once')
]) FROM figures;
