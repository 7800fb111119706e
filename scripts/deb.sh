#!/usr/bin/env bash
# Builds a Debian package for the server of PG_CONFIG in target/deb, and tests it: a smoke test runs in a private copy of that
# server into which the package is unpacked.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

command -v dpkg-deb >/dev/null || die "dpkg-deb is needed: packages are built on Debian and its derivatives"
ensure_rust
ensure_postgresql
ensure_clang
[[ $("$PG_CONFIG" --sharedir) == /usr/share/postgresql/* ]] ||
  die "$PG_CONFIG is not the server of a Debian package: set PG_CONFIG=/usr/lib/postgresql/NN/bin/pg_config"
private_tree

# notice CRATE VERSION LICENCE: the text of the licence; MIT's text with the authors for a crate without a licence file
notice() {
  local home file
  for home in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$2"; do
    printf '\n\n---- pg_lsbf.so contains %s %s: %s\n' "$1" "$2" "$3"
    for file in "$home"/{LICENSE-MIT,LICENSE,COPYING}*; do
      if [[ -f $file ]]; then
        cat "$file"
        return
      fi
    done
    [[ $3 == *MIT* && -f $home/Cargo.toml ]] || die "no licence text found for $1 $2 ($3)"
    sed -n '/^authors = \[/,/\]/p' "$home/Cargo.toml"
    cat scripts/licences/MIT.txt
    return
  done
}

# notices: the licence, and those of the linked crates, which require it
notices() {
  local crate version licence
  cat LICENSE
  cargo tree --locked --edges normal,no-proc-macro --no-dedupe --no-default-features --features "$PG_FEATURE" --prefix none --format '{p}|{l}' |
    sed 's/ (.*)|/|/' | sort -u | while IFS='| ' read -r crate version licence; do
    [[ $crate == pg_lsbf || $crate == lsbf ]] || notice "$crate" "${version#v}" "$licence"
  done
}

name=postgresql-$PG_MAJOR-lsbf
version=$(extension_version)
architecture=$(dpkg --print-architecture)
root=$WORK/$name
docs=$root/usr/share/doc/$name
DESTDIR=$root scripts/install.sh

# The oldest C library that has all functions in use.
glibc=$(objdump -T "$root$("$PG_CONFIG" --pkglibdir)/pg_lsbf.so" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
mkdir -p "$docs/demo"
cp README.md CONTRIBUTING.md CHANGELOG.md LICENSE "$docs/"
cp demo/README.md "$docs/demo/"
cp -R docs "$docs/docs"
find "$docs" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
notices >"$docs/copyright"
chmod 644 "$docs/copyright"
gzip -9n <CHANGELOG.md >"$docs/changelog.gz"
chmod 644 "$docs/changelog.gz"
strip --strip-unneeded "$root$("$PG_CONFIG" --pkglibdir)/pg_lsbf.so"
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: $name
Version: $version-1
Architecture: $architecture
Maintainer: pg_lsbf contributors <pg_lsbf@example.invalid>
Section: database
Priority: optional
Depends: postgresql-$PG_MAJOR, libc6 (>= ${glibc#GLIBC_}), libgcc-s1
Enhances: postgresql-$PG_MAJOR-pgvector
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Description: locality-sensitive Bloom filters for PostgreSQL $PG_MAJOR
 A filter of a few bytes per row shows whether it contains a vector, bit string
 or set close to a given one: for similarity semi-joins, near-duplicates, and
 joins between servers in which the filter is sent instead of the rows.
CONTROL
mkdir -p "$TARGET/deb"
package=$TARGET/deb/${name}_$version-1_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null

say "testing the package in a private PostgreSQL $PG_MAJOR"
dpkg-deb --extract "$package" "$WORK/tree"
server_start package
answer=$(server_psql package -At -v ON_ERROR_STOP=1 <<'SQL' | tail -1
CREATE EXTENSION pg_lsbf;
CREATE TABLE rows AS SELECT id, ARRAY[cos(id), sin(id), cos(id / 2.0), sin(id / 3.0)] AS v FROM generate_series(1, 1000) id;
CREATE TABLE filters AS SELECT lsbf_agg(v, dsbf_new(capacity => 1000, near => 0.01, metric => 'l2')) AS f FROM rows;
SELECT format('%s of 1000 members found, version %s', count(*) FILTER (WHERE approx_member(f, v)),
  (SELECT extversion FROM pg_extension WHERE extname = 'pg_lsbf')) FROM rows, filters;
SQL
)
[[ $answer == "1000 of 1000 members found, version $version" ]] || die "the package does not work: $answer"
echo "    $answer"
say "built $package ($(du -h "$package" | cut -f1)); install it with: apt install $package"
