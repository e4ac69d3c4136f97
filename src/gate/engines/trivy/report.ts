// Reads trivy's JSON reports (SchemaVersion 2) into findings. Pure.
import { aliasesAmong } from '../../../domain/advisory-id.ts'
import { objectAt, objectsAt, stringAt, stringsAt, isObject, type Json } from '../../../domain/json.ts'
import {
  folded,
  NO_SCORES,
  numberAt,
  severityOf,
  UnreadableOutput,
  urlsOf,
  type ScannerFinding,
} from '../external/scanner.ts'

export interface TrivyReport {
  version: string | null
  /** trivy matched the package as one of the given system; for an unsupported system its report is empty */
  matched: boolean
  /** the distribution publishes no more advisories */
  endOfLife: boolean
  findings: ScannerFinding[]
}

interface Subject {
  name: string
  version: string
  format: string
}

/** @throws UnreadableOutput when it is not such a report */
export function readTrivyReport(
  report: Json,
  subject: Subject,
  distro: { family: string; version: string },
): TrivyReport {
  if (report['SchemaVersion'] !== 2) throw new UnreadableOutput('trivy wrote something else than a report')
  const system = objectAt(objectAt(report, 'Metadata'), 'OS')
  const results = objectsAt(report, 'Results').filter(
    (result) => stringAt(result, 'Class') === 'os-pkgs' && stringAt(result, 'Type') === distro.family,
  )
  const isTold = stringAt(system, 'Family') === distro.family && stringAt(system, 'Name') === distro.version
  return {
    version: stringAt(objectAt(report, 'Trivy'), 'Version'),
    matched:
      isTold &&
      results.some((result) => objectsAt(result, 'Packages').some((one) => stringAt(one, 'Name') === subject.name)),
    endOfLife: system['EOSL'] === true,
    findings: folded(
      results.flatMap((result) => objectsAt(result, 'Vulnerabilities')).flatMap((one) => findingsOf(one, subject)),
    ),
  }
}

const FIX_STATES: Readonly<Record<string, ScannerFinding['fix_state']>> = {
  fixed: 'fixed',
  affected: 'not-fixed',
  fix_deferred: 'not-fixed',
  will_not_fix: 'wont-fix',
  end_of_life: 'wont-fix',
}

/** One finding for each CVE that it is about. */
function findingsOf(vulnerability: Json, subject: Subject): ScannerFinding[] {
  const id = stringAt(vulnerability, 'VulnerabilityID')
  if (id === null) throw new UnreadableOutput('trivy wrote a vulnerability without an id')
  const fixed = stringAt(vulnerability, 'FixedVersion')
  const references = stringsAt(vulnerability, 'References')
  return idsOf(id, references).map((cve) => ({
    id: cve,
    severity: severityOf(stringAt(vulnerability, 'Severity')),
    cvss: scoreOf(vulnerability),
    description: stringAt(vulnerability, 'Title') ?? stringAt(vulnerability, 'Description'),
    package_name: subject.name,
    package_version: subject.version,
    package_type: subject.format,
    fix_state: fixed === null ? (FIX_STATES[stringAt(vulnerability, 'Status') ?? ''] ?? 'unknown') : 'fixed',
    fix_versions: fixed === null ? [] : fixed.split(',').map((version) => version.trim()),
    urls: urlsOf([stringAt(vulnerability, 'PrimaryURL'), ...references]),
    ...NO_SCORES,
    in_kev: false,
    sources: ['trivy'],
    aliases: aliasesAmong(cve, [id, ...stringsAt(vulnerability, 'VendorIDs')]),
  }))
}

/**
 * SUSE's have the id of the advisory (`openSUSE-SU-2026:0001-1`) and give their CVEs as addresses of SUSE's pages about them;
 * one without CVEs keeps its id.
 */
function idsOf(id: string, references: readonly string[]): string[] {
  if (!/^(?:open)?SUSE-/i.test(id)) return [id]
  const cves = references.flatMap((url) => /\/(CVE-\d{4}-\d{4,})\/?$/i.exec(url)?.[1]?.toUpperCase() ?? [])
  return cves.length > 0 ? [...new Set(cves)] : [id]
}

/** The score of the severity's source, else NVD's, else the first one; the newest CVSS version. */
function scoreOf(vulnerability: Json): number | null {
  const vendors = objectAt(vulnerability, 'CVSS')
  const first = stringAt(vulnerability, 'SeveritySource')
  const names = [...(first === null ? [] : [first]), 'nvd', ...Object.keys(vendors).sort()]
  for (const name of names) {
    const vendor = vendors[name]
    const score = isObject(vendor)
      ? (numberAt(vendor, 'V40Score') ?? numberAt(vendor, 'V3Score') ?? numberAt(vendor, 'V2Score'))
      : null
    if (score !== null) return score
  }
  return null
}
