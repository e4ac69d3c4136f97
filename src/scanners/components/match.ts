// Libraries inside a package against the advisories of their own ecosystems. Knows no record.
import { severityRank } from '../../domain/risk.ts'
import type { Coverage } from '../../domain/status.ts'
import type { AdvisoryState } from '../../domain/advisory-store.ts'
import { newestOf } from '../osv/advisories.ts'
import { packageKey } from '../osv/ecosystems.ts'
import type { OsvFinding } from '../osv/findings.ts'
import type { Component, OsvMatcher, ScanInput } from '../osv/matcher.ts'

export const COMPONENT_ECOSYSTEMS = ['npm', 'PyPI', 'Maven'] as const
/** As `sources` of findings name it: what it found is its own to take back. */
export const COMPONENT_ENGINE = 'osv-components'

/** What was read, as far as it says how much of the package was looked into. */
export interface LookedInto {
  components: readonly Component[]
  filesSeen: number
  bytes: number
  skipped: readonly { name: string; reason: string }[]
}

/** A package and what lies inside it. */
export interface Carrier extends ScanInput {
  inside: LookedInto
}

export interface ComponentMatcher {
  /**
   * For each package, in the order given: one vulnerability is one finding, on the library it is worst in. None of what
   * the distribution says is mended in this version of the package: `python3-requests` is the library, and its
   * distribution mends it without raising the version that the library tells.
   */
  match(packages: readonly Carrier[]): Promise<{ findings: OsvFinding[]; coverage: Coverage }[]>
  /** of the advisories in force: what was matched against an older one may have to be matched again */
  generation(): Promise<number>
}

/** @param enrich adds what is known of vulnerabilities beside advisories; its failure costs the extras only */
export function createComponentMatcher(parts: {
  matcher: Pick<OsvMatcher, 'matchComponents' | 'clearedOf'>
  state(): Promise<AdvisoryState>
  enrich(findings: OsvFinding[]): Promise<OsvFinding[]>
}): ComponentMatcher {
  return {
    generation: async () => (await parts.state()).generation,
    async match(packages) {
      const { ecosystems } = await parts.state()
      // Many packages carry the same libraries: each is matched once.
      const different = new Map(
        packages.flatMap(({ inside }) =>
          inside.components.map((component) => [identityOf(component), component] as const),
        ),
      )
      const matches = await parts.matcher.matchComponents([...different.values()])
      const known = new Map(matches.map(({ component, findings }) => [identityOf(component), findings]))
      const results: { findings: OsvFinding[]; coverage: Coverage }[] = []
      for (const carrier of packages) {
        const found = worstOf(carrier.inside.components.flatMap((component) => known.get(identityOf(component)) ?? []))
        const cleared = found.length > 0 ? await parts.matcher.clearedOf(carrier) : null
        const isMended = ({ id }: OsvFinding) => cleared?.has(id) ?? false
        results.push({
          findings: found.filter((finding) => !isMended(finding)),
          coverage: coverageOf(carrier, ecosystems, found.filter(isMended)),
        })
      }
      const enriched = await parts.enrich(results.flatMap(({ findings }) => findings))
      let at = 0
      return results.map(({ findings, coverage }) => ({
        findings: enriched.slice(at, (at += findings.length)),
        coverage,
      }))
    },
  }
}

const identityOf = ({ ecosystem, name, version }: Component) => `${ecosystem}\0${name}\0${version}`

/** Beyond this many, the components that share one vulnerability are not listed. */
const LISTED_AT_MOST = 200

/** One finding per vulnerability: rated by the component it is worst in, with all affected components listed. */
function worstOf(all: readonly OsvFinding[]): OsvFinding[] {
  const about = new Map<string, OsvFinding[]>()
  for (const finding of all) {
    const same = about.get(finding.id)
    if (same) same.push(finding)
    else about.set(finding.id, [finding])
  }
  return [...about.values()].map((findings) => {
    const worstFirst = [...findings].sort((a, b) => severityRank(b.severity) - severityRank(a.severity))
    const components = worstFirst.slice(0, LISTED_AT_MOST).map((finding) => ({
      name: finding.package_name,
      version: finding.package_version,
      type: finding.package_type,
      severity: finding.severity,
      fix_state: finding.fix_state,
      fix_versions: finding.fix_versions,
    }))
    return { ...worstFirst[0]!, sources: [COMPONENT_ENGINE], components }
  })
}

/** @param mended findings that the distribution says do not hold */
function coverageOf(
  { inside, facts, distribution }: Carrier,
  ecosystems: AdvisoryState['ecosystems'],
  mended: readonly OsvFinding[],
): Coverage {
  const { components, filesSeen, bytes, skipped } = inside
  const present = COMPONENT_ECOSYSTEMS.filter((name) => components.some((component) => component.ecosystem === name))
  const covered = present.filter((name) => ecosystems[name])
  const without = present
    .filter((name) => !ecosystems[name])
    .map((name) => ({ name: `components of ${name}`, reason: 'no advisories for them have been imported' }))
  const left = mended.map(({ id, package_name, package_version }) => ({
    name: `${id} in ${package_name} ${package_version}`,
    reason: `by the advisories for ${distribution.fullName}, ${facts.name} ${facts.version} does not have it`,
  }))
  return {
    engine: COMPONENT_ENGINE,
    result:
      present.length > 0 && covered.length === 0
        ? 'no_data'
        : skipped.length > 0 || without.length > 0
          ? 'limited'
          : 'scanned',
    engine_version: null,
    database_date: newestOf(ecosystems, covered),
    distro_matched: covered.length > 0 ? covered.join(', ') : null,
    files_seen: filesSeen,
    files_skipped: [...skipped, ...without, ...left],
    bytes,
  }
}

/** The name a library is looked up by. */
export function componentKey({ ecosystem, name }: Component): string {
  return packageKey(ecosystem, name)
}
