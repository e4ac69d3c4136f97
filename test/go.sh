#!/bin/sh
# Prints the path of a Go program of version 1.24 or later. Where the machine has none, Debian's (1.19, too old for what
# the suites build) is installed, and fetches a newer one from the module proxy, as `go` itself does since 1.21.
set -eu

version=1.24.9
new_enough() {
  command -v "$1" > /dev/null && "$1" version | awk '{ split(substr($3, 3), v, "."); exit !(v[1] > 1 || v[2] >= 24) }'
}

tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
kept="$tools/go-$version/bin/go"
if new_enough go; then
  command -v go
  exit
fi
if [ ! -x "$kept" ]; then
  {
    command -v go > /dev/null || {
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends golang-go ca-certificates
    }
    arch=$(go env GOARCH)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    go mod init tools
    go mod download "golang.org/toolchain@v0.0.1-go$version.linux-$arch"
    mkdir -p "$tools"
    cp -r "$(go env GOMODCACHE)/golang.org/toolchain@v0.0.1-go$version.linux-$arch" "$work/go"
    # Modules carry no permissions to run.
    chmod -R u+w "$work/go"
    find "$work/go/bin" "$work/go/pkg/tool" -type f -exec chmod +x {} +
    # Another suite may have been faster.
    mv -T "$work/go" "$tools/go-$version" || [ -x "$kept" ]
  } >&2
fi
echo "$kept"
