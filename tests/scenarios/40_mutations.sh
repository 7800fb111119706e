#!/usr/bin/env bash
# Values with changed bytes, read as text, as bytea and by COPY BINARY: refused with a reason, or usable in every way.
#   COUNT=...   number of values; tests/faults/mutations.sh uses more
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

COUNT=${COUNT:-6000}
server_start main "jit = off" "max_parallel_workers_per_gather = 0"

# The golden files, which are filters of every kind with members; then empty filters.
server_psql main -c "CREATE EXTENSION pg_lsbf; CREATE TABLE golden (id serial, name text, value text)"
for file in crates/lsbf/tests/golden/*.txt; do
  printf '%s\t%s\n' "$(basename "$file" .txt)" "$(tr -d '\n' <"$file")"
done | server_psql main -c "COPY golden (name, value) FROM STDIN"

server_psql main <<'SQL'
INSERT INTO golden (name, value) VALUES
  ('empty dsbf', dsbf_new(dims => 24, capacity => 100, near => 0.05, far => 0.4)),
  ('empty lsbf', lsbf_new(capacity => 100, near => 1)),
  ('empty ilbf', ilbf_new(dims => 24, capacity => 100, near => 1)),
  ('empty any', lsbf_new(match => 'any', metric => 'jaccard', capacity => 100, near => 0.1)),
  ('empty lsqf', lsqf_new(dims => 24, near => 1));
INSERT INTO golden (name, value)
  SELECT 'lsqf ' || n, lsbf_agg(ARRAY(SELECT sin(id * j * j)::real FROM generate_series(1, 64) AS j), lsqf_new(metric => 'cosine', near => 0.01))
  FROM (VALUES (5), (100)) AS t(n), generate_series(1, n) AS id GROUP BY n;
-- The golden files of these kinds become lists when they are read; these filters have enough members to stay words.
INSERT INTO golden (name, value)
  SELECT 'words ' || lsbf_kind(p), lsbf_agg(('x' || md5(id::text))::bit(24), p) FROM generate_series(1, 40) AS id, (VALUES
    (dsbf_new(dims => 24, capacity => 20, near => 0.05, far => 0.4)), (lsbf_new(metric => 'hamming', dims => 24, capacity => 20, near => 0.05))) AS t(p) GROUP BY p;
INSERT INTO golden (name, value)
  SELECT 'words ilbf', lsbf_agg(ARRAY(SELECT id * j % 97 FROM generate_series(1, 24) j)::real[], ilbf_new(dims => 24, capacity => 10, near => 1))
  FROM generate_series(1, 90) AS id;
CREATE TABLE refused (way text, state text, message text);
CREATE TABLE used (way text, name text);
CREATE TABLE defects (way text, name text, n int, what text, value bytea);
CREATE TABLE received (f lsbf);

-- A pseudorandom number less than `below`.
CREATE FUNCTION draw(n bigint, salt bigint, below int) RETURNS int IMMUTABLE LANGUAGE sql AS
  $$ SELECT ((hashint8extended(n, salt) % below + below) % below)::int $$;

CREATE FUNCTION mutated(b bytea, n int) RETURNS bytea IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  -- Most changes are in the header and the parameters, where they matter most.
  at int := draw(n, 1, CASE WHEN draw(n, 2, 4) = 0 THEN length(b) ELSE least(length(b), 110) END);
  extreme bytea := (ARRAY['\x00000000', '\xffffffff', '\xffffff7f', '\x00000080', '\x01000000', '\xfcffffff'])[1 + draw(n, 3, 6)];
  bit int;
  ones int;
BEGIN
  CASE draw(n, 4, 8)
    WHEN 0, 1 THEN RETURN set_byte(b, at, draw(n, 5, 256));
    WHEN 2 THEN RETURN set_byte(b, at, get_byte(b, at) # (1 << draw(n, 6, 8)));
    WHEN 3 THEN RETURN set_byte(b, at, (get_byte(b, at) + 255 + 2 * draw(n, 7, 2)) % 256);
    WHEN 4 THEN RETURN substr(overlay(b PLACING extreme FROM at + 1), 1, length(b));
    WHEN 5 THEN RETURN substr(b, 1, at);
    WHEN 6 THEN RETURN b || substr(b, 1, 1 + at % 16);
    ELSE
      -- Sets one more bit and increments the count of bits, so that the value stays valid.
      bit := 8 * length(b) - 1 - draw(n, 8, 8 * greatest(length(b) - 1200, 8));
      ones := get_byte(b, 20) + 1;
      IF get_bit(b, bit) = 1 OR ones > 255 THEN RETURN set_byte(b, at, draw(n, 9, 256)); END IF;
      RETURN set_byte(set_bit(b, bit, 1), 20, ones);
  END CASE;
END $$;

-- A vector that a filter accepts, as text.
CREATE FUNCTION vector_for(f lsbf) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN metric = 'jaccard' THEN '{a,b,c}'
    WHEN family = 'symbols' THEN repeat('x', n)
    WHEN metric = 'hamming' THEN left(repeat('011', n), n)
    ELSE '[' || rtrim(repeat('1.5,', n), ',') || ']' END
  FROM (SELECT metric, family, coalesce(dims, 24) AS n FROM lsbf_info(f)) s
$$;

-- Reads a value in one of three ways.
CREATE FUNCTION received(way text, b bytea, file text) RETURNS lsbf LANGUAGE plpgsql AS $$
DECLARE f lsbf;
BEGIN
  CASE way
    WHEN 'text' THEN RETURN translate(encode(b, 'base64'), E'\n', '')::lsbf;
    WHEN 'bytea' THEN RETURN b::lsbf;
    ELSE
      -- The binary format of a filter is that of its bytea.
      EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', b, file);
      DELETE FROM received;
      EXECUTE format('COPY received FROM %L (FORMAT binary)', file);
      -- A copy, not a TOAST pointer to the row, which is deleted soon.
      SELECT r.f::bytea::lsbf INTO f FROM received r;
      RETURN f;
  END CASE;
END $$;

-- Uses a value in every way, and raises an error if anything is wrong.
CREATE FUNCTION use(f lsbf, original lsbf, file text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v text := vector_for(f);
  grown lsbf := lsbf_add(f, v);
  rate float8 := lsbf_fpr(f);
  missed float8 := lsbf_fnr(f, (lsbf_info(f)).near);
  -- Members of a quotient filter are a multiset.
  is_set boolean := lsbf_kind(f) <> 'lsqf';
BEGIN
  PERFORM approx_member(f, v), approx_member(f, v, least(2, (lsbf_info(f)).max_theta)), approx_votes(f, v), lsbf_members(f), lsbf_kind(f), lsbf_hash(f);
  ASSERT approx_member(grown, v), 'a member is not found';
  ASSERT f | f = f OR NOT is_set, 'the union with itself differs';
  ASSERT f | grown = grown OR NOT is_set, 'the union with a larger filter differs';
  ASSERT is_set OR lsbf_remove(grown, v) = f, 'removing a vector does not undo adding it';
  ASSERT f::text::lsbf = f AND f::bytea::lsbf = f, 'it differs after text or bytea output and input';
  ASSERT length(lsbf_explain(f)) > 20, 'lsbf_explain is empty';
  ASSERT rate BETWEEN 0 AND 1 AND missed BETWEEN 0 AND 1, format('rates %s and %s', rate, missed);
  ASSERT lsbf_overlap(f, f) BETWEEN 0 AND 1, 'lsbf_overlap is not a share';
  EXECUTE format('COPY (SELECT %L::lsbf) TO %L (FORMAT binary)', f, file);
  DELETE FROM received;
  EXECUTE format('COPY received FROM %L (FORMAT binary)', file);
  ASSERT (SELECT r.f = use.f FROM received r), 'it differs after COPY';
  BEGIN
    PERFORM f | original;
  EXCEPTION WHEN data_exception THEN
    IF SQLERRM NOT LIKE 'filters differ in %' THEN RAISE; END IF;
  END;
END $$;

CREATE FUNCTION try(way text, name text, n int, b bytea, original lsbf, file text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE f lsbf;
BEGIN
  BEGIN
    f := received(way, b, file);
  EXCEPTION WHEN OTHERS THEN
    INSERT INTO refused VALUES (way, SQLSTATE, SQLERRM);
    RETURN;
  END;
  PERFORM use(f, original, file);
  INSERT INTO used VALUES (way, name);
EXCEPTION WHEN OTHERS OR assert_failure THEN
  -- A quotient filter with a tiny near rejects vectors of ordinary size, as it should.
  IF SQLERRM LIKE 'near % is too small for this vector%' AND (lsbf_info(f)).near < 1e-5 THEN
    INSERT INTO used VALUES (way, name);
  ELSE
    INSERT INTO defects VALUES (way, name, n, SQLSTATE || ': ' || SQLERRM, b);
  END IF;
END $$;

-- Commits periodically, so that the memory that errors take within a transaction is not measured.
CREATE PROCEDURE try_all(way text, first int, last int, file text) LANGUAGE plpgsql AS $$
DECLARE
  n int;
  g record;
  filters int := (SELECT count(*) FROM golden);
BEGIN
  FOR n IN first..last LOOP
    -- The bytes of the file itself: read as a filter, words with few members would become a list.
    SELECT name, value::lsbf AS f, decode(value, 'base64') AS b INTO g FROM golden WHERE id = 1 + n % filters;
    PERFORM try(way, g.name, n, mutated(g.b, n), g.f, file);
    IF n % 500 = 0 THEN
      TRUNCATE received;
      COMMIT;
    END IF;
  END LOOP;
END $$;

\i scripts/lib/peak.sql
SQL

query() { server_query main "$1"; }
each=$((COUNT / 3))
number=0
for way in text bytea copy; do
  kb=$(server_psql main -At <<SQL
SELECT peak() AS before \gset
CALL try_all('$way', $number + 1, $number + $each, '$(server_dir main)/value');
SELECT peak() - :before;
SQL
  )
  number=$((number + each))
  # For cached hash functions and the simulations that predict rates; a value that claims to be large must not add to it.
  assert_at_most "$way: memory stays within bounds (grew by $kb kB)" "$kb" 262144
done

assert_eq "every value was refused or used" "$(query "SELECT (SELECT count(*) FROM refused) + (SELECT count(*) FROM used)")" $((3 * each))
assert_eq "every accepted value can be used" "$(query "SELECT way, name, n, left(what, 300) FROM defects LIMIT 10")" ""
assert_eq "every refused value has the right SQLSTATE" \
  "$(query "SELECT DISTINCT state, message FROM refused WHERE state <> CASE way WHEN 'text' THEN '22P02' ELSE '22P03' END LIMIT 10")" ""
assert_eq "every message gives a reason" "$(query "SELECT DISTINCT message FROM refused WHERE message NOT LIKE 'not a valid filter: %' OR length(message) NOT BETWEEN 25 AND 300
  OR message ~* 'panic|unwrap|out of range for slice|out of bounds|attempt to|\.rs\y' LIMIT 10")" ""
assert_at_most "more than a tenth was accepted ($(query "SELECT count(*) FROM used") of $((3 * each)))" $((3 * each / 10)) \
  "$(query "SELECT count(*) FROM used")"
assert_eq "the originals include words of every kind" "$(query "SELECT string_agg(DISTINCT lsbf_kind(value::lsbf), ' ') FROM golden WHERE get_byte(value::lsbf::bytea, 5) = 1")" "dsbf ilbf lsbf"
assert_at_most "accepted values come from nearly every original" 28 "$(query "SELECT count(DISTINCT name) FROM used")"
assert_eq "the server did not crash or panic" \
  "$(grep -cE 'PANIC|panicked|terminated by signal|was terminated' "$(server_dir main)/log" || true)" 0

# Text that is not quite base64.
assert_eq "damaged text is refused" "$(query "
  CREATE FUNCTION state(t text) RETURNS text LANGUAGE plpgsql AS \$\$
    BEGIN PERFORM t::lsbf; RETURN 'accepted'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END \$\$;
  SELECT string_agg(DISTINCT state(overlay(value PLACING c FROM 1 + draw(n, 1, length(value)) FOR draw(n, 2, 3))), ' ')
  FROM golden, generate_series(1, 20) n, unnest(ARRAY['!', '=', ' ', '-', E'\\u00e9', E'\\n', '====']) c
  WHERE overlay(value PLACING c FROM 1 + draw(n, 1, length(value)) FOR draw(n, 2, 3)) <> value")" 22P02
