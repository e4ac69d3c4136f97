#!/bin/sh
# Prints the path of an apko program, an apk client independent of apk-tools; builds it with Go when it is missing.
# APKO_BIN names one that is there already. The build takes some minutes and 2 GB of Go's caches.
#
# apko 0.30 as a client: it verifies the signature of APKINDEX.tar.gz (RSA with SHA-1 or SHA-256) with the keys of its
# keyring by file name, resolves dependencies, checks gzip and tar while it unpacks, and writes lib/apk/db/installed. It
# compares a package neither with the index (C:) nor with its datahash, and reads no signatures of packages: only
# apk-tools itself shows that a package put in another's place is refused.
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
  # In a module of its own: `go install` asks for a list of versions, which not every module proxy has of this module.
  {
    "$go" mod init tools
    "$go" mod edit "-require=chainguard.dev/apko@$version"
    GOFLAGS=-mod=mod "$go" build -o apko chainguard.dev/apko
  } >&2
  mkdir -p "$tools"
  mv apko "$program"
fi
echo "$program"
