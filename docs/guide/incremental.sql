-- Incremental filters: how a stored filter follows its table, and what to do about rows that go.
-- Run it in an empty database: psql -f incremental.sql

CREATE EXTENSION pg_lsbf;

-- Images as perceptual hashes of 256 bits. An image is known when at most 8 of them differ.
CREATE TABLE images (id int PRIMARY KEY, day date NOT NULL, hash bit(256) NOT NULL);
CREATE FUNCTION hash_of(name text) RETURNS bit(256) LANGUAGE sql IMMUTABLE AS 'SELECT (''x'' || encode(sha256(name::bytea), ''hex''))::bit(256)';

-- 1. A filter that is always right up to date: a trigger, once a statement. The stored filter is the prototype to which new rows are
-- added. Every statement writes the whole filter again and waits for others that do: load in batches.
CREATE TABLE known (f lsbf NOT NULL);
INSERT INTO known VALUES (dsbf_new(dims => 256, capacity => 5000, near => 8 / 256.0));
CREATE FUNCTION add_to_known() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE known SET f = coalesce((SELECT lsbf_agg(hash, f) FROM added), f);
  RETURN NULL;
END $$;
CREATE TRIGGER add_to_known AFTER INSERT ON images REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_known();

INSERT INTO images SELECT id, date '2026-03-01' + id / 500, hash_of('image ' || id) FROM generate_series(0, 2999) id;
-- An image that is known, with five bits changed, and a new one:
SELECT approx_member(f, hash_of('image 77') # B'1001100101'::bit(256)) AS known, approx_member(f, hash_of('new')) AS new FROM known;

-- 2. A filter a day: only today's is written, those of other days are merged when they are queried, and old days are dropped. All have the same
-- prototype, or they could not be merged. Its capacity is that of all days together.
CREATE TABLE daily AS
  SELECT day, lsbf_agg(hash, dsbf_new(dims => 256, capacity => 5000, near => 8 / 256.0)) AS f FROM images GROUP BY day;
CREATE TABLE last_three AS SELECT lsbf_union_agg(f) AS f FROM daily WHERE day > date '2026-03-06' - 3;
SELECT count(*) FILTER (WHERE day > date '2026-03-06' - 3) AS recent, count(*) FILTER (WHERE day <= date '2026-03-06' - 3) AS older
FROM images, last_three WHERE approx_member(f, hash);

-- 3. Rows that are deleted. A Bloom filter cannot forget: what was deleted still passes, and is dropped by the exact comparison.
DELETE FROM images WHERE id < 1000;
SELECT approx_member(f, hash_of('image 77')) AS still_passes FROM known;
-- Build it again when that gets expensive, in one statement; readers see the old one until it is committed.
UPDATE known SET f = (SELECT lsbf_agg(hash, dsbf_new(dims => 256, capacity => 5000, near => 8 / 256.0)) FROM images);
SELECT approx_member(f, hash_of('image 77')) AS still_passes FROM known;

-- 4. Vectors. A quotient filter (l2, cosine) grows with its members, and forgets those that are removed. One trigger follows all changes of the
-- table. Removing copies the filter once per row: if most rows are deleted at once, build it again.
CREATE TABLE songs (id int PRIMARY KEY, v real[] NOT NULL);
CREATE FUNCTION vector_of(seed float8) RETURNS real[] LANGUAGE sql IMMUTABLE AS
  'SELECT array_agg(sin(seed * j ^ 1.5)::real ORDER BY j) FROM generate_series(1, 40) j';
CREATE TABLE known_songs (f lsbf NOT NULL);
INSERT INTO known_songs VALUES (lsqf_new(dims => 40, near => 0.4));
CREATE FUNCTION follow_songs() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed lsbf := f FROM known_songs FOR UPDATE;
  removed real[];
BEGIN
  IF TG_OP <> 'INSERT' THEN
    FOR removed IN SELECT v FROM old_songs LOOP
      changed := lsbf_remove(changed, removed);
    END LOOP;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    changed := coalesce((SELECT changed | lsbf_agg(v, lsbf_empty(changed)) FROM new_songs), changed);
  END IF;
  UPDATE known_songs SET f = changed;
  RETURN NULL;
END $$;
CREATE TRIGGER songs_added AFTER INSERT ON songs REFERENCING NEW TABLE AS new_songs FOR EACH STATEMENT EXECUTE FUNCTION follow_songs();
CREATE TRIGGER songs_removed AFTER DELETE ON songs REFERENCING OLD TABLE AS old_songs FOR EACH STATEMENT EXECUTE FUNCTION follow_songs();
CREATE TRIGGER songs_changed AFTER UPDATE ON songs REFERENCING OLD TABLE AS old_songs NEW TABLE AS new_songs
  FOR EACH STATEMENT EXECUTE FUNCTION follow_songs();

INSERT INTO songs SELECT id, vector_of(id) FROM generate_series(1, 2000) id;
DELETE FROM songs WHERE id <= 200;
UPDATE songs SET v = vector_of(id + 0.5) WHERE id > 1900;
SELECT lsbf_members(f) AS members, approx_member(f, vector_of(77)) AS deleted, approx_member(f, vector_of(1950)) AS replaced,
  approx_member(f, vector_of(1950.5)) AS replacement FROM known_songs;
-- The filter is the one that the remaining rows give, byte for byte.
SELECT f = (SELECT lsbf_agg(v, lsqf_new(dims => 40, near => 0.4)) FROM songs) AS same FROM known_songs;

-- 5. More members than a Bloom filter was designed for: nothing breaks, but the false positive rate rises. Watch it, and build a larger filter in time.
CREATE TABLE grown AS
  SELECT n, lsbf_agg(hash_of('image ' || id), dsbf_new(dims => 256, capacity => 5000, near => 8 / 256.0)) AS f
  FROM (VALUES (2000), (5000), (20000)) s (n), generate_series(1, n) id GROUP BY n;
SELECT n AS members, lsbf_members(f) AS estimated, capacity, round(fill::numeric, 2) AS fill, round(fpr::numeric, 4) AS fpr_predicted,
  (SELECT round(avg(approx_member(f, hash_of('unrelated ' || i))::int), 4) FROM generate_series(1, 5000) i) AS fpr_measured
FROM grown, lsbf_info(f) ORDER BY n;
