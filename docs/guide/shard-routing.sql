-- needs postgres_fdw
-- Shard routing: rows lie on several servers, and a question goes only to those that may have an answer.
-- Run it in an empty database: psql -f shard-routing.sql
-- The shards would be servers. To be tried on one, they are schemas of this database, each reached through a connection.

CREATE EXTENSION pg_lsbf;
CREATE EXTENSION postgres_fdw;

-- Eight shards of 1,000 songs each, vectors of 16 numbers, behind one table.
CREATE FUNCTION vector_of(seed float8) RETURNS real[] LANGUAGE sql IMMUTABLE AS
  'SELECT array_agg((100 * sin(seed * j ^ 1.5))::real ORDER BY j) FROM generate_series(1, 16) j';
CREATE FUNCTION distance(real[], real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT sqrt(sum((x - y) ^ 2)) FROM unnest($1, $2) AS u (x, y)';
CREATE TABLE songs (shard int NOT NULL, id int, v real[]) PARTITION BY LIST (shard);
DO $$
DECLARE
  place text := format('host %L, port %L, dbname %L', split_part(current_setting('unix_socket_directories'), ', ', 1), current_setting('port'), current_database());
BEGIN
  FOR n IN 1 .. 8 LOOP
    EXECUTE format('CREATE SCHEMA shard%s', n);
    EXECUTE format('CREATE TABLE shard%s.songs AS SELECT %s AS shard, id, vector_of(id) AS v FROM generate_series(%s, %s) id', n, n, 1000 * n - 999, 1000 * n);
    EXECUTE format('CREATE SERVER shard%s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s, extensions ''pg_lsbf'')', n, place);
    EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER shard%s OPTIONS (user %L)', n, current_user);
    EXECUTE format('CREATE FOREIGN TABLE songs_%s PARTITION OF songs FOR VALUES IN (%s) SERVER shard%s OPTIONS (schema_name %L, table_name ''songs'')',
      n, n, n, 'shard' || n);
  END LOOP;
END $$;

-- The routing table: a filter a shard, built there; only the filters travel. Grouping by the column that partitions, and this setting,
-- let PostgreSQL aggregate at the shards.
SET enable_partitionwise_aggregate = on;
CREATE TABLE routes AS
  SELECT shard, lsbf_agg(v, lsbf_new(dims => 16, capacity => 1000, near => 2)) AS f FROM songs GROUP BY shard;
SELECT count(*) AS shards, sum(octet_length(f::bytea)) AS bytes, round(100 * max(lsbf_fnr(f, 2))::numeric, 1) AS "% missed at 2 at most" FROM routes;

-- A question: song 4,321 with a little noise, and something that nobody has.
CREATE TABLE questions (name text, v real[]);
INSERT INTO questions
  SELECT 'noisy 4321', array_agg(x + 0.2 ORDER BY n) FROM unnest(vector_of(4321)) WITH ORDINALITY AS u (x, n)
  UNION ALL SELECT 'unknown', vector_of(0.77);
SELECT name, ARRAY(SELECT shard FROM routes WHERE approx_member(f, v) ORDER BY shard) AS shards FROM questions;

-- Hand the shards over as a value: the others are not even connected to, and may be down. The question travels as a filter of one
-- member, as postgres_fdw would not send our own function `distance`.
CREATE FUNCTION near_songs(query real[]) RETURNS TABLE (shard int, id int, distance float8) STABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE
    'SELECT shard, id, distance(v, $3) FROM songs WHERE shard = ANY ($1) AND approx_member($2, v) AND distance(v, $3) <= 2'
    USING ARRAY(SELECT r.shard FROM routes r WHERE approx_member(f, query)),
      lsbf_add(lsbf_new(dims => 16, capacity => 10, near => 2), query), query;
END $$;
SELECT name, shard, id, round(distance::numeric, 2) AS distance FROM questions LEFT JOIN near_songs(v) ON true;

-- How many of the 8 shards are queried, for 200 rows that have a near row on one shard each?
SELECT count(*) AS rows, sum(queried) AS queried, 200 * 8 AS without_routing, count(*) FILTER (WHERE NOT right_one) AS right_one_left_out FROM (
  SELECT count(shard) AS queried, coalesce(bool_or(shard = q.home), false) AS right_one
  FROM (SELECT 37 * n AS id, (37 * n - 1) / 1000 + 1 AS home, ARRAY(SELECT x + 0.2 FROM unnest(vector_of(37 * n)) x) AS v FROM generate_series(1, 200) n) q
  LEFT JOIN routes ON approx_member(f, q.v) GROUP BY q.id) a;

-- New rows must reach the routing table, or nothing leads to them. Merge a filter of the new rows only.
INSERT INTO songs VALUES (3, 8001, vector_of(8001));
SELECT count(*) AS before FROM near_songs(vector_of(8001));
UPDATE routes SET f = f | new FROM (
  SELECT lsbf_agg(v, lsbf_new(dims => 16, capacity => 1000, near => 2)) AS new FROM songs WHERE shard = 3 AND id > 8000) n WHERE shard = 3;
SELECT count(*) AS after FROM near_songs(vector_of(8001));
