-- Which uploads are near copies of a song we know? Once by comparing all pairs, once with a filter first.
\set QUIET on
\pset footer off
\set songs 8000
\set uploads 8000
\set copies 250
\set radius 20

CREATE EXTENSION pg_lsbf;

\echo '==> generating fingerprints of 1,024 bits: songs, and uploads some of which are altered copies'

-- 1,024 bits that look random but are the same in every run.
CREATE FUNCTION fingerprint(name text) RETURNS bit(1024) IMMUTABLE LANGUAGE sql AS $$
  SELECT ('x' || encode(sha512((name || ' a')::bytea), 'hex') || encode(sha512((name || ' b')::bytea), 'hex'))::bit(1024)
$$;

-- At most `changes` of the 1,024 bits set, for flipping them.
CREATE FUNCTION noise(seed int, changes int) RETURNS bit(1024) IMMUTABLE LANGUAGE sql AS $$
  SELECT bit_xor(1::bit(1024) << (hashint4(1000 * seed + i) & 1023)) FROM generate_series(1, changes) AS i
$$;

CREATE TABLE songs AS
  SELECT id, fingerprint('song ' || id) AS fp FROM generate_series(1, :songs) AS id;

-- Every copy has 8 to 20 bits flipped.
CREATE TABLE uploads AS
  SELECT id, CASE WHEN id % (:uploads / :copies) = 0
                  THEN fingerprint('song ' || id) # noise(id, 8 + id % 13)
                  ELSE fingerprint('upload ' || id) END AS fp
  FROM generate_series(1, :uploads) AS id;

VACUUM ANALYZE songs, uploads;

\echo '==> without a filter: comparing every upload with every song (10 to 20 seconds)'

SELECT clock_timestamp() AS start \gset
CREATE TABLE exact AS
  SELECT u.id FROM uploads u WHERE EXISTS (SELECT FROM songs s WHERE bit_count(s.fp # u.fp) <= :radius);
SELECT extract(epoch FROM clock_timestamp() - :'start') AS exact_s \gset

\echo '==> with a filter: building it from the songs'

SELECT clock_timestamp() AS start \gset
CREATE TABLE filters AS
  SELECT lsbf_agg(fp, dsbf_new(dims => 1024, capacity => :songs, near => 0.02, far => 0.4)) AS f FROM songs;
SELECT extract(epoch FROM clock_timestamp() - :'start') AS build_s \gset

\echo '==> with a filter: asking it about every upload'

SELECT clock_timestamp() AS start \gset
CREATE TABLE candidates AS
  SELECT u.* FROM uploads u, filters WHERE approx_member(f, u.fp);
SELECT extract(epoch FROM clock_timestamp() - :'start') AS probe_s \gset

\echo '==> with a filter: comparing the uploads that passed with every song'

SELECT clock_timestamp() AS start \gset
CREATE TABLE found AS
  SELECT c.id FROM candidates c WHERE EXISTS (SELECT FROM songs s WHERE bit_count(s.fp # c.fp) <= :radius);
SELECT extract(epoch FROM clock_timestamp() - :'start') AS check_s \gset

\echo
CREATE FUNCTION line(label text, figure text, note text DEFAULT '') RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT rtrim('  ' || rpad(label, 38) || lpad(figure, 12) || '   ' || note)
$$;
CREATE FUNCTION whole(n bigint) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT to_char(n, 'FM999,999,999,990')
$$;
CREATE FUNCTION seconds(s numeric) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT to_char(s, 'FM9990.00') || ' s'
$$;

WITH figures AS (
  SELECT (SELECT count(*) FROM songs) AS songs,
         (SELECT count(*) FROM uploads) AS uploads,
         (SELECT sum(pg_column_size(fp)) FROM songs) AS raw,
         (SELECT pg_column_size(f) FROM filters) AS filter,
         (SELECT count(*) FROM candidates) AS passed,
         (SELECT count(*) FROM exact) AS matches,
         (SELECT count(*) FROM found) AS found,
         :exact_s::numeric AS exact_s, :build_s::numeric AS build_s,
         :probe_s::numeric AS probe_s, :check_s::numeric AS check_s
)
SELECT unnest(ARRAY[
  line('songs', whole(songs), 'rows'),
  line('uploads', whole(uploads), 'rows'),
  line('songs'' fingerprints', whole(raw), 'bytes'),
  line('the filter', whole(filter), format('bytes: %s a song, %s%% of the fingerprints',
       round(filter / songs::numeric, 1), round(100 * filter / raw::numeric, 1))),
  line('uploads that passed the filter', whole(passed), format('of %s', whole(uploads))),
  line('true matches', whole(matches), 'uploads within ' || :radius || ' bits of a song'),
  line('  found with the filter', whole(found)),
  line('  missed with the filter', whole(matches - found)),
  line('time without the filter', seconds(exact_s), 'all pairs'),
  line('time with the filter', seconds(build_s + probe_s + check_s), format('build %s, probe %s, check what passed %s',
       seconds(build_s), seconds(probe_s), seconds(check_s))),
  line('faster by', to_char(exact_s / (build_s + probe_s + check_s), 'FM99990.0') || ' x')
]) FROM figures;
\echo
