#!/bin/sh
# Prints the path of nfpm, which makes packages from a description, as most CI does. NFPM_BIN names an existing one; without it,
# nfpm is built with Go (half a minute).
set -eu

version=v2.43.0
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program="${NFPM_BIN:-$tools/nfpm-$version}"
if [ ! -x "$program" ]; then
  go=$("$(dirname "$0")/go.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  GOBIN="$work" "$go" install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$version" >&2
  mkdir -p "$tools"
  mv "$work/nfpm" "$program"
fi
echo "$program"
