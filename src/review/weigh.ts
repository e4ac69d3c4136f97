// In which order the findings of a package are looked at, and how they differ from those of its previous version. Pure.
import { severityRank } from '../domain/risk.ts'
import type { Finding, Severity } from '../domain/finding.ts'
import { openFindings } from '../domain/review-due.ts'

/** Findings that wait for a decision first, then known exploited ones, then by EPSS, CVSS and severity. */
export function inOrderOfUrgency(findings: readonly Finding[]): Finding[] {
  const holding = new Set(openFindings(findings))
  const weight = (finding: Finding) => [
    Number(holding.has(finding)),
    Number(finding.in_kev),
    finding.epss ?? -1,
    finding.cvss ?? -1,
    severityRank(finding.severity),
  ]
  const weighed = findings.map((finding) => ({ finding, weight: weight(finding) }))
  return weighed
    .sort((a, b) => {
      for (const [i, of] of b.weight.entries()) if (of !== a.weight[i]) return of - (a.weight[i] as number)
      return a.finding.id < b.finding.id ? -1 : 1
    })
    .map(({ finding }) => finding)
}

export interface Rated {
  id: string
  severity: Severity
}

/** @returns `gone` the worst first */
export function difference(
  before: readonly Rated[],
  now: readonly Rated[],
): { added: number; same: number; gone: Rated[] } {
  const had = new Set(before.map(({ id }) => id))
  const has = new Set(now.map(({ id }) => id))
  const same = [...has].filter((id) => had.has(id)).length
  const gone = before.filter(({ id }) => !has.has(id))
  return {
    added: has.size - same,
    same,
    gone: gone.sort((a, b) => severityRank(b.severity) - severityRank(a.severity) || (a.id < b.id ? -1 : 1)),
  }
}

/**
 * The version that this one follows: the newest of the others below it, else the newest of the others.
 * @param others published versions; the same version does not count
 */
export function previousOf<R extends { version: string }>(
  version: string,
  others: readonly R[],
  compare: (a: string, b: string) => number,
): R | null {
  const newest = (rows: readonly R[]) =>
    rows.reduce<R | null>((best, row) => (best && compare(best.version, row.version) >= 0 ? best : row), null)
  const different = others.filter((one) => compare(one.version, version) !== 0)
  return newest(different.filter((one) => compare(one.version, version) < 0)) ?? newest(different)
}
