#!/bin/sh
# Prints the directory of Kubernetes' JSON schemas, strict: unknown fields are faults. They come with a package of PyPI.
set -eu

package=1.34.1 release=v1.34.0
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
kept="$tools/kubernetes-$release"
if [ ! -d "$kept" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  python3 -m venv "$work/venv" >&2
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps "kubernetes-validate==$package" >&2
  # Each refers to `/api/_definitions.json` on a host that does not exist; the file is beside it.
  python3 - "$work"/venv/lib/python3*/site-packages/kubernetes_validate/kubernetes-json-schema/"$release-local-strict" "$work/schemas" <<'PYTHON'
import json, pathlib, sys
source, target = map(pathlib.Path, sys.argv[1:])
target.mkdir()
for file in source.glob('*.json'):
    schema = json.loads(file.read_text().replace('"/api/_definitions.json', '"_definitions.json'))
    schema.pop('$id', None)
    (target / file.name).write_text(json.dumps(schema))
PYTHON
  mkdir -p "$tools"
  mv "$work/schemas" "$kept"
fi
echo "$kept"
