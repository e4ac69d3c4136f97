// The Debian mirror in this machine's apt configuration, for suites and benchmarks: no address is hard-coded.
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { readKeys } from 'openpgp'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

export interface DebianSuite {
  url: string
  suite: string
  component: string
  architecture: string
  /** armored keys of Debian */
  keys: string[]
  keyring: string
}

/** @throws when this machine's apt does not read main of that suite */
export async function debianSuite(name: string): Promise<DebianSuite> {
  const format = ['SITE', 'RELEASE', 'COMPONENT', 'ARCHITECTURE'].map((field) => `$(${field})`).join('|')
  const text = execFileSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
    encoding: 'utf8',
  })
  const target = text
    .split('\n')
    .map((line) => line.split('|'))
    .find(([, release, component]) => release === name && component === 'main')
  if (!target) throw new Error(`apt of this machine does not read ${name} main`)
  const [url = '', suite = '', component = '', architecture = ''] = target
  const keys = await readKeys({ binaryKeys: await readFile(KEYRING) })
  return { url, suite, component, architecture, keys: keys.map((key) => key.armor()), keyring: KEYRING }
}
