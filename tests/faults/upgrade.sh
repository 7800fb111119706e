#!/usr/bin/env bash
# pg_upgrade from every older major version that is installed to the server under test: filters keep their bytes, give the
# same answers, accept members, and can be merged with filters that the new server builds. Includes pg_lsbf_vector if both
# servers have pgvector.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

new_config=$TREE_PG_CONFIG
new_bin=$PGBIN
new_major=$(pg_major "$new_config")

# older: the pg_config of older servers, one per major version
older() {
  local candidate major seen=" "
  for candidate in $(compgen -G '/usr/lib/postgresql/*/bin/pg_config' | sort -V) $("$ROOT/scripts/provision-pgvector.sh" 2>/dev/null | grep -v '^==>'); do
    major=$(pg_major "$candidate")
    if usable_pg_config "$candidate" && ((major < new_major)) && [[ $seen != *" $major "* ]]; then
      seen+="$major "
      echo "$candidate"
    fi
  done
}

# old_tree PG_CONFIG: a private copy of an older server with the extension; prints its pg_config
old_tree() (
  export PG_CONFIG=$1
  unset TREE_PG_CONFIG
  WORK=$WORK/$(pg_major "$1")
  mkdir "$WORK"
  private_tree
  DEST_PG_CONFIG=$TREE_PG_CONFIG "$ROOT/scripts/install.sh" >"$WORK/install" 2>&1 || { cat "$WORK/install" >&2; exit 1; }
  echo "$TREE_PG_CONFIG"
)

has_vector() { [[ -f $("$1" --sharedir)/extension/vector.control ]]; }

digest="SELECT md5(string_agg(name || coalesce(md5(f::bytea), 'null'), ';' ORDER BY name)) FROM filters"
answers="SELECT string_agg(name || ' ' || n, ';' ORDER BY name) FROM (SELECT name, (SELECT count(*) FROM vectors WHERE approx_member(f, v)) AS n FROM filters) s"

# upgrade OLD_PG_CONFIG
upgrade() {
  local tree major before plain old new output name
  major=$(pg_major "$1")
  name="$major to $new_major"
  old=old$major new=new$major
  tree=$(old_tree "$1")
  PGBIN=$("$tree" --bindir)
  server_start "$old"
  server_psql "$old" <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS SELECT id, ARRAY[id % 101, id % 103, id % 107]::real[] AS v FROM generate_series(1, 5000) AS id;
CREATE TABLE filters (name text PRIMARY KEY, f lsbf DEFAULT lsbf_new(capacity => 10, near => 0.1));
INSERT INTO filters
  SELECT 'dsbf', lsbf_agg(v, dsbf_new(metric => 'l2', capacity => 200000, near => 0.1)) FROM vectors WHERE id <= 4000
  UNION ALL
  SELECT 'lsbf', lsbf_agg(v, lsbf_new(capacity => 5000, near => 0.1)) FROM vectors WHERE id <= 4000
  UNION ALL
  SELECT 'any', lsbf_agg(v, lsbf_new(match => 'any', metric => 'l1', capacity => 5000, near => 0.1)) FROM vectors WHERE id <= 4000
  UNION ALL
  SELECT 'ilbf', lsbf_agg(v, ilbf_new(capacity => 5000, near => 0.1)) FROM vectors WHERE id <= 4000
  UNION ALL
  SELECT 'lsqf', lsbf_agg(v, lsqf_new(near => 0.1)) FROM vectors WHERE id <= 4000
  UNION ALL
  SELECT 'null', NULL;
INSERT INTO filters (name) VALUES ('default');
CREATE VIEW found AS SELECT name, count(*) AS n FROM vectors, filters WHERE id <= 4000 AND approx_member(f, v) GROUP BY name;
SQL
  if has_vector "$tree" && has_vector "$new_config"; then
    name+=", with pg_lsbf_vector"
    server_query "$old" "CREATE EXTENSION vector; CREATE EXTENSION pg_lsbf_vector; CREATE TABLE embeddings AS SELECT id, v::vector(3) FROM vectors;
      CREATE VIEW found_embeddings AS SELECT count(*) AS n FROM embeddings, filters WHERE name = 'lsbf' AND id <= 4000 AND approx_member(f, v)"
  fi
  before=$(server_query "$old" "$digest; $answers")
  plain=$(server_query "$old" "CREATE TABLE plain (x integer); SELECT attoptions FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attname = 'x'")
  server_stop "$old"
  # PostgreSQL 18 creates clusters with checksums, and both clusters must agree.
  if ((new_major >= 18)); then as_server_user "$PGBIN/pg_checksums" --enable --no-sync -D "$(server_dir "$old")/data" >/dev/null; fi

  PGBIN=$new_bin
  server_create "$new"
  if ! output=$(as_server_user bash -c 'cd "$1" && shift && "$@"' - "$(server_dir "$new")" "$PGBIN/pg_upgrade" -U postgres \
    -b "$("$tree" --bindir)" -B "$new_bin" -d "$(server_dir "$old")/data" -D "$(server_dir "$new")/data" -s "$(server_dir "$new")" 2>&1); then
    output+=$(find "$(server_dir "$new")/data/pg_upgrade_output.d" -name '*.log' -exec cat {} +)
    # Some servers set an option on every column, also of plain tables, that others do not have.
    if [[ $output =~ unrecognized\ parameter\ \"([a-z_]+)\" && $plain == *"${BASH_REMATCH[1]}="* ]]; then
      echo "skip - $SCENARIO: $name: this PostgreSQL $major sets ${BASH_REMATCH[1]} on every column, which $new_major refuses, with or without pg_lsbf"
    else
      fail "$name: pg_upgrade" "$(grep -i -B2 -A2 "error\|fatal\|failure" <<<"$output" | tail -40)"
    fi
    return
  fi
  server_start "$new"
  assert_eq "$name: the same bytes and answers" "$(server_query "$new" "$digest; $answers")" "$before"
  assert_eq "$name: every member is found, through a view created before" "$(server_query "$new" "SELECT string_agg(name || n, ' ' ORDER BY name) FROM found")" \
    "any4000 dsbf4000 ilbf4000 lsbf4000 lsqf4000"
  assert_eq "$name: the new server builds the same bytes" "$(server_query "$new" "SELECT f = (SELECT lsbf_agg(v, lsbf_new(capacity => 5000, near => 0.1)) FROM vectors WHERE id <= 4000) FROM filters WHERE name = 'lsbf'")" t
  server_query "$new" "UPDATE filters SET f = f | (SELECT lsbf_agg(v, lsbf_new(capacity => 5000, near => 0.1)) FROM vectors WHERE id > 4000) WHERE name = 'lsbf'"
  assert_eq "$name: filters of both servers can be merged" "$(server_query "$new" "SELECT count(*) FROM vectors, filters WHERE name = 'lsbf' AND approx_member(f, v)")" 5000
  assert_eq "$name: the default of a column still works" "$(server_query "$new" "INSERT INTO filters (name) VALUES ('new'); SELECT a.f = b.f FROM filters a, filters b WHERE a.name = 'new' AND b.name = 'default'")" t
  if [[ $name == *vector ]]; then
    assert_eq "$name: vectors of pgvector are found" "$(server_query "$new" "SELECT n FROM found_embeddings")" 4000
  fi
  server_stop "$new"
}

mapfile -t versions < <(older)
if ((${#versions[@]} == 0)); then
  echo "skip - $SCENARIO: no server older than $new_major here"
fi
for version in "${versions[@]}"; do
  upgrade "$version"
done
