// The set-up of an apt client for a distribution: a deb822 file, and a script that installs it.
import { LOGIN, NEEDS_TOKEN, runSignedIn, TOKEN_MARK, withToken } from '../client-credentials.ts'
import type { ClientSetup, SetupInput } from '../serving.ts'

/** apt before 2.4 cannot read a key inside `Signed-By` (apt 2.4 release notes); Ubuntu 20.04 has 2.0, Debian 11 has 2.2. */
const WITHOUT_INLINE_KEYS = new Set(['ubuntu:18.04', 'ubuntu:20.04', 'debian:10', 'debian:11'])
const KEY_FILE = '/etc/apt/keyrings/gatehouse.asc'

export function setup({ distribution, url, keys, signsIn = false }: SetupInput): ClientSetup {
  const { codename, fullName, component, architectures, scannerDistro } = distribution
  const armored = keys.openpgpArmored.trim()
  const inline = !WITHOUT_INLINE_KEYS.has(scannerDistro)
  const installAs = `/etc/apt/sources.list.d/gatehouse-${codename}.sources`
  const keyCommands = inline
    ? ''
    : `mkdir -p /etc/apt/keyrings\ncat > ${KEY_FILE} <<'GATEHOUSE'\n${armored}\nGATEHOUSE\n`
  const content = [
    `# Gatehouse packages for ${fullName}`,
    ...(inline ? [] : [`# Save ${url}/repos/gpg.key as ${KEY_FILE}: apt before 2.4 reads keys from files only.`]),
    'Types: deb',
    `URIs: ${url}/repos`,
    `Suites: ${codename}`,
    `Components: ${component ?? 'main'}`,
    // Without the line, apt fetches the index of its own architecture; with it, it would fetch those of all listed ones.
    ...(architectures.length === 1 ? [`Architectures: ${architectures[0]}`] : []),
    ...(inline ? ['Signed-By:', ...armored.split(/\r?\n/).map(continuation)] : [`Signed-By: ${KEY_FILE}`]),
    '',
  ].join('\n')
  const credentials = signsIn
    ? {
        installAs: `/etc/apt/auth.conf.d/gatehouse-${codename}.conf`,
        // The scheme is needed for http: without it apt sends a password over https only (apt_auth.conf(5)).
        content: `machine ${url}/repos/ login ${LOGIN} password ${TOKEN_MARK}\n`,
      }
    : null
  const credentialCommands = credentials
    ? `${NEEDS_TOKEN}mkdir -p /etc/apt/auth.conf.d
cat > ${credentials.installAs} <<'GATEHOUSE'
${credentials.content}GATEHOUSE
${withToken(credentials.installAs)}umask 022
`
    : ''
  return {
    credentials,
    file: { suffix: '.sources', installAs, content },
    script: `#!/bin/sh
# Adds the Gatehouse packages for ${fullName} to apt. Run as root.
set -eu
${credentialCommands}${keyCommands}cat > ${installAs} <<'GATEHOUSE'
${content}GATEHOUSE
apt-get update
`,
    install: 'sudo apt-get install',
    run: (scriptUrl) => (signsIn ? runSignedIn(scriptUrl) : `curl -fsSL ${scriptUrl} | sudo sh`),
  }
}

/** deb822(5): a continuation line begins with a blank, an empty one is a dot. */
function continuation(line: string): string {
  return line === '' ? ' .' : ` ${line}`
}
