#!/usr/bin/env bash
# Filters survive pg_dump and restarts byte for byte, and can still be queried.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main
server_run createdb main source
server_psql main -d source <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 20000) AS id;
CREATE TABLE filters (name text PRIMARY KEY, f lsbf DEFAULT dsbf_new(dims => 8, capacity => 1, near => 0.1, far => 0.4));
INSERT INTO filters
  SELECT 'all', lsbf_agg(v, dsbf_new(dims => 256, capacity => 20000, near => 0.02, far => 0.4)) FROM vectors
  UNION ALL
  SELECT 'one', lsbf_agg(v, dsbf_new(dims => 256, capacity => 100, near => 0.02, far => 0.4)) FROM vectors WHERE id = 1
  UNION ALL
  SELECT 'none', dsbf_new(dims => 256, capacity => 100, near => 0.02, far => 0.4)
  UNION ALL
  SELECT 'null', NULL;
CREATE VIEW matches AS SELECT id FROM vectors, filters WHERE name = 'all' AND approx_member(f, v);
SQL

digest="SELECT md5(string_agg(name || coalesce(f::bytea::text, 'null'), ';' ORDER BY name)) FROM filters"
before=$(server_query main "$digest" source)

server_run pg_dump main -Fp -f "$WORK/plain.sql" source
server_run createdb main plain
server_psql main -d plain -o /dev/null -f "$WORK/plain.sql"
assert_eq "plain dump: the same bytes" "$(server_query main "$digest" plain)" "$before"
assert_eq "plain dump: members are found" "$(server_query main "SELECT count(*) FROM matches" plain)" 20000

server_run pg_dump main -Fc -f "$WORK/custom.dump" source
server_run createdb main custom
server_run pg_restore main -d custom --exit-on-error "$WORK/custom.dump"
assert_eq "custom dump: the same bytes" "$(server_query main "$digest" custom)" "$before"
assert_eq "custom dump: members are found" "$(server_query main "SELECT count(*) FROM matches" custom)" 20000

server_query main "COPY filters TO '$(server_dir main)/filters.copy' (FORMAT binary)" source
server_query main "CREATE TABLE copied (LIKE filters); COPY copied FROM '$(server_dir main)/filters.copy' (FORMAT binary)" source
assert_eq "binary copy: the same bytes" "$(server_query main "${digest/FROM filters/FROM copied}" source)" "$before"

server_restart main
assert_eq "restart: the same bytes" "$(server_query main "$digest" source)" "$before"
assert_eq "restart: members are found" "$(server_query main "SELECT count(*) FROM matches" source)" 20000

# With pg_lsbf_vector: its objects are restored in a valid order, and views on vectors work.
if [[ -f $("$TREE_PG_CONFIG" --sharedir)/extension/vector.control ]]; then
  server_query main "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector;
    CREATE TABLE embeddings AS SELECT id, ARRAY[id % 101, id % 103, id % 107]::vector(3) AS v FROM generate_series(1, 5000) AS id;
    INSERT INTO filters SELECT 'vector', lsbf_agg(v, lsbf_new(dims => 3, capacity => 5000, near => 0.1)) FROM embeddings;
    CREATE VIEW near AS SELECT count(*) AS n FROM embeddings, filters WHERE name = 'vector' AND approx_member(f, v)" source
  with_vector=$(server_query main "$digest" source)
  for format in p c; do
    server_run pg_dump main "-F$format" -f "$WORK/vector.$format" source
    server_run createdb main "vector_$format"
    if [[ $format == p ]]; then
      server_psql main -d vector_p -o /dev/null -f "$WORK/vector.p"
    else
      server_run pg_restore main -d vector_c --exit-on-error "$WORK/vector.c"
    fi
    assert_eq "pg_lsbf_vector, format $format: the same bytes, members are found" \
      "$(server_query main "$digest; SELECT n FROM near" "vector_$format")" "$with_vector"$'\n'"5000"
  done
fi

# A second server, as after a move to another machine.
server_start other
server_psql other -o /dev/null -f "$WORK/plain.sql"
assert_eq "another server: the same bytes" "$(server_query other "$digest")" "$before"
