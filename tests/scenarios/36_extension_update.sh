#!/usr/bin/env bash
# ALTER EXTENSION UPDATE: from every older version an installation gets the objects of a new one, and stored filters give the same
# answers. Tested with every upgrade script, and with an artificial version 0.0.0 that lacks a function; SQL tests also run on the
# latter.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

version=$(extension_version)
directory=$("$TREE_PG_CONFIG" --sharedir)/extension
# Other tests use this tree as well.
forget() { rm -f "$directory"/pg_lsbf{,_vector}--0.0.0*.sql; }
on_exit forget

# lacks NAME REGEX: makes version 0.0.0, which is this one without the statements that match, and an upgrade script with these
lacks() {
  local part
  for part in 0 1; do
    awk -v RS='' -v regex="$2" -v selected="$part" 'BEGIN { ORS = "\n\n" }
      { n = split($0, lines, "\n"); statement = ""
        for (i = 1; i <= n; i++) {
          statement = statement lines[i] "\n"
          if (lines[i] !~ /;$/ && i < n) continue
          if ((statement ~ regex) == selected) printf "%s", statement
          statement = ""
        } }' "$directory/$1--$version.sql" >"$WORK/$1.$part"
  done
  cp "$WORK/$1.0" "$directory/$1--0.0.0.sql"
  cp "$WORK/$1.1" "$directory/$1--0.0.0--$version.sql"
}
lacks pg_lsbf "FUNCTION lsbf_overlap"
assert_eq "version 0.0.0 of pg_lsbf lacks a function and its comment" "$(grep -c . "$directory/pg_lsbf--0.0.0--$version.sql"):$(grep -c lsbf_overlap "$directory/pg_lsbf--0.0.0.sql" || true)" "3:0"

server_start main
# A digest of the objects of an extension with their definitions and comments, without OIDs.
objects="SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM (
  SELECT pg_describe_object(d.classid, d.objid, 0) || coalesce(obj_description(d.objid, d.classid::regclass::text), '') ||
    coalesce((SELECT CASE WHEN prokind = 'a' THEN (SELECT row(aggtransfn::regprocedure, aggcombinefn::regprocedure, aggtranstype::regtype, agginitval)::text FROM pg_aggregate WHERE aggfnoid = p.oid)
      ELSE pg_get_functiondef(p.oid) END || coalesce(proacl::text, '') FROM pg_proc p WHERE p.oid = d.objid AND d.classid = 'pg_proc'::regclass), '') AS line
  FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
  WHERE d.deptype = 'e' AND extname = 'NAME') s"
objects() { server_query main "${objects/NAME/$1}" "$2"; }

# updated NAME SOURCE DATABASE
updated() {
  server_query main "ALTER EXTENSION $1 UPDATE" "$3"
  assert_eq "$1 $2, updated: the version of a new installation" "$(server_query main "SELECT extversion FROM pg_extension WHERE extname = '$1'" "$3")" "$version"
  assert_eq "$1 $2, updated: the objects of a new installation" "$(objects "$1" "$3")" "$(objects "$1" fresh)"
}

has_vector=$(server_query main "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")
server_run createdb main fresh
server_query main "CREATE EXTENSION pg_lsbf" fresh
if ((has_vector)); then
  lacks pg_lsbf_vector "FUNCTION approx_distance\(.*halfvec"
  server_query main "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector" fresh
fi

sources=$(server_query main "SELECT source FROM pg_extension_update_paths('pg_lsbf') WHERE target = '$version' AND path IS NOT NULL")
assert_match "there is a version to update from" "$sources" "0\.0\.0"
for source in $sources; do
  database=from_${source//./_}
  # A version without an installation script cannot be created.
  [[ -f $directory/pg_lsbf--$source.sql ]] || continue
  server_run createdb main "$database"
  server_query main "CREATE EXTENSION pg_lsbf VERSION '$source'" "$database"
  server_psql main -d "$database" <<'SQL'
CREATE TABLE vectors AS SELECT id, ARRAY[id % 101, id % 103, id % 107]::real[] AS v FROM generate_series(1, 2000) AS id;
CREATE TABLE filters AS SELECT lsbf_agg(v, lsbf_new(capacity => 2000, near => 0.1)) AS f FROM vectors;
CREATE VIEW found AS SELECT count(*) AS n FROM vectors, filters WHERE approx_member(f, v);
SQL
  before=$(server_query main "SELECT md5(f::bytea) FROM filters" "$database")
  if ((has_vector)) && [[ -f $directory/pg_lsbf_vector--$source.sql ]]; then
    server_query main "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector VERSION '$source'" "$database"
    updated pg_lsbf "$source" "$database"
    updated pg_lsbf_vector "$source" "$database"
  else
    updated pg_lsbf "$source" "$database"
  fi
  assert_eq "$source, updated: stored filters have the same bytes and find every member" \
    "$(server_query main "SELECT md5(f::bytea), n FROM filters, found" "$database")" "$before|2000"
done
assert_eq "0.0.0, updated: the new function works" "$(server_query main "SELECT lsbf_overlap(f, f) FROM filters" from_0_0_0)" 1

if output=$(FROM_VERSION=0.0.0 "$ROOT/scripts/sql-tests.sh" extension io member union 2>&1); then
  pass "SQL tests pass on an updated installation"
else
  fail "SQL tests pass on an updated installation" "$output"
fi
