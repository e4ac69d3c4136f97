// The set-up of dnf and zypper for a distribution: a .repo file, and a script that installs it.
import type { ClientSetup, SetupInput } from '../serving.ts'

/** One file serves both: zypper reads `autorefresh` and `type`, dnf ignores them. */
export function setup({ distribution, url }: SetupInput): ClientSetup {
  const { codename, fullName, architectures, packageManager } = distribution
  const arch = architectures.length === 1 ? architectures[0] : '$basearch'
  const id = `gatehouse-${codename}`
  const isZypper = packageManager === 'zypper'
  const installAs = `${isZypper ? '/etc/zypp/repos.d' : '/etc/yum.repos.d'}/${id}.repo`
  const refresh = isZypper
    ? `zypper --non-interactive --gpg-auto-import-keys refresh ${id}`
    : `dnf -y --disablerepo='*' --enablerepo=${id} makecache`
  const content = [
    `[${id}]`,
    `name=Gatehouse packages for ${fullName}`,
    `baseurl=${url}/repos/${codename}/${arch}/`,
    'enabled=1',
    'autorefresh=1',
    'type=rpm-md',
    'gpgcheck=1',
    'repo_gpgcheck=1',
    `gpgkey=${url}/repos/gpg.key`,
    '',
  ].join('\n')
  return {
    file: { suffix: '.repo', installAs, content },
    script: `#!/bin/sh
# Adds the Gatehouse packages for ${fullName} to ${packageManager}. Run as root.
set -eu
cat > ${installAs} <<'GATEHOUSE'
${content}GATEHOUSE
${refresh}
`,
    install: `sudo ${packageManager} install`,
    run: (scriptUrl) => `curl -fsSL ${scriptUrl} | sudo sh`,
  }
}
