#!/usr/bin/env bash
# Filters whose bits are a list: the same however they are built, and expanded while they are queried often.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_parallel_workers_per_gather = 0" "jit = off"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ARRAY[sin(id), cos(id * 3), sin(id * id), cos(id * 7) * 5, id % 50]::real[] AS v FROM generate_series(1, 3000) id;
CREATE TABLE prototypes(name, p) AS VALUES
  ('dsbf', dsbf_new(metric => 'l2', dims => 5, capacity => 20000, near => 0.1)),
  ('lsbf', lsbf_new(metric => 'l2', dims => 5, capacity => 20000, near => 0.1)),
  ('ilbf', ilbf_new(metric => 'l2', dims => 5, capacity => 20000, near => 0.1)),
  ('any', lsbf_new(metric => 'l1', match => 'any', dims => 5, capacity => 20000, near => 0.1, far => 1));
-- Groups of 1, 2, 3 ... rows.
CREATE TABLE groups AS
  SELECT name, g, lsbf_agg(v, p) AS f FROM prototypes, generate_series(1, 15) g, vectors WHERE id <= g * g GROUP BY name, g;
VACUUM ANALYZE;
SQL
query() { server_query main "$1"; }

assert_eq "there are lists in the table, lists that are stored elsewhere, and words" "$(query "
  SELECT count(*) FILTER (WHERE pg_column_size(f) < 2000) > 10, count(*) FILTER (WHERE pg_column_size(f) BETWEEN 2001 AND 20000) > 10,
    count(*) FILTER (WHERE pg_column_size(f) > 100000) > 4 FROM groups")" "t|t|t"
assert_eq "adding one by one gives the same filters" "$(query "
  WITH RECURSIVE added(name, id, f) AS (SELECT name, 0, p FROM prototypes
    UNION ALL SELECT name, a.id + 1, lsbf_add(f, v) FROM added a JOIN vectors w ON w.id = a.id + 1 WHERE a.id < 100)
  SELECT count(*), bool_and(a.f = g.f) FROM added a JOIN groups g ON a.name = g.name AND a.id = g.g ^ 2")" "40|t"
assert_eq "merging filters of one member gives the same filters" "$(query "
  SELECT count(*), bool_and(u = f) FROM groups,
  LATERAL (SELECT lsbf_union_agg(lsbf_add(p, v)) AS u FROM prototypes p, vectors WHERE p.name = groups.name AND id <= g * g) s")" "60|t"
assert_eq "merging filters of many members gives the same filters" "$(query "
  SELECT count(*), bool_and(u = v) FROM (SELECT name, lsbf_union_agg(f ORDER BY g) AS u, lsbf_union_agg(f ORDER BY g DESC) AS v FROM groups GROUP BY name) s")" "4|t"
assert_eq "a filter with members as the prototype gives the same filters" "$(query "
  SELECT count(*), bool_and(u = f) FROM groups,
  LATERAL (SELECT lsbf_agg(v, lsbf_add(p, ARRAY[sin(1), cos(3), sin(1), cos(7) * 5, 1]::real[])) AS u
    FROM prototypes p, vectors WHERE p.name = groups.name AND id <= g * g) s WHERE g <= 12")" "48|t"
assert_eq "as a window function, every row has the filter of the rows before it" "$(query "
  SELECT count(*), bool_and(w = f) FROM groups g JOIN (SELECT name, id, lsbf_agg(v, p) OVER (PARTITION BY name ORDER BY id) AS w
    FROM prototypes, vectors WHERE id <= 100) s ON s.name = g.name AND s.id = g.g ^ 2")" "40|t"
assert_eq "two workers give the same filters" "$(query "
  SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2;
  SELECT bool_and(u = f) FROM groups, LATERAL (SELECT lsbf_agg(v, (SELECT p FROM prototypes p WHERE p.name = groups.name)) AS u FROM vectors WHERE id <= g * g) s" | tail -1)" t
assert_match "what comes back from text and bytea is the same" "$(query "SELECT bool_and(f::text::lsbf = f AND f::bytea::lsbf = f) FROM groups")" t

# Words of these filters do not fit into 1 MB, so that lists are searched.
answers() { # answers SETTING FROM: a hash of all answers
  server_psql main -At -c "SET lsbf.cache_size = '$1'" \
    -c "SELECT md5(string_agg(format('%s %s %s %s', name, g, id, approx_member(f, v)), ' ' ORDER BY name, g, id)) FROM $2" | tail -1
}
for order in "groups, LATERAL (SELECT * FROM vectors WHERE id % 30 = 0 OFFSET 0) v" "(SELECT * FROM vectors WHERE id % 30 = 0 OFFSET 0) v, LATERAL (SELECT * FROM groups OFFSET 0) g" \
  "prototypes, generate_series(1, 12) g, LATERAL (SELECT lsbf_agg(v, p) AS f FROM vectors WHERE id <= g * g) s, vectors WHERE vectors.id % 30 = 0"; do
  assert_eq "expanded lists give the same answers: ${order:0:30}" "$(answers 128MB "$order")" "$(answers 1MB "$order")"
done
assert_eq "values that take turns at one address are not confused" "$(query "
  DO \$\$
  DECLARE
    each record;
    answer boolean;
  BEGIN
    FOR i IN 1..300 LOOP
      FOR each IN SELECT id, v, (SELECT p FROM prototypes WHERE name = 'dsbf') AS p FROM vectors WHERE id <= 2 LOOP
        SELECT approx_member(lsbf_add(each.p, each.v), v) INTO answer FROM vectors WHERE id = 3 - each.id;
        IF answer THEN RAISE 'wrong'; END IF;
      END LOOP;
    END LOOP;
  END \$\$" && echo right)" right

output=$(server_psql main -At <<'SQL'
BEGIN;
SELECT count(*) FROM groups, vectors WHERE name = 'dsbf' AND g = 3 AND approx_member(f, v) \g /dev/null
SELECT 'one list', count(*), sum(total_bytes) > 500000 FROM pg_backend_memory_contexts WHERE name = 'pg_lsbf list';
COMMIT;
SELECT 'after the transaction', count(*) FROM pg_backend_memory_contexts WHERE name = 'pg_lsbf list';
BEGIN;
SELECT count(*) FILTER (WHERE approx_member((SELECT f FROM groups WHERE name = 'ilbf' AND g = 7), v)),
  count(*) FILTER (WHERE approx_member((SELECT f FROM groups WHERE name = 'ilbf' AND g = 8), v)) FROM vectors \g /dev/null
SELECT 'two lists in turn', count(*) FROM pg_backend_memory_contexts WHERE name = 'pg_lsbf list';
COMMIT;
SET lsbf.cache_size = '20MB';
BEGIN;
SELECT count(*) FROM groups, vectors WHERE approx_member(f, v) \g /dev/null
SELECT 'all', bytes <= 20 * 1048576 FROM lsbf_cache() WHERE kind = 'filters';
SELECT 'all', count(*) > 0, sum(total_bytes) < 21 * 1048576 FROM pg_backend_memory_contexts WHERE name ~ 'pg_lsbf (list|filter)$';
COMMIT;
SQL
)
assert_eq "expanded lists are counted, limited and released" "$output" "one list|1|t
after the transaction|0
two lists in turn|2
all|t
all|t|t"

# Words of 6.4 MB and a list of 2.5 MB when expanded do not fit into 8 MB together.
assert_eq "a list that displaces a filter, which displaces it, is expanded ever more rarely" "$(query "
  CREATE TABLE rivals AS SELECT bits, lsbf_agg(v, lsbf_new(metric => 'l2', dims => 5, bits => bits, capacity => 1000000, near => 0.1, tables => 5, hashes => 4)) AS f
    FROM (VALUES (40000000, 3000), (20000000, 2)) s(bits, members), generate_series(1, 30) g,
    LATERAL (SELECT ARRAY[v[1] + g, v[2], v[3], v[4], v[5]] AS v FROM vectors WHERE id <= members) v GROUP BY bits;
  SET lsbf.cache_size = '8MB';
  BEGIN;
  SELECT count(approx_member((SELECT f FROM rivals WHERE bits = 20000000), v)) + count(approx_member((SELECT f FROM rivals WHERE bits = 40000000), v))
    FROM vectors, generate_series(1, 30);
  SELECT loads BETWEEN 3 AND 50 FROM lsbf_cache() WHERE kind = 'filters';
  COMMIT" | tail -1)" t
