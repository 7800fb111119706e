-- Filters that are kept up to date with their tables.

-- A trigger adds inserted vectors. A row-level trigger is enough if rows are inserted one at a time.
CREATE TABLE songs (id serial PRIMARY KEY, embedding real[]);
CREATE TABLE song_filter (f lsbf NOT NULL);
INSERT INTO song_filter VALUES (lsbf_new(dims => 3, capacity => 1000, near => 0.1));
CREATE FUNCTION add_song() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE song_filter SET f = lsbf_add(f, NEW.embedding);
  RETURN NULL;
END $$;
CREATE TRIGGER add_song AFTER INSERT OR UPDATE OF embedding ON songs FOR EACH ROW WHEN (NEW.embedding IS NOT NULL) EXECUTE FUNCTION add_song();
INSERT INTO songs (embedding) SELECT ARRAY[i * 37 % 1001, i * i % 997, i] FROM generate_series(1, 100) i;
INSERT INTO songs (embedding) VALUES (NULL), ('{1,2,3}');
UPDATE songs SET embedding = '{-1,-2,-3}' WHERE id = 1;
SELECT count(*) AS songs, count(*) FILTER (WHERE approx_member(f, embedding)) AS found FROM songs, song_filter;
-- Members are never removed: the old vector of an updated song is found until the filter is rebuilt.
SELECT approx_member(f, '{37,1,1}') AS old FROM song_filter;
UPDATE song_filter SET f = (SELECT lsbf_agg(embedding, lsbf_new(dims => 3, capacity => 1000, near => 0.1)) FROM songs);
SELECT approx_member(f, '{37,1,1}') AS old, approx_member(f, '{-1,-2,-3}') AS new FROM song_filter;
-- A rollback undoes the additions.
BEGIN;
INSERT INTO songs (embedding) VALUES ('{500,500,500}');
SELECT approx_member(f, '{500,500,500}') AS before_rollback FROM song_filter;
ROLLBACK;
SELECT approx_member(f, '{500,500,500}') AS after_rollback FROM song_filter;

-- One update per statement, for any number of rows: a transition table and lsbf_agg with the stored filter as prototype.
DROP TRIGGER add_song ON songs;
CREATE FUNCTION add_songs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE song_filter SET f = coalesce((SELECT lsbf_agg(embedding, song_filter.f) FROM added), f);
  RETURN NULL;
END $$;
CREATE TRIGGER add_songs AFTER INSERT ON songs REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_songs();
INSERT INTO songs (embedding) SELECT ARRAY[-i * 37 % 1001, -i * i % 997, i] FROM generate_series(1, 500) i;
INSERT INTO songs (embedding) VALUES (NULL);
INSERT INTO songs (embedding) SELECT embedding FROM songs WHERE false;
SELECT count(*) FILTER (WHERE approx_member(f, embedding)) = count(embedding) AS all_found FROM songs, song_filter;
SELECT f = (SELECT lsbf_agg(embedding, lsbf_new(dims => 3, capacity => 1000, near => 0.1)) FROM songs) AS as_if_built_at_once FROM song_filter;
-- A vector of other dimensions is refused, and its row is not stored.
INSERT INTO songs (embedding) VALUES ('{1,2}');
SELECT count(*) AS not_stored FROM songs WHERE array_length(embedding, 1) = 2;
-- A NOT NULL column catches a missing WHEN clause: lsbf_add of a NULL vector is NULL.
SELECT expect_error('UPDATE song_filter SET f = lsbf_add(f, NULL)');

-- A rolling window: one filter per day, merged for the last three days. Old days are deleted, not subtracted.
CREATE TABLE daily (day date PRIMARY KEY, f lsbf NOT NULL);
CREATE FUNCTION prototype() RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$ SELECT ilbf_new(dims => 3, capacity => 1000, near => 0.1) $$;
CREATE FUNCTION seen(on_day date, v real[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO daily VALUES (on_day, lsbf_add(prototype(), v)) ON CONFLICT (day) DO UPDATE SET f = lsbf_add(daily.f, v)
$$;
SELECT count(seen(date '2024-01-01' + i / 50, ARRAY[i * 37 % 1001, i * i % 997, i])) FROM generate_series(0, 499) i;
CREATE VIEW recent AS SELECT lsbf_union_agg(f) AS f FROM daily WHERE day > (SELECT max(day) - 3 FROM daily);
SELECT count(*) FILTER (WHERE approx_member(f, ARRAY[i * 37 % 1001, i * i % 997, i])) AS last_three_days FROM recent, generate_series(350, 499) i;
SELECT count(*) FILTER (WHERE approx_member(f, ARRAY[i * 37 % 1001, i * i % 997, i])) < 20 AS earlier_days FROM recent, generate_series(0, 349) i;
SELECT f = (SELECT lsbf_agg(ARRAY[i * 37 % 1001, i * i % 997, i], prototype()) FROM generate_series(350, 499) i) AS union_is_the_filter_of_the_union FROM recent;
SELECT day, lsbf_members(f) BETWEEN 44 AND 56 AS about_50, lsbf_members(lsbf_union_agg(f) OVER (ORDER BY day ROWS 2 PRECEDING)) BETWEEN 44 AND 170 AS about_150 FROM daily ORDER BY day;
DELETE FROM daily WHERE day < '2024-01-08';
SELECT count(*), lsbf_union_agg(f) = (SELECT f FROM recent) AS same FROM daily;
-- Merging the same days repeatedly changes nothing.
SELECT lsbf_union_agg(d.f | r.f) = r.f AS idempotent FROM daily d, recent r GROUP BY r.f;
