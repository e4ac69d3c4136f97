#!/bin/sh
# Prints the path of apko, an apk client independent of apk-tools. Builds it with Go when it is missing, which takes some
# minutes and 2 GB of Go's caches. APKO_BIN names an existing program instead.
#
# As a client, apko 0.30 verifies the signature of APKINDEX.tar.gz (RSA with SHA-1 or SHA-256) with the key of that name
# in its keyring, resolves dependencies, checks gzip and tar while it unpacks, and writes lib/apk/db/installed. It
# compares a package neither with the index (C:) nor with its datahash, and reads no signatures of packages. Only
# apk-tools itself can show that a package in the place of another is refused.
set -eu

version=v0.30.0
if [ -n "${APKO_BIN:-}" ]; then
  echo "$APKO_BIN"
  exit
fi
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program="$tools/apko-$version"
if [ ! -x "$program" ]; then
  go=$("$(dirname "$0")/../go.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  # A separate module, because `go install` needs a list of versions, which some module proxies do not have.
  {
    "$go" mod init tools
    "$go" mod edit "-require=chainguard.dev/apko@$version"
    GOFLAGS=-mod=mod "$go" build -o apko chainguard.dev/apko
  } >&2
  mkdir -p "$tools"
  mv apko "$program"
fi
echo "$program"
