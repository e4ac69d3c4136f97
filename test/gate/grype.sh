#!/bin/sh
# Prints two paths, one per line: grype, and the program that writes small databases for it. Builds them with Go when they
# are missing, which took a quarter of an hour on two busy cores. GRYPE_BIN and GRYPE_DB_MAKER name existing programs.
#
# It builds 0.110 because the module proxy did not have every module of 0.121.2. This release needs Go 1.25.8, which an
# older Go downloads by itself, and databases of schema 6.1.4.
set -eu

version=0.110.0
if [ -n "${GRYPE_BIN:-}" ] && [ -n "${GRYPE_DB_MAKER:-}" ]; then
  printf '%s\n' "$GRYPE_BIN" "$GRYPE_DB_MAKER"
  exit
fi
here=$(cd "$(dirname "$0")" && pwd)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program="$tools/grype-$version"
maker="$tools/grype-db-$version-$(cksum < "$here/grype-db/main.go" | cut -d' ' -f1)"
if [ ! -x "$program" ] || [ ! -x "$maker" ]; then
  go=$("$here/../go.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  # One module requires the release, so that both programs are built from it.
  {
    "$go" mod init tools
    "$go" mod edit "-require=github.com/anchore/grype@v$version"
    mkdir maker
    cp "$here/grype-db/main.go" maker/
    GOFLAGS=-mod=mod nice "$go" build -trimpath -ldflags "-s -w -X main.version=$version" -o grype github.com/anchore/grype/cmd/grype
    GOFLAGS=-mod=mod nice "$go" build -trimpath -ldflags '-s -w' -o grype-db ./maker
  } >&2
  mkdir -p "$tools"
  mv grype "$program"
  mv grype-db "$maker"
fi
printf '%s\n' "$program" "$maker"
