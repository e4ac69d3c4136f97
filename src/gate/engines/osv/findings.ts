// Merges matched advisories into findings, one per vulnerability. Pure.
import type { Advisory, AffectedPackage } from '../../../domain/advisory.ts'
import { aliasesAmong } from '../../../domain/advisory-id.ts'
import { SEVERITIES, type Severity } from '../../../domain/finding.ts'
import type { CveResult } from '../scanner.ts'
import type { Order } from '../../../domain/versions/order.ts'
import type { Exposure } from './ranges.ts'

export type OsvFinding = CveResult['findings'][number]

/** An advisory that holds for a package. */
export interface Hit {
  advisory: Advisory
  affected: AffectedPackage
  exposure: Exposure
}

export interface FindingSubject {
  name: string
  version: string
  /** `deb`, `rpm`, `npm` … */
  type: string
}

const MAX_URLS = 3

/** Findings in a fixed order: worst first, then by id. Bug-fix notices that name no CVE make none. */
export function findingsOf(subject: FindingSubject, hits: readonly Hit[], order: Order): OsvFinding[] {
  const byId = new Map<string, Hit[]>()
  for (const [hit, ids] of vulnerabilities(hits.filter((hit) => hit.advisory.security))) {
    for (const id of ids) byId.set(id, [...(byId.get(id) ?? []), hit])
  }
  return [...byId].map(([id, about]) => finding(id, subject, about, order)).sort(byWeight)
}

/** The ids of each hit: its CVEs, else the CVEs of an advisory that is its alias, else one name for all its aliases. */
function vulnerabilities(hits: readonly Hit[]): Map<Hit, readonly string[]> {
  const groups = new Map<string, Hit[]>()
  for (const hit of hits) {
    const names = [hit.advisory.id, ...hit.advisory.aliases]
    const joined = new Set([hit, ...names.flatMap((name) => groups.get(name) ?? [])])
    for (const member of joined)
      for (const name of [member.advisory.id, ...member.advisory.aliases]) groups.set(name, [...joined])
  }
  return new Map(hits.map((hit) => [hit, idsOf(hit, groups.get(hit.advisory.id) ?? [hit])]))
}

function idsOf(hit: Hit, group: readonly Hit[]): readonly string[] {
  if (hit.advisory.cves.length > 0) return hit.advisory.cves
  const cves = [...new Set(group.flatMap((member) => member.advisory.cves))].sort()
  if (cves.length > 0) return cves
  const names = [...new Set(group.flatMap((member) => [member.advisory.id, ...member.advisory.aliases]))].sort()
  return [names.find((name) => name.startsWith('GHSA-')) ?? group.map((member) => member.advisory.id).sort()[0]!]
}

function finding(id: string, subject: FindingSubject, about: readonly Hit[], order: Order): OsvFinding {
  // An advisory about only this vulnerability is more precise than a notice about many.
  const own = about.filter((hit) => hit.advisory.cves.length <= 1)
  const rated = own.some((hit) => severityOf(hit) !== 'Unknown') ? own : about
  const scores = own.flatMap((hit) => scoreOf(hit) ?? [])
  const { fixState, fixes } = fixOf(about, order)
  return {
    id,
    severity: worst(rated.map(severityOf)),
    cvss: scores.length > 0 ? Math.max(...scores) : null,
    description: describe(id, own, about),
    package_name: subject.name,
    package_version: subject.version,
    package_type: subject.type,
    fix_state: fixState,
    fix_versions: fixes,
    urls: urlsOf([...own, ...about]),
    epss: null,
    epss_percent: null,
    epss_label: null,
    in_kev: false,
    sources: ['osv'],
    aliases: aliasesAmong(id, about.flatMap(namesOf)),
  }
}

/** The names of the advisory. Rebuilds of Red Hat's packages give only the address of the erratum that they follow. */
function namesOf({ advisory: { id, aliases, urls } }: Hit): string[] {
  const errata = urls.flatMap((url) => /^https:\/\/access\.redhat\.com\/errata\/(RHSA-\d{4}:\d+)$/.exec(url)?.[1] ?? [])
  return [id, ...aliases, ...errata]
}

const severityOf = (hit: Hit): Severity => hit.affected.severity ?? hit.advisory.severity
const scoreOf = (hit: Hit): number | null => (hit.affected.severity === null ? hit.advisory.cvss : hit.affected.cvss)

function worst(severities: readonly Severity[]): Severity {
  return SEVERITIES.find((severity) => severities.includes(severity)) ?? 'Unknown'
}

function describe(id: string, own: readonly Hit[], about: readonly Hit[]): string | null {
  const note = about.map((hit) => hit.advisory.notes[id]).find((text) => text !== undefined)
  return note ?? [...own, ...about].map((hit) => hit.advisory.summary).find((summary) => summary !== null) ?? null
}

function fixOf(about: readonly Hit[], order: Order): { fixState: OsvFinding['fix_state']; fixes: string[] } {
  const fixes = [...new Set(about.flatMap((hit) => hit.exposure.fixes))].sort((a, b) => order(a, b) || (a < b ? -1 : 1))
  if (fixes.length > 0) return { fixState: 'fixed', fixes }
  if (about.some((hit) => hit.affected.wontFix)) return { fixState: 'wont-fix', fixes }
  return { fixState: about.some((hit) => hit.exposure.fixState === 'not-fixed') ? 'not-fixed' : 'unknown', fixes }
}

/** One link of each advisory first, then their others. */
function urlsOf(about: readonly Hit[]): string[] {
  const first = about.flatMap((hit) => hit.advisory.urls.slice(0, 1))
  const rest = about.flatMap((hit) => hit.advisory.urls.slice(1))
  return [...new Set([...first, ...rest])].slice(0, MAX_URLS)
}

function byWeight(a: OsvFinding, b: OsvFinding): number {
  return SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
