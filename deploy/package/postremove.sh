#!/bin/sh
# After removing: data and secrets stay, also when the package is purged, and it says so. An upgrade says nothing.
case "${1:-}" in purge | 0) ;; *) exit 0 ;; esac
echo 'gatehouse: kept, and yours to delete: /var/lib/gatehouse (packages, keys, backups), /etc/gatehouse/secrets.env, the user gatehouse'
