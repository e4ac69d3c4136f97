#!/bin/sh
# Before removing, not before upgrading: deb says "remove", rpm says how many versions stay.
set -e
case "${1:-}" in remove | 0) ;; *) exit 0 ;; esac
[ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ] || exit 0
systemctl disable --now gatehouse.service gatehouse-serve.service
