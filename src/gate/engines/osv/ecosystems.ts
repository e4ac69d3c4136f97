// Which advisories belong to which distribution: OSV's names for ours. Pure.
import type { FormatId } from '../../../domain/package.ts'

/** Version order of each ecosystem: of one of our formats, or of a language's packages. */
const ORDERS: Readonly<Record<string, string>> = {
  Debian: 'deb',
  Ubuntu: 'deb',
  AlmaLinux: 'rpm',
  'Rocky Linux': 'rpm',
  'Red Hat': 'rpm',
  openSUSE: 'rpm',
  Alpine: 'apk',
  npm: 'npm',
  PyPI: 'PyPI',
  Maven: 'Maven',
}

/** The ecosystems whose advisories are used here, under the names their directories have in the OSV bucket. */
export const BUCKETS: readonly string[] = Object.keys(ORDERS)

/** @returns null for an ecosystem that is none of ours */
export function orderName(ecosystem: string): string | null {
  const family = ecosystem.split(':')[0]!
  return Object.hasOwn(ORDERS, family) ? ORDERS[family]! : null
}

export interface DistributionEcosystem {
  /** the name OSV's documents give it */
  name: string
  order: FormatId
  /** whether advisories of that ecosystem apply to this distribution */
  covers(ecosystem: string): boolean
}

/** A rule for one operating system: maps the release in our scanner id to the ecosystems with its advisories. */
type Rule = (release: string) => DistributionEcosystem

const named = (name: string, ...also: string[]): DistributionEcosystem => ({
  name,
  order: orderName(name)!,
  covers: (ecosystem) => ecosystem === name || also.includes(ecosystem),
})
const major = (release: string) => release.split('.')[0]!

const RULES: Readonly<Record<string, Rule>> = {
  debian: (release) => named(`Debian:${major(release)}`, 'Debian'),
  // Pro has the fixes after the end of free support; the free packages stay vulnerable. FIPS, Realtime and the kernels
  // for one board are other builds.
  ubuntu: (release) => named(`Ubuntu:${release}:LTS`, `Ubuntu:${release}`, `Ubuntu:Pro:${release}:LTS`),
  almalinux: (release) => named(`AlmaLinux:${major(release)}`, 'AlmaLinux'),
  rockylinux: (release) => named(`Rocky Linux:${major(release)}`, 'Rocky Linux'),
  // Stream has no advisories of its own; the next minor release of Red Hat's is made from it.
  centos: redHat,
  'opensuse/leap': (release) => named(`openSUSE:Leap ${release}`, `openSUSE:openSUSE Leap ${release}`),
  'opensuse/tumbleweed': () => named('openSUSE:Tumbleweed', 'openSUSE:openSUSE Tumbleweed'),
  // Repositories of libraries.
  npm: () => named('npm'),
  pypi: () => named('PyPI'),
  alpine: (release) => named(`Alpine:v${release.split('.').slice(0, 2).join('.')}`),
}

/** The main stream of a major release only: extended and update-service streams have other version numbers. */
function redHat(release: string): DistributionEcosystem {
  const name = `Red Hat:enterprise_linux:${major(release)}`
  return {
    name,
    order: 'rpm',
    covers: (ecosystem) => ecosystem === name || ecosystem.startsWith(`${name}::`) || ecosystem.startsWith(`${name}.`),
  }
}

/**
 * @param scannerDistro `almalinux:9`, `opensuse/leap:15.6`
 * @returns null for a distribution that publishes nothing in OSV format: Fedora and Oracle Linux among ours
 */
export function ecosystemOf(scannerDistro: string): DistributionEcosystem | null {
  const colon = scannerDistro.indexOf(':')
  const system = colon === -1 ? scannerDistro : scannerDistro.slice(0, colon)
  const release = colon === -1 ? '' : scannerDistro.slice(colon + 1)
  return Object.hasOwn(RULES, system) && release !== '' ? RULES[system]!(release) : null
}

/** The name as the ecosystem's own rules compare it. */
export function packageKey(ecosystem: string, name: string): string {
  // PEP 503: runs of punctuation are one hyphen, case does not count.
  return ecosystem.split(':')[0] === 'PyPI' ? name.toLowerCase().replace(/[-_.]+/g, '-') : name
}
