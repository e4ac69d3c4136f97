// The set-up of apk for a distribution: one line of repositories, the key, and a script that installs both.
import { LOGIN, NEEDS_TOKEN, TOKEN_MARK, withToken } from '../client-credentials.ts'
import type { ClientSetup, SetupInput } from '../serving.ts'

/** Busybox has wget; curl and sudo are not part of a fresh Alpine. */
export function setup({ distribution, url, keys, signsIn = false }: SetupInput): ClientSetup {
  const { codename, fullName, component } = distribution
  // apk sends the login of the address (apk-repositories(5)).
  const address = signsIn ? url.replace('://', `://${LOGIN}:${TOKEN_MARK}@`) : url
  const line = `${address}/apk/${codename}/${component ?? 'main'}`
  const installAs = `/etc/apk/repositories.d/gatehouse-${codename}.list`
  return {
    credentials: null,
    // apk reads every `.list` file here (apk-repositories(5)).
    file: {
      suffix: '.list',
      installAs,
      content: `${line}\n`,
    },
    script: `#!/bin/sh
# Adds the Gatehouse packages for ${fullName} to apk. Run as root.
set -eu
${signsIn ? NEEDS_TOKEN : ''}cat > /etc/apk/keys/${keys.apk.name} <<'GATEHOUSE'
${keys.apk.pem.trim()}
GATEHOUSE
mkdir -p /etc/apk/repositories.d
cat > ${installAs} <<'GATEHOUSE'
${line}
GATEHOUSE
${signsIn ? withToken(installAs) : ''}apk update
`,
    install: 'apk add',
    run: (scriptUrl) =>
      signsIn
        ? `wget -qO- --header "Authorization: Bearer $GATEHOUSE_TOKEN" ${scriptUrl} | GATEHOUSE_TOKEN=$GATEHOUSE_TOKEN sh`
        : `wget -qO- ${scriptUrl} | sh`,
  }
}
