// Matches the components inside a package against the advisories of their own ecosystems. Knows no record.
import { aliasesAmong } from '../../../domain/advisory-id.ts'
import { severityRank } from '../../../domain/risk.ts'
import type { Coverage } from '../../../domain/status.ts'
import type { AdvisoryState } from '../../../domain/advisory-store.ts'
import { newestOf } from '../osv/advisories.ts'
import { packageKey } from '../osv/ecosystems.ts'
import type { OsvFinding } from '../osv/findings.ts'
import type { Component, OsvMatcher, ScanInput } from '../osv/matcher.ts'

export const COMPONENT_ECOSYSTEMS = ['npm', 'PyPI', 'Maven'] as const
/** The matcher's name in `sources` of findings; it removes only findings of its own. */
export const COMPONENT_ENGINE = 'osv-components'

/** The components of a package, and how much of the package was read. */
export interface PackageContents {
  components: readonly Component[]
  filesSeen: number
  bytes: number
  skipped: readonly { name: string; reason: string }[]
}

/** A package with its components. */
export interface Carrier extends ScanInput {
  contents: PackageContents
}

export interface ComponentMatcher {
  /**
   * Results in the order of the packages: one finding per vulnerability. Vulnerabilities that the distribution's advisories
   * call fixed in this version of the package are left out, because distributions fix a component (`python3-requests`)
   * without raising the version in its metadata.
   */
  match(packages: readonly Carrier[]): Promise<{ findings: OsvFinding[]; coverage: Coverage }[]>
  /** the advisory generation in force */
  generation(): Promise<number>
}

/** @param deps.enrich adds scores and known-exploited flags */
export function createComponentMatcher(deps: {
  matcher: Pick<OsvMatcher, 'matchComponents' | 'clearedOf'>
  state(): Promise<AdvisoryState>
  enrich(findings: OsvFinding[]): Promise<OsvFinding[]>
}): ComponentMatcher {
  return {
    generation: async () => (await deps.state()).generation,
    async match(packages) {
      const { ecosystems } = await deps.state()
      // Many packages have the same components: each is matched once.
      const different = new Map(
        packages.flatMap(({ contents }) =>
          contents.components.map((component) => [identityOf(component), component] as const),
        ),
      )
      const matches = await deps.matcher.matchComponents([...different.values()])
      const known = new Map(matches.map(({ component, findings }) => [identityOf(component), findings]))
      const results: { findings: OsvFinding[]; coverage: Coverage }[] = []
      for (const carrier of packages) {
        const found = worstOf(
          carrier.contents.components.flatMap((component) => known.get(identityOf(component)) ?? []),
        )
        const cleared = found.length > 0 ? await deps.matcher.clearedOf(carrier) : null
        const isFixed = ({ id }: OsvFinding) => cleared?.has(id) ?? false
        results.push({
          findings: found.filter((finding) => !isFixed(finding)),
          coverage: coverageOf(carrier, ecosystems, found.filter(isFixed)),
        })
      }
      const enriched = await deps.enrich(results.flatMap(({ findings }) => findings))
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
    const [worst] = worstFirst as [OsvFinding]
    const aliases = aliasesAmong(
      worst.id,
      findings.flatMap((finding) => finding.aliases ?? []),
    )
    return { ...worst, sources: [COMPONENT_ENGINE], aliases, components }
  })
}

/** @param fixed findings that the distribution's advisories rule out */
function coverageOf(
  { contents, facts, distribution }: Carrier,
  ecosystems: AdvisoryState['ecosystems'],
  fixed: readonly OsvFinding[],
): Coverage {
  const { components, filesSeen, bytes, skipped } = contents
  const present = COMPONENT_ECOSYSTEMS.filter((name) => components.some((component) => component.ecosystem === name))
  const covered = present.filter((name) => ecosystems[name])
  const without = present
    .filter((name) => !ecosystems[name])
    .map((name) => ({ name: `components of ${name}`, reason: 'no advisories for them have been imported' }))
  const left = fixed.map(({ id, package_name, package_version }) => ({
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

/** The name a component is looked up by. */
export function componentKey({ ecosystem, name }: Component): string {
  return packageKey(ecosystem, name)
}
