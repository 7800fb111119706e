-- needs postgres_fdw
-- A join between servers in which a filter travels, not the rows: which songs of the archive are near one of our uploads?
-- Run it in an empty database: psql -f bloom-join.sql
-- The archive would be another server. To be tried on one, it is a schema of this database, reached through a connection.

CREATE EXTENSION pg_lsbf;
CREATE EXTENSION postgres_fdw;

-- At the archive: 5,000 songs as fingerprints of 1,024 bits.
CREATE SCHEMA archive;
CREATE FUNCTION fingerprint(name text) RETURNS bit(1024) IMMUTABLE LANGUAGE sql AS
  'SELECT (''x'' || encode(sha512((name || '' a'')::bytea), ''hex'') || encode(sha512((name || '' b'')::bytea), ''hex''))::bit(1024)';
CREATE TABLE archive.songs AS SELECT id, fingerprint('song ' || id) AS fp FROM generate_series(1, 5000) id;
ANALYZE archive.songs;

-- Here: 200 uploads. Every fifth is a song of the archive with 12 bits changed.
CREATE TABLE uploads AS
  SELECT id, CASE WHEN id % 5 = 0 THEN fingerprint('song ' || 20 * id) # repeat('111' || repeat('0', 253), 4)::bit(1024)
    ELSE fingerprint('upload ' || id) END AS fp
  FROM generate_series(1, 200) id;
ANALYZE uploads;

-- The connection. extensions 'pg_lsbf' lets functions of pg_lsbf run at the other side; it must be installed there too.
SELECT split_part(current_setting('unix_socket_directories'), ', ', 1) AS socket, current_setting('port') AS port \gset
CREATE SERVER archive FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host :'socket', port :'port', dbname :'DBNAME', extensions 'pg_lsbf', use_remote_estimate 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER archive OPTIONS (user :'USER');
CREATE FOREIGN TABLE songs (id int, fp bit(1024)) SERVER archive OPTIONS (schema_name 'archive', table_name 'songs');

-- How many rows a query fetches from the archive.
CREATE FUNCTION fetched(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE line text; fetched bigint := 0;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, TIMING off, COSTS off, SUMMARY off) ' || query LOOP
    IF line ~ 'Foreign Scan' THEN fetched := fetched + substring(line FROM 'rows=(\d+)')::bigint; END IF;
  END LOOP;
  RETURN fetched;
END $$;

-- Without a filter every song is fetched and compared: alike when at most 20 bits differ.
SELECT fetched('SELECT FROM uploads u JOIN songs s ON bit_count(u.fp # s.fp) <= 20');

-- A filter of our uploads goes out with the query, and only songs that pass come back. near is a share of the 1,024 bits.
CREATE TABLE mine AS SELECT lsbf_agg(fp, dsbf_new(dims => 1024, capacity => 200, near => 20 / 1024.0)) AS f FROM uploads;
SELECT fetched('SELECT FROM songs WHERE approx_member((SELECT f FROM mine), fp)'), octet_length(f::bytea) AS "bytes of the filter" FROM mine;

-- What came back is compared exactly.
WITH passed AS MATERIALIZED (SELECT * FROM songs WHERE approx_member((SELECT f FROM mine), fp))
SELECT count(*) AS pairs, count(*) FILTER (WHERE p.id = 20 * u.id) AS planted FROM passed p JOIN uploads u ON bit_count(u.fp # p.fp) <= 20;

-- What the filter misses, it says: the share of songs at a distance of 12 and of 20 bits that it does not let pass.
SELECT round(lsbf_fnr(f, 12 / 1024.0)::numeric, 5) AS at_12, round(lsbf_fnr(f, 20 / 1024.0)::numeric, 5) AS at_20 FROM mine;
