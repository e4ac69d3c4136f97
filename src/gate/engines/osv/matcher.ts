// The embedded vulnerability engine: packages and components against the stored advisories.
import { vulnerabilities } from '../../../domain/finding.ts'
import type { AffectedPackage } from '../../../domain/advisory.ts'
import type { Distribution, PackageFacts } from '../../../domain/package.ts'
import type { Coverage } from '../../../domain/status.ts'
import type { CveResult, CveScanner } from '../scanner.ts'
import type { AdvisoryState } from '../../../domain/advisory-store.ts'
import { newestOf, type AdvisoryReader } from './advisories.ts'
import { ecosystemOf, packageKey } from './ecosystems.ts'
import { findingsOf, type Hit, type OsvFinding } from './findings.ts'
import type { Order } from '../../../domain/versions/order.ts'
import { identitiesOf, type Identity } from './identities.ts'
import { orderOf, type FormatOrder } from './orders.ts'
import { exposure } from './ranges.ts'
import { isOtherStream } from './rpm-builds.ts'

/** A component found inside a package. */
export interface Component {
  ecosystem: 'npm' | 'PyPI' | 'Maven'
  /** Maven: `group:artifact` */
  name: string
  version: string
}

export interface ComponentMatch {
  component: Component
  /** `no_data`: there are no advisories at all for its ecosystem */
  result: 'scanned' | 'no_data'
  findings: OsvFinding[]
}

export interface ScanInput {
  facts: PackageFacts
  distribution: Distribution
}

export interface OsvMatcher extends CveScanner {
  /** Like `scan`, for many packages of one distribution with three queries, in their order; without other module streams. */
  scanAll(packages: readonly PackageFacts[], distribution: Distribution): Promise<CveResult[]>
  /** Ids of the advisories that apply to a package, bug-fix notices too; sorted. */
  matchedAdvisories(input: ScanInput): Promise<string[]>
  /** All ids of vulnerabilities that the distribution's advisories list for this package, but not for this version. */
  clearedOf(input: ScanInput): Promise<ReadonlySet<string>>
  /** The advisories that apply to each version of an ecosystem's packages, in the order given. */
  hitsOf(ecosystem: Component['ecosystem'], packages: readonly Pick<Component, 'name' | 'version'>[]): Promise<Hit[][]>
  /** In the order given. */
  matchComponents(components: readonly Component[]): Promise<ComponentMatch[]>
}

/** @param compare the version orders of the package formats */
export function createOsvMatcher(deps: { advisories: AdvisoryReader; compare: FormatOrder }): OsvMatcher {
  const { advisories, compare } = deps

  /** What a distribution's packages are matched against; `none` is the reason why there is nothing. */
  async function dataFor(distribution: Distribution) {
    const ecosystem = ecosystemOf(distribution.scannerDistro)
    if (!ecosystem)
      return {
        none: `no advisories in OSV format are published for ${distribution.fullName}`,
        covered: [],
        state: null,
      }
    const state = await advisories.state()
    const covered = Object.keys(state.ecosystems)
      .filter((name) => ecosystem.covers(name))
      .sort()
    if (covered.length === 0) return { none: `no advisories for ${ecosystem.name} have been imported`, covered, state }
    const order: Order = orderOf(ecosystem.name, compare)!
    return { none: null, covered, state, order }
  }

  async function match({ facts, distribution }: ScanInput) {
    const data = await dataFor(distribution)
    if (data.none !== null) return data
    const { state, covered, order } = data
    const { hits, otherStreams } = await hitsOf(state, covered, identitiesOf(facts, order))
    return { ...data, hits: hits.flat(), otherStreams }
  }

  /** The advisory entries for these names, and those that apply to each identity. */
  async function entriesFor(state: AdvisoryState, ecosystems: readonly string[], identities: readonly Identity[]) {
    const candidates = await advisories.candidates(state.generation, ecosystems, [
      ...new Set(identities.map((identity) => identity.name)),
    ])
    const found = identities.map((identity) =>
      candidates.flatMap(({ key, affected }) => {
        const how = affected.package === identity.name ? exposureOf(affected, identity) : null
        return how ? [{ key, affected, exposure: how }] : []
      }),
    )
    return { candidates, found }
  }

  /** Reads only the advisories that matched: a few of a kernel's hundreds. */
  async function hitsOf(state: AdvisoryState, ecosystems: readonly string[], identities: readonly Identity[]) {
    const { candidates, found } = await entriesFor(state, ecosystems, identities)
    const read = await advisories.advisories([...new Set(found.flat().map((one) => one.key))])
    const hits = found.map((matches) =>
      matches.flatMap(({ key, ...hit }): Hit[] => {
        const advisory = read.get(key)
        return advisory ? [{ ...hit, advisory }] : []
      }),
    )
    return { hits, otherStreams: otherStreamsOf(candidates, identities) }
  }

  return {
    name: 'osv',

    async scan(input) {
      const result = await match(input)
      const generation = result.state?.generation ?? null
      const coverage = coverageOf(result.covered, result.state)
      if (result.none !== null) return { result: 'no_data', findings: [], message: result.none, coverage, generation }
      const { facts } = input
      const findings = findingsOf(
        { name: facts.name, version: facts.version, type: facts.format },
        result.hits,
        result.order,
      )
      const message = foundIn(findings, result.covered)
      const { otherStreams } = result
      if (otherStreams.length === 0) return { result: 'scanned', findings, message, coverage, generation }
      return {
        result: 'scanned',
        findings,
        generation,
        message: `${message}; ${otherStreams.map(({ stream, advisories }) => `${advisories} for the other module stream ${stream}`).join(', ')} not applied`,
        coverage: { ...coverage, other_streams: otherStreams },
      }
    },

    async scanAll(packages, distribution) {
      const data = await dataFor(distribution)
      const generation = data.state?.generation ?? null
      const coverage = coverageOf(data.covered, data.state)
      if (data.none !== null)
        return packages.map(() => ({ result: 'no_data', findings: [], message: data.none, coverage, generation }))
      const { state, covered, order } = data
      const identities = packages.map((facts) => identitiesOf(facts, order))
      const { hits } = await hitsOf(state, covered, identities.flat())
      let at = 0
      return packages.map(({ name, version, format }, index) => {
        const own = hits.slice(at, (at += identities[index]!.length)).flat()
        const findings = findingsOf({ name, version, type: format }, own, order)
        return { result: 'scanned', findings, message: foundIn(findings, covered), coverage, generation }
      })
    },

    async matchedAdvisories(input) {
      const result = await match(input)
      const hits = result.none === null ? result.hits : []
      return [...new Set(hits.map((hit) => hit.advisory.id))].sort()
    },

    async clearedOf({ facts, distribution }) {
      const data = await dataFor(distribution)
      if (data.none !== null) return new Set()
      const { candidates, found } = await entriesFor(data.state, data.covered, identitiesOf(facts, data.order))
      const read = await advisories.advisories([...new Set(candidates.map(({ key }) => key))])
      const namesOf = (keys: Iterable<number>) =>
        [...keys].flatMap((key) => {
          const advisory = read.get(key)
          return advisory ? [advisory.id, ...advisory.aliases, ...advisory.cves] : []
        })
      const cleared = new Set(namesOf(read.keys()))
      for (const name of namesOf(found.flat().map(({ key }) => key))) cleared.delete(name)
      return cleared
    },

    async hitsOf(ecosystem, packages) {
      const order = orderOf(ecosystem, compare)!
      const identities = packages.map(({ name, version }) => ({ name: packageKey(ecosystem, name), version, order }))
      return (await hitsOf(await advisories.state(), [ecosystem], identities)).hits
    },

    async matchComponents(components) {
      const state = await advisories.state()
      const findings = new Map<Component, OsvFinding[]>()
      for (const ecosystem of new Set(components.map((component) => component.ecosystem))) {
        const order = orderOf(ecosystem, compare)!
        const wanted = components.filter((component) => component.ecosystem === ecosystem)
        const identities = wanted.map(({ name, version }) => ({ name: packageKey(ecosystem, name), version, order }))
        const { hits } = await hitsOf(state, [ecosystem], identities)
        for (const [i, component] of wanted.entries()) {
          const { name, version } = component
          findings.set(component, findingsOf({ name, version, type: ecosystem.toLowerCase() }, hits[i]!, order))
        }
      }
      return components.map((component) => ({
        component,
        result: state.ecosystems[component.ecosystem] ? 'scanned' : 'no_data',
        findings: findings.get(component) ?? [],
      }))
    },
  }
}

const foundIn = (findings: readonly unknown[], covered: readonly string[]) =>
  `${vulnerabilities(findings.length)} in the advisories for ${covered.join(', ')}`

/**
 * Advisories about older versions of the package in another module stream. They are not applied, because each stream
 * has fixes of its own, but a vulnerability that only they mention may be in this stream too.
 */
function otherStreamsOf(
  candidates: readonly { key: number; affected: AffectedPackage }[],
  identities: readonly Identity[],
): { stream: string; advisories: number }[] {
  const byStream = new Map<string, Set<number>>()
  for (const { key, affected } of candidates) {
    const { stream } = affected
    if (stream === null) continue
    for (const { name, version, order } of identities) {
      if (affected.package !== name || !isOtherStream(version, stream) || !exposure(affected, version, order)) continue
      const keys = byStream.get(stream) ?? new Set()
      byStream.set(stream, keys.add(key))
    }
  }
  return [...byStream]
    .map(([stream, keys]) => ({ stream, advisories: keys.size }))
    .sort((a, b) => (a.stream < b.stream ? -1 : 1))
}

function exposureOf(affected: AffectedPackage, identity: Identity) {
  return isOtherStream(identity.version, affected.stream) ? null : exposure(affected, identity.version, identity.order)
}

function coverageOf(covered: readonly string[], state: AdvisoryState | null): Coverage {
  return {
    engine: 'osv',
    engine_version: null,
    database_date: state && newestOf(state.ecosystems, covered),
    distro_matched: covered.length > 0 ? covered.join(', ') : null,
    files_seen: covered.length > 0 ? 1 : 0,
    files_skipped: [],
    bytes: 0,
  }
}
