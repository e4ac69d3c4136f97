#!/bin/sh
# After a removal: prints that data and secrets stay, even when the package is purged. Prints nothing after an upgrade.
case "${1:-}" in purge | 0) ;; *) exit 0 ;; esac
echo 'gatehouse: kept, and yours to delete: /var/lib/gatehouse (packages, keys, backups), /etc/gatehouse/secrets.env, the user gatehouse'
