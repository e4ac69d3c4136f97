#!/bin/sh
# Prints the path of versitygw, an S3 server over a directory. Builds it with Go when it is missing, which took 15 minutes
# on a busy core. VERSITYGW_BIN names an existing program.
set -eu

version=1.8.0
if [ -n "${VERSITYGW_BIN:-}" ]; then
  echo "$VERSITYGW_BIN"
  exit
fi
here=$(cd "$(dirname "$0")" && pwd)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program="$tools/versitygw-$version"
if [ ! -x "$program" ]; then
  go=$("$here/../go.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  {
    "$go" mod init tools
    "$go" mod edit "-require=github.com/versity/versitygw@v$version"
    GOFLAGS=-mod=mod nice "$go" build -trimpath -ldflags '-s -w' -o versitygw github.com/versity/versitygw/cmd/versitygw
  } >&2
  mkdir -p "$tools"
  mv versitygw "$program"
fi
echo "$program"
