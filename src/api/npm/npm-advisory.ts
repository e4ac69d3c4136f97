// An advisory in the form that npm audit reads.
import type { AffectedPackage, VersionRange } from '../../domain/advisory.ts'
import type { Severity } from '../../domain/finding.ts'
import type { Hit } from '../../gate/engines/osv/findings.ts'

export const SEVERITIES = ['info', 'low', 'moderate', 'high', 'critical'] as const

export interface NpmAdvisory {
  /** npm wants a number */
  id: number
  url: string
  title: string
  severity: (typeof SEVERITIES)[number]
  /** a range of SemVer */
  vulnerable_versions: string
  patched_versions: string
  module_name: string
  name: string
  cwe: string[]
  cves: string[]
  cvss: { score: number; vectorString: null }
  github_advisory_id: string
  recommendation: string
}

const NAMES: Readonly<Record<string, NpmAdvisory['severity']>> = {
  Critical: 'critical',
  High: 'high',
  Medium: 'moderate',
  Low: 'low',
  Negligible: 'info',
}

export function npmAdvisory(name: string, { advisory, affected, exposure }: Hit): NpmAdvisory {
  const { id, summary, urls, cves } = advisory
  const fixes = exposure.fixes
  return {
    id: numberOf(id),
    url: urls[0] ?? `https://osv.dev/vulnerability/${encodeURIComponent(id)}`,
    title: summary ?? id,
    severity: severityOf(id, affected.severity ?? advisory.severity),
    vulnerable_versions: rangeOf(affected),
    patched_versions: fixes.length > 0 ? fixes.map((fix) => `>=${fix}`).join(' || ') : '<0.0.0',
    ...{ module_name: name, name, cwe: [], cves },
    cvss: { score: affected.cvss ?? advisory.cvss ?? 0, vectorString: null },
    github_advisory_id: id,
    recommendation: fixes.length > 0 ? `Upgrade to ${fixes.join(' or ')} or later` : 'None',
  }
}

/** OSV rates no malicious package, and nothing is worse. */
const severityOf = (id: string, severity: Severity): NpmAdvisory['severity'] =>
  id.startsWith('MAL-') ? 'critical' : (NAMES[severity] ?? 'moderate')

/** The same for an id at all times: clients keep it, and yarn counts advisories by it. */
function numberOf(id: string): number {
  let hash = 0
  for (const character of id) hash = (hash * 31 + character.codePointAt(0)!) % 2_147_483_647
  return hash
}

/** The affected versions as npm writes ranges: `>=1.0.0 <1.2.3 || 2.0.0`. */
export function rangeOf({ ranges, versions }: Pick<AffectedPackage, 'ranges' | 'versions'>): string {
  return [...ranges.flatMap(spansOf), ...(ranges.length === 0 ? versions : [])].join(' || ') || '<0.0.0'
}

function spansOf({ events }: VersionRange): string[] {
  const spans: string[] = []
  let from: string | null = null
  const end = (bound: string) => {
    if (from !== null) spans.push([from === '0' ? '' : `>=${from}`, bound].filter(Boolean).join(' ') || '*')
    from = null
  }
  for (const { introduced, fixed, last_affected: last } of events) {
    if (introduced !== undefined) {
      end('')
      from = introduced
    } else if (fixed !== undefined) end(`<${fixed}`)
    else if (last !== undefined) end(`<=${last}`)
  }
  end('')
  return spans
}
