#!/bin/sh
# Makes a virtual environment with the clients of Python packages, once, and prints the directory of their programs.
set -eu

set -- pip==26.2.1 uv==0.13.9 twine==7.0.0 poetry==2.5.1 build==1.6.1 setuptools==84.2.1 wheel==0.48.0
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
place=$tools/python-clients-$(printf '%s\n' "$@" | sha256sum | cut -c 1-12)
if [ ! -x "$place/bin/poetry" ]; then
  {
    mkdir -p "$tools"
    work=$(mktemp -d "$tools/new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m venv "$work"
    "$work/bin/python" -m pip install --quiet "$@"
    # Programs of an environment name its path in their first line.
    grep -rlI "$work" "$work/bin" | xargs sed -i "s|$work|$place|g"
    # Another suite may have been faster.
    mv -T "$work" "$place" || [ -x "$place/bin/poetry" ]
  } >&2
fi
echo "$place/bin"
