#!/bin/sh
# Makes a Go client with oapi-codegen, and uses it: go.sh DOCUMENT DIRECTORY FILE NAME.
# OAPI_CODEGEN_BIN names an existing generator; without it, one is built with Go (a minute). It needs Go 1.25, which an older
# Go downloads by itself.
set -eu

version=v2.8.2
here=$(cd "$(dirname "$0")" && pwd)
document=$1 directory=$2
shift 2
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program=${OAPI_CODEGEN_BIN:-$tools/oapi-codegen-$version}
go=$("$here/../../go.sh")
export GOFLAGS=-mod=mod
{
  if [ ! -x "$program" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    "$go" mod init tools
    "$go" mod edit "-require=github.com/oapi-codegen/oapi-codegen/v2@$version"
    nice "$go" build -trimpath -ldflags '-s -w' -o oapi-codegen github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen
    mkdir -p "$tools"
    mv oapi-codegen "$program"
  fi
  mkdir -p "$directory/gatehouse"
  cd "$directory"
  cp "$here/go/main.go" .
  "$program" -generate types,client -package gatehouse -o gatehouse/client.go "$document"
  [ -f go.mod ] || "$go" mod init example.org/use
  "$go" mod edit -require=github.com/oapi-codegen/runtime@v1.9.0
  nice "$go" build -o use .
} >&2
exec ./use "$@"
