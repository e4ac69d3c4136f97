#!/bin/sh
# Makes a Python client with openapi-python-client, and uses it: python.sh DOCUMENT DIRECTORY FILE NAME.
# OPENAPI_PYTHON names a Python that has the generator; without it, a virtual environment is made once.
set -eu

version=0.29.1
here=$(cd "$(dirname "$0")" && pwd)
document=$1 directory=$2
shift 2
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
python=${OPENAPI_PYTHON:-$tools/openapi-python-client-$version/bin/python}
if [ ! -x "$python" ]; then
  {
    mkdir -p "$tools"
    work=$(mktemp -d "$tools/new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m venv "$work"
    "$work/bin/pip" install --quiet "openapi-python-client==$version"
    # Another suite may have been faster.
    mv -T "$work" "${python%/bin/python}" || [ -x "$python" ]
  } >&2
fi
"$python" -m openapi_python_client generate --path "$document" --output-path "$directory" --meta none --overwrite \
  --config "$here/python.yaml" > "$directory.log" 2>&1 || { cat "$directory.log" >&2; exit 1; }
# A construct that the generator does not know makes it leave out an operation, with a warning.
if grep -i 'unable to\|skipping\|error' "$directory.log" >&2; then exit 1; fi
PYTHONPATH="$(dirname "$directory")" exec "$python" "$here/use.py" "$(basename "$directory")" "$@"
