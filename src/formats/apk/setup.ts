// The set-up of apk for a distribution: one line of repositories, the key, and a script that installs both.
import type { ClientSetup, SetupInput } from '../serving.ts'

/** Busybox has wget; curl and sudo are not part of a fresh Alpine. */
export function setup({ distribution, url, keys }: SetupInput): ClientSetup {
  const { codename, fullName, component } = distribution
  const line = `${url}/apk/${codename}/${component ?? 'main'}`
  const installAs = `/etc/apk/repositories.d/gatehouse-${codename}.list`
  return {
    // apk reads every `.list` file here (apk-repositories(5)).
    file: {
      suffix: '.list',
      installAs,
      content: `${line}\n`,
    },
    script: `#!/bin/sh
# Adds the Gatehouse packages for ${fullName} to apk. Run as root.
set -eu
cat > /etc/apk/keys/${keys.apk.name} <<'GATEHOUSE'
${keys.apk.pem.trim()}
GATEHOUSE
mkdir -p /etc/apk/repositories.d
cat > ${installAs} <<'GATEHOUSE'
${line}
GATEHOUSE
apk update
`,
    install: 'apk add',
    run: (scriptUrl) => `wget -qO- ${scriptUrl} | sh`,
  }
}
