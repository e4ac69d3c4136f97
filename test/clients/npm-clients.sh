#!/bin/sh
# Installs the clients of npm repositories, from the registry that this machine's npm uses, and prints their directory.
set -eu

directory="$(cd "$(dirname "$0")/../.." && pwd)/node_modules/.cache/npm-clients"
case $(uname -m) in aarch64) bun=@oven/bun-linux-aarch64 ;; *) bun=@oven/bun-linux-x64-baseline ;; esac
for client in npm10=npm@10.9.9 npm11=npm@11.21.2 pnpm=pnpm@12.21.0 yarn1=yarn@1.22.22 yarn4=@yarnpkg/cli-dist@4.18.1 "bun=$bun@1.4.5"; do
  home="$directory/${client%%=*}"
  [ -e "$home/done" ] && continue
  mkdir -p "$home"
  echo '{ "private": true }' > "$home/package.json"
  # A transfer that stalls is begun again after a minute; npm itself waits for five.
  (cd "$home" && npm install --fetch-timeout=60000 --fetch-retries=5 --no-audit --no-fund --no-package-lock --ignore-scripts \
    "${client#*=}" >&2)
  touch "$home/done"
done
echo "$directory"
