#!/bin/sh
# Makes one package of each format with nfpm, which most CI uses, and prints their paths: nfpm.sh DIRECTORY.
# Also makes sample-plain.apk, because apko cannot read the .PKGINFO that nfpm writes for a description of several lines.
set -eu

directory=$1
program=$("$(dirname "$0")/../nfpm.sh")

mkdir -p "$directory"
cd "$directory"
echo 'a = 1' > sample.conf
printf '#!/bin/sh\necho sample\n' > sample.sh
cat > nfpm.yaml <<'YAML'
name: nfpm-sample
arch: amd64
version: 1.2.3
prerelease: rc1
release: "2"
section: utils
maintainer: Sample Maintainer <sample@example.org>
description: |
  A sample package
  of two lines.
license: MIT
homepage: https://example.org/sample
provides: [virtual-sample]
replaces: [old-sample]
contents:
  - src: sample.conf
    dst: /etc/nfpm-sample.conf
    type: config
  - src: sample.sh
    dst: /usr/bin/nfpm-sample
    file_info: { mode: 0755 }
  - src: /usr/bin/nfpm-sample
    dst: /usr/bin/nfpm-sample-link
    type: symlink
scripts:
  postinstall: sample.sh
overrides:
  deb: { depends: [libc6 (>= 2.14)] }
  rpm: { depends: [glibc >= 2.14] }
  apk: { depends: [musl>=1.2] }
YAML
for format in deb rpm apk; do
  "$program" package --config nfpm.yaml --packager "$format" --target "sample.$format" >&2
  echo "$directory/sample.$format"
done
sed -e '/^  A sample package$/d' -e '/^  of two lines\.$/d' -e 's/^description: .*/description: A sample package/' nfpm.yaml > plain.yaml
"$program" package --config plain.yaml --packager apk --target sample-plain.apk >&2
echo "$directory/sample-plain.apk"
