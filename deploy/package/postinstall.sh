#!/bin/sh
# After an installation or upgrade, deb and rpm: creates the user and the secrets, and replaces the processes
# of a running service by those of the new code, without a gap for package clients.
set -e

# For an installation into a directory that is not a running system.
[ -z "${DPKG_ROOT:-}" ] || exit 0

if command -v systemd-sysusers > /dev/null; then
  systemd-sysusers gatehouse.conf
elif ! getent passwd gatehouse > /dev/null; then
  useradd --system --user-group --home-dir /var/lib/gatehouse --shell /usr/sbin/nologin gatehouse
fi

# Once: another SETTINGS_ENCRYPTION_KEY could not read the stored secrets.
secrets=/etc/gatehouse/secrets.env
if [ ! -e "$secrets" ]; then
  random() { head -c 36 /dev/urandom | base64 | tr -d '\n=+/'; }
  (
    umask 077
    cat > "$secrets.new" <<SECRETS
# Made when Gatehouse was installed. Keep a copy apart from the backups: they are of no use without SETTINGS_ENCRYPTION_KEY.
JWT_SECRET_KEY=$(random)
WEBHOOK_SECRET=$(random)
SETTINGS_ENCRYPTION_KEY=$(random)
# Any random text: /usr/share/doc/gatehouse/deploy.md, "The vendor key".
SVC_LICENSE_VENDOR_KEY=$(random)
# The first administrator is created with it: header X-Setup-Token of POST /api/v1/setup/.
SETUP_TOKEN=$(random)
SECRETS
  )
  mv "$secrets.new" "$secrets"
fi
chown root:gatehouse "$secrets" /etc/gatehouse/gatehouse.env
chmod 0640 "$secrets" /etc/gatehouse/gatehouse.env
install -d -o gatehouse -g gatehouse -m 0711 /var/lib/gatehouse

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-reload-or-restart gatehouse.service gatehouse-serve.service
fi
