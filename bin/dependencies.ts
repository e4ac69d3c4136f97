// The packages of package-lock.json: their known vulnerabilities, found as the service finds those of packages; their licences.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatOf } from '../src/formats/index.ts'
import { createOsvImporter } from '../src/gate/engines/osv/import.ts'
import { createOsvMatcher, type Component, type OsvMatcher } from '../src/gate/engines/osv/matcher.ts'
import type { AdvisoryReader, AdvisoryWriter } from '../src/gate/engines/osv/advisories.ts'
import { systemClock } from '../src/kernel/clock.ts'

const ROOT = join(import.meta.dirname, '..')

export interface Dependency {
  name: string
  version: string
  /** an SPDX expression in the package's own words */
  license: string | null
  /** only needed to build and to test */
  dev: boolean
}

/** Every package in the lock file, including those for other platforms. */
export function dependencies(): Dependency[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; license?: string; dev?: boolean; link?: boolean; name?: string }>
  }
  return Object.entries(packages).flatMap(([path, { version, license = null, dev = false, link, name }]) => {
    const at = path.lastIndexOf('node_modules/')
    return at === -1 || link || !version
      ? []
      : [{ name: name ?? path.slice(at + 'node_modules/'.length), version, license, dev }]
  })
}

/**
 * @param directory advisories in OSV format, as in `SVC_OSV_DIR`
 * @returns a line for each vulnerability; null when the directory has no advisories for npm
 * @throws Problem('upstream_error') when the directory cannot be read
 */
export async function vulnerabilitiesOf(
  advisories: AdvisoryReader & AdvisoryWriter,
  directory: string,
  all: readonly Dependency[],
): Promise<string[] | null> {
  const deps = {
    advisories,
    compare: (...[format, a, b]: Parameters<Parameters<typeof createOsvMatcher>[0]['compare']>) =>
      formatOf(format).versions.compare(a, b),
  }
  const noDownload = () => Promise.reject(new Error('nothing is downloaded'))
  const importer = createOsvImporter({
    ...deps,
    ...{ clock: systemClock, distros: [], workDirectory: directory, download: noDownload },
  })
  await importer.importDirectory(directory)
  const matcher: OsvMatcher = createOsvMatcher(deps)
  const components = all.map(({ name, version }): Component => ({ ecosystem: 'npm', name, version }))
  const matches = await matcher.matchComponents(components)
  if (matches.some(({ result }) => result === 'no_data')) return null
  return matches.flatMap(({ component: { name, version }, findings }) =>
    findings.map(({ id, severity, fix_versions: fixes }) => {
      const mend = fixes.length > 0 ? `fixed in ${fixes.join(', ')}` : 'no fix'
      return `${name} ${version}: ${id}, ${severity}, ${mend}`
    }),
  )
}

/** These licences only require attribution, and permit use with Apache-2.0. */
const PERMISSIVE = [
  ...['MIT', 'MIT-0', 'Apache-2.0', 'ISC', '0BSD', 'BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'Unlicense'],
  ...['CC0-1.0', 'CC-BY-3.0', 'Python-2.0'],
]
/** Used unchanged, as separate files that anybody may exchange. */
const AS_FILES: Readonly<Record<string, string>> = {
  openpgp: 'LGPL-3.0+',
  'node-liblzma': 'LGPL-3.0',
  '@fontsource-variable/geist': 'OFL-1.1',
}
/** Packages without a stated licence; each contains the text of the MIT licence. */
const UNSTATED = ['decko', 'stickyfill']

/** @returns a line for each package with a licence that nobody has agreed to */
export function unknownLicences(all: readonly Dependency[]): string[] {
  return all
    .filter(({ name, license, dev }) => {
      if (license === null) return !(dev && UNSTATED.includes(name))
      if (AS_FILES[name] === license) return false
      // Packages that are only used to build and test are not distributed.
      const agreed = dev ? [...PERMISSIVE, 'MPL-2.0'] : PERMISSIVE
      const parts = license.replace(/[()]/g, '').split(/ (?:AND|OR) /)
      const isAgreed = (part: string) => agreed.includes(part)
      return license.includes(' AND ') ? !parts.every(isAgreed) : !parts.some(isAgreed)
    })
    .map(({ name, version, license }) => `${name} ${version}: ${license ?? 'no licence'}`)
}
