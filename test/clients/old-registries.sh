#!/bin/sh
# Installs the registries that moving.md moves from, from the registries that this machine uses: Verdaccio and devpi. Prints their directory.
set -eu

tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/old-registries-1"
if [ ! -e "$tools/done" ]; then
  {
    mkdir -p "$tools"
    # It names a release of node-fetch by a tag, which mirrors may not have.
    echo '{ "private": true, "overrides": { "node-fetch": "2.7.0" } }' > "$tools/package.json"
    (cd "$tools" && npm install --fetch-timeout=60000 --fetch-retries=5 --no-audit --no-fund --no-package-lock --ignore-scripts verdaccio@6.8.0)
    python3 -m venv "$tools/python"
    "$tools/python/bin/python" -m pip install --quiet devpi-server==6.20.3
    touch "$tools/done"
  } >&2
fi
echo "$tools"
