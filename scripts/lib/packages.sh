# Finds the dependencies of a build and installs missing ones (on Debian and its derivatives).
# shellcheck shell=bash

MIN_PG=15
MAX_PG=18

APT_FRESH=
apt_install() {
  command -v apt-get >/dev/null || die "please install $* (no apt-get here)"
  if [[ -z $APT_FRESH ]]; then
    say "refreshing the list of system packages"
    as_root apt-get update -qq >/dev/null || die "apt-get update failed"
    APT_FRESH=1
  fi
  say "installing $* (a minute or two)"
  local output
  output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" 2>&1) || {
    printf '%s\n' "$output" | tail -20
    die "apt-get install $* failed"
  }
}

ensure_rust() {
  command -v cargo >/dev/null || die "cargo not found: install Rust first"
  command -v cc >/dev/null || apt_install gcc libc6-dev
}

ensure_rust_component() {
  local component=$1 program=$2
  command -v "$program" >/dev/null && "$program" --version >/dev/null 2>&1 && return
  say "installing the Rust component $component"
  rustup component add "$component" || die "please install $component"
}

pg_major() { "$1" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'; }

# usable_pg_config FILE: succeeds for a supported version with headers and a server.
usable_pg_config() {
  local major bindir headers
  [[ -x $1 ]] || return 1
  major=$(pg_major "$1")
  [[ -n $major ]] && ((major >= MIN_PG && major <= MAX_PG)) || return 1
  headers=$("$1" --includedir-server)/postgres.h
  bindir=$("$1" --bindir)
  [[ -r $headers && -x $bindir/postgres && -x $bindir/initdb ]]
}

find_pg_config() {
  local candidate
  for candidate in "$(command -v pg_config)" \
    $(ls -vr /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config /usr/local/pgsql/bin/pg_config 2>/dev/null); do
    if usable_pg_config "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# The newest supported server in the package lists.
packaged_postgresql() {
  local major
  for ((major = MAX_PG; major >= MIN_PG; major--)); do
    if apt-cache show "postgresql-server-dev-$major" >/dev/null 2>&1; then
      echo "$major"
      return
    fi
  done
  return 1
}

# Debian creates and starts a server when PostgreSQL is installed; only the programs are needed.
install_packaged_postgresql() {
  local conf=/etc/postgresql-common/createcluster.conf saved major
  apt_install postgresql-common
  major=$(packaged_postgresql) || die "no PostgreSQL $MIN_PG to $MAX_PG in the package lists"
  saved=$(mktemp)
  cat "$conf" >"$saved"
  echo "create_main_cluster = false" | as_root tee -a "$conf" >/dev/null
  apt_install "postgresql-$major" "postgresql-server-dev-$major"
  as_root tee "$conf" <"$saved" >/dev/null
  rm -f "$saved"
}

# ensure_postgresql: sets PG_CONFIG (the program itself, not a wrapper), PG_MAJOR and PG_FEATURE.
ensure_postgresql() {
  if [[ -n ${PG_CONFIG:-} ]]; then
    usable_pg_config "$PG_CONFIG" ||
      die "PG_CONFIG=$PG_CONFIG is not the pg_config of a PostgreSQL $MIN_PG to $MAX_PG with server and headers"
  elif ! PG_CONFIG=$(find_pg_config); then
    say "no PostgreSQL $MIN_PG to $MAX_PG with headers found"
    install_packaged_postgresql
    PG_CONFIG=$(find_pg_config) || die "PostgreSQL was installed but no usable pg_config was found"
  fi
  # One path per server, so that builds for the same server share their results.
  local real
  real=$("$PG_CONFIG" --bindir)/pg_config
  [[ -x $real ]] && PG_CONFIG=$real
  PG_MAJOR=$(pg_major "$PG_CONFIG")
  PG_FEATURE=pg$PG_MAJOR
  export PG_CONFIG PG_MAJOR PG_FEATURE
}

# bindgen reads PostgreSQL's headers with libclang and clang's own stddef.h.
ensure_clang() {
  [[ -n ${LIBCLANG_PATH:-} ]] && return
  any_file '/usr/lib/llvm-*/lib/libclang*.so*' '/usr/lib/*/libclang*.so*' '/usr/lib*/libclang*.so*' &&
    any_file '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' '/usr/lib*/clang/*/include/stddef.h' && return
  apt_install clang libclang-dev
}

any_file() {
  local pattern
  for pattern in "$@"; do
    compgen -G "$pattern" >/dev/null && return
  done
  return 1
}

# ensure_cargo_pgrx: sets CARGO_PGRX. A private copy is built if the one on the PATH has another version; without optimisation and
# OpenSSL that takes two minutes instead of five.
ensure_cargo_pgrx() {
  local version
  version=$(pgrx_version)
  for CARGO_PGRX in "$TOOLS/bin/cargo-pgrx" "$(command -v cargo-pgrx || true)"; do
    if [[ -x $CARGO_PGRX && $("$CARGO_PGRX" pgrx --version 2>/dev/null) == *" $version" ]]; then
      export CARGO_PGRX
      return
    fi
  done
  say "building cargo-pgrx $version (two to five minutes, once)"
  CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-pgrx --version "$version" --locked --debug --no-default-features \
    --root "$TOOLS" --target-dir "$TOOLS/target" --quiet || die "could not build cargo-pgrx $version"
  rm -rf "$TOOLS/target"
  export CARGO_PGRX=$TOOLS/bin/cargo-pgrx
}

# libFuzzer is written in C++.
ensure_cpp() { command -v c++ >/dev/null || apt_install g++; }

# ensure_cargo_fuzz: sets CARGO_FUZZ, a private copy if there is none on the PATH.
ensure_cargo_fuzz() {
  local version=0.13.2
  for CARGO_FUZZ in "$TOOLS/bin/cargo-fuzz" "$(command -v cargo-fuzz || true)"; do
    [[ -x $CARGO_FUZZ ]] && return
  done
  say "building cargo-fuzz $version (a minute, once)"
  CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-fuzz --version "$version" --locked --debug --root "$TOOLS" \
    --target-dir "$TOOLS/fuzz-target" --quiet || die "could not build cargo-fuzz $version"
  rm -rf "$TOOLS/fuzz-target"
  CARGO_FUZZ=$TOOLS/bin/cargo-fuzz
}

# pgrx's tests start their server through sudo when run by root.
ensure_sudo() {
  ! is_root || command -v sudo >/dev/null || apt_install sudo
}
