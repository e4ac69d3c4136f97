// The set-up of dnf and zypper for a distribution: a .repo file, and a script that installs it.
import { LOGIN, NEEDS_TOKEN, runSignedIn, TOKEN_MARK, withToken } from '../client-credentials.ts'
import type { ClientSetup, SetupInput } from '../serving.ts'

/** One file serves both: zypper reads `autorefresh` and `type`, dnf ignores them. */
export function setup({ distribution, url, signsIn = false }: SetupInput): ClientSetup {
  const { codename, fullName, architectures, packageManager } = distribution
  const arch = architectures.length === 1 ? architectures[0] : '$basearch'
  const id = `gatehouse-${codename}`
  const isZypper = packageManager === 'zypper'
  const installAs = `${isZypper ? '/etc/zypp/repos.d' : '/etc/yum.repos.d'}/${id}.repo`
  const refresh = isZypper
    ? `zypper --non-interactive --gpg-auto-import-keys refresh ${id}`
    : `dnf -y --disablerepo='*' --enablerepo=${id} makecache`
  const login = [`username=${LOGIN}`, `password=${TOKEN_MARK}`]
  // dnf reads the login from the .repo file, libzypp from a file that the address names.
  const credentials =
    signsIn && isZypper ? { installAs: `/etc/zypp/credentials.d/${id}`, content: `${login.join('\n')}\n` } : null
  const credentialCommands = credentials
    ? `mkdir -p /etc/zypp/credentials.d
cat > ${credentials.installAs} <<'GATEHOUSE'
${credentials.content}GATEHOUSE
`
    : ''
  const content = [
    `[${id}]`,
    `name=Gatehouse packages for ${fullName}`,
    `baseurl=${url}/repos/${codename}/${arch}/${credentials ? `?credentials=${id}` : ''}`,
    ...(signsIn && !credentials ? login : []),
    'enabled=1',
    'autorefresh=1',
    'type=rpm-md',
    'gpgcheck=1',
    'repo_gpgcheck=1',
    `gpgkey=${url}/repos/gpg.key`,
    '',
  ].join('\n')
  return {
    credentials,
    file: { suffix: '.repo', installAs, content },
    script: `#!/bin/sh
# Adds the Gatehouse packages for ${fullName} to ${packageManager}. Run as root.
set -eu
${signsIn ? NEEDS_TOKEN : ''}${credentialCommands}cat > ${installAs} <<'GATEHOUSE'
${content}GATEHOUSE
${signsIn ? withToken(credentials?.installAs ?? installAs) : ''}${refresh}
`,
    install: `sudo ${packageManager} install`,
    run: (scriptUrl) => (signsIn ? runSignedIn(scriptUrl) : `curl -fsSL ${scriptUrl} | sudo sh`),
  }
}
