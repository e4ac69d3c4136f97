// Reads grype's JSON reports into findings. Pure. Written for reports of schema 6 databases (grype 0.88 and later).
import { aliasesAmong } from '../../../domain/advisory-id.ts'
import { objectAt, objectsAt, stringAt, stringsAt, type Json } from '../../../domain/json.ts'
import {
  dateAt,
  folded,
  NO_SCORES,
  numberAt,
  severityOf,
  UnreadableOutput,
  urlsOf,
  type ScannerFinding,
} from '../external/scanner.ts'

export interface GrypeReport {
  version: string | null
  /** when its database was built */
  databaseDate: string | null
  findings: ScannerFinding[]
}

interface Subject {
  name: string
  version: string
  format: string
}

/** @throws UnreadableOutput when there is no list of matches: a report without one is not a report without findings */
export function readGrypeReport(report: Json, subject: Subject): GrypeReport {
  if (!Array.isArray(report['matches'])) throw new UnreadableOutput('grype wrote a report without matches')
  const descriptor = objectAt(report, 'descriptor')
  if (stringAt(descriptor, 'name') !== 'grype') throw new UnreadableOutput('the program is not grype')
  const db = objectAt(descriptor, 'db')
  return {
    version: stringAt(descriptor, 'version'),
    databaseDate: dateAt(objectAt(db, 'status'), 'built'),
    findings: folded(objectsAt(report, 'matches').flatMap((match) => findingsOf(match, subject))),
  }
}

const FIX_STATES: Readonly<Record<string, ScannerFinding['fix_state']>> = {
  fixed: 'fixed',
  'not-fixed': 'not-fixed',
  'wont-fix': 'wont-fix',
}

/** One finding for each CVE that a match is about. */
function findingsOf(match: Json, subject: Subject): ScannerFinding[] {
  const vulnerability = objectAt(match, 'vulnerability')
  const related = objectsAt(match, 'relatedVulnerabilities')
  const id = stringAt(vulnerability, 'id')
  if (id === null) throw new UnreadableOutput('grype wrote a match without an id')
  const fix = objectAt(vulnerability, 'fix')
  const others = [...related, ...objectsAt(vulnerability, 'advisories')]
  const names = [id, ...others.flatMap((one) => stringAt(one, 'id') ?? [])]
  return idsOf(id, related).map((cve): ScannerFinding => {
    const about = [vulnerability, ...related.filter((one) => stringAt(one, 'id') === cve)]
    const scores = about.flatMap((one) => scoreOf(one) ?? [])
    return {
      id: cve,
      // The distribution's severity or, if it has none, the CVE's.
      severity:
        about.map((one) => severityOf(stringAt(one, 'severity'))).find((word) => word !== 'Unknown') ?? 'Unknown',
      cvss: scores[0] ?? null,
      description: about.map((one) => stringAt(one, 'description')).find((text) => text !== null) ?? null,
      package_name: subject.name,
      package_version: subject.version,
      package_type: subject.format,
      fix_state: FIX_STATES[stringAt(fix, 'state') ?? ''] ?? 'unknown',
      fix_versions: stringsAt(fix, 'versions'),
      urls: urlsOf([
        ...about.map((one) => stringAt(one, 'dataSource')),
        ...objectsAt(vulnerability, 'advisories').map((one) => stringAt(one, 'link')),
        ...about.flatMap((one) => stringsAt(one, 'urls')),
      ]),
      ...NO_SCORES,
      ...epssOf(about, cve),
      in_kev: about.some((one) =>
        objectsAt(one, 'knownExploited').some((entry) => stringAt(entry, 'cve')?.toUpperCase() === cve),
      ),
      sources: ['grype'],
      aliases: aliasesAmong(cve, names),
    }
  })
}

/** An advisory (`GHSA-…`, `ELSA-…`) becomes one finding per CVE, or one under its own id if it names none. */
function idsOf(id: string, related: readonly Json[]): string[] {
  if (/^CVE-/i.test(id)) return [id.toUpperCase()]
  const cves = related.flatMap((one) => stringAt(one, 'id') ?? []).filter((other) => /^CVE-/i.test(other))
  return cves.length > 0 ? [...new Set(cves.map((cve) => cve.toUpperCase()))] : [id]
}

/** The base score of the newest CVSS version, from the source that grype ranks first. */
function scoreOf(vulnerability: Json): number | null {
  const entries = objectsAt(vulnerability, 'cvss').flatMap((entry) => {
    const score = numberAt(objectAt(entry, 'metrics'), 'baseScore')
    return score === null ? [] : [{ version: stringAt(entry, 'version') ?? '', score }]
  })
  return entries.sort((a, b) => (a.version < b.version ? 1 : a.version > b.version ? -1 : 0))[0]?.score ?? null
}

function epssOf(about: readonly Json[], cve: string): Partial<Pick<ScannerFinding, 'epss' | 'epss_percent'>> {
  const entry = about
    .flatMap((one) => objectsAt(one, 'epss'))
    .find((one) => stringAt(one, 'cve')?.toUpperCase() === cve)
  const score = entry ? numberAt(entry, 'epss') : null
  return score === null ? {} : { epss: score, epss_percent: Math.round(score * 10_000) / 100 }
}
