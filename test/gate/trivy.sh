#!/bin/sh
# Prints two paths, one per line: trivy, and the program that writes small databases for it. Builds them with Go when they
# are missing, which took 17 minutes of processor time, 3 GB of memory and, on two busy cores with the modules downloaded,
# 37 minutes. TRIVY_BIN and TRIVY_DB_MAKER name existing programs instead.
set -eu

version=0.68.2
if [ -n "${TRIVY_BIN:-}" ] && [ -n "${TRIVY_DB_MAKER:-}" ]; then
  printf '%s\n' "$TRIVY_BIN" "$TRIVY_DB_MAKER"
  exit
fi
here=$(cd "$(dirname "$0")" && pwd)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program="$tools/trivy-$version"
maker="$tools/trivy-db-$version-$(cksum < "$here/trivy-db/main.go" | cut -d' ' -f1)"
if [ ! -x "$program" ] || [ ! -x "$maker" ]; then
  go=$("$here/../go.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  # One module requires the release, so that both programs are built from it.
  {
    export GOFLAGS="-mod=mod ${GOFLAGS:-}"
    "$go" mod init tools
    # Trivy needs the experiment `jsonv2`, which Go knows since 1.25. An older Go downloads that version.
    "$go" mod edit -go=1.25.0 "-require=github.com/aquasecurity/trivy@v$version"
    export GOEXPERIMENT=jsonv2
    mkdir maker
    cp "$here/trivy-db/main.go" maker/
    [ -x "$program" ] || nice "$go" build -trimpath -ldflags "-s -w -X github.com/aquasecurity/trivy/pkg/version/app.ver=$version" -o trivy github.com/aquasecurity/trivy/cmd/trivy
    nice "$go" build -trimpath -ldflags '-s -w' -o trivy-db ./maker
  } >&2
  mkdir -p "$tools"
  [ -x "$program" ] || mv trivy "$program"
  mv trivy-db "$maker"
fi
printf '%s\n' "$program" "$maker"
