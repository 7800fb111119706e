#!/usr/bin/env bash
# Packages: META.json is valid for PGXN, and the Debian package can be installed.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start packages
server_psql packages -v meta="$(cat META.json)" <<<"CREATE TABLE meta AS SELECT :'meta'::jsonb AS m"
assert_eq "META.json has every field that PGXN requires" "$(server_query packages "
  SELECT field FROM meta, unnest(ARRAY['name', 'version', 'abstract', 'maintainer', 'license', 'provides', 'meta-spec']) field
  WHERE coalesce(m ->> field, '') = ''")" ""
assert_eq "it has the version of Cargo.toml everywhere" "$(server_query packages "
  SELECT m ->> 'version' FROM meta UNION SELECT value ->> 'version' FROM meta, jsonb_each(m -> 'provides')")" "$(extension_version)"
assert_match "the version has the form that PGXN requires" "$(extension_version)" '^[0-9]+\.[0-9]+\.[0-9]+$'
while IFS='|' read -r name file docfile; do
  for file in "$file" "$docfile"; do
    if [[ -f $file ]]; then pass "$name: $file exists"; else fail "$name: $file exists" "META.json refers to it"; fi
  done
done < <(server_query packages "SELECT key, value ->> 'file', value ->> 'docfile' FROM meta, jsonb_each(m -> 'provides')")

if [[ $("$PG_CONFIG" --sharedir) != /usr/share/postgresql/* ]] || ! command -v dpkg-deb >/dev/null; then
  echo "skip - $SCENARIO: no Debian server here to make a package for"
  exit 0
fi
built=$(env -u TREE_PG_CONFIG scripts/deb.sh 2>&1) || true
assert_match "the package was built and works in a private server" "$built" "1000 of 1000 members found"
package=$(sed -n 's/^==> built \([^ ]*\) .*/\1/p' <<<"$built")
assert_match "it depends on this server" "$(dpkg-deb --field "$package" Depends)" "^postgresql-$PG_MAJOR, libc6"
# Nothing is installed: apt only simulates.
assert_match "apt can install it" "$(apt-get --simulate install "$package" 2>&1)" "Inst postgresql-$PG_MAJOR-lsbf"
assert_eq "its files belong to root, and only root can write them" \
  "$(dpkg-deb --contents "$package" | awk '$1 ~ /^.....w|^........w/ || $2 != "root/root"')" ""
