#!/bin/sh
# Before a removal, not before an upgrade: deb passes "remove", rpm passes the number of versions that stay.
set -e
case "${1:-}" in remove | 0) ;; *) exit 0 ;; esac
[ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ] || exit 0
systemctl disable --now gatehouse.service gatehouse-serve.service
