#!/bin/sh
# `go-tool.sh helm|kubeconform|compose`: prints the path of a Go program that reads files of deploy/. Builds it when it is missing: helm
# took four minutes on two cores, the others half a minute.
set -eu

case "$1" in
  helm) package=helm.sh/helm/v3/cmd/helm version=v3.18.6 ;;
  kubeconform) package=github.com/yannh/kubeconform/cmd/kubeconform version=v0.7.0 ;;
  # Reads a compose file as Compose does, and prints it with everything filled in.
  compose) package=github.com/compose-spec/compose-go/v2/cmd version=v2.9.0 ;;
esac
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
program="$tools/$1-$version"
if [ ! -x "$program" ]; then
  go=$("$(dirname "$0")/../go.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  GOBIN="$work" nice "$go" install -trimpath -ldflags '-s -w' "$package@$version" >&2
  mkdir -p "$tools"
  mv "$work"/* "$program"
fi
echo "$program"
