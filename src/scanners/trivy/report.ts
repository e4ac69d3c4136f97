// What trivy's JSON says (SchemaVersion 2), in our words. Pure.
import { objectAt, objectsAt, stringAt, stringsAt, isObject, type Json } from '../osv/json.ts'
import { folded, NO_SCORES, numberAt, severityOf, UnreadableOutput, urlsOf, type RawFinding } from '../external/scanner.ts'

export interface TrivyReport {
  version: string | null
  /** it looked the package up among its advisories; it leaves out the result of a system it does not support */
  looked: boolean
  findings: RawFinding[]
}

interface Subject {
  name: string
  version: string
  format: string
}

/** @throws UnreadableOutput when it is no report of this kind */
export function readTrivyReport(report: Json, subject: Subject): TrivyReport {
  if (report['SchemaVersion'] !== 2) throw new UnreadableOutput('trivy wrote something else than a report')
  const results = objectsAt(report, 'Results').filter((result) => stringAt(result, 'Class') === 'os-pkgs')
  return {
    version: stringAt(objectAt(report, 'Trivy'), 'Version'),
    looked: results.length > 0,
    findings: folded(results.flatMap((result) => objectsAt(result, 'Vulnerabilities')).map((one) => finding(one, subject))),
  }
}

const FIX_STATES: Readonly<Record<string, RawFinding['fix_state']>> = {
  fixed: 'fixed', affected: 'not-fixed', fix_deferred: 'not-fixed', will_not_fix: 'wont-fix', end_of_life: 'wont-fix',
}

function finding(vulnerability: Json, subject: Subject): RawFinding {
  const id = stringAt(vulnerability, 'VulnerabilityID')
  if (id === null) throw new UnreadableOutput('trivy wrote a vulnerability without an id')
  const fixed = stringAt(vulnerability, 'FixedVersion')
  return {
    id,
    severity: severityOf(stringAt(vulnerability, 'Severity')),
    cvss: scoreOf(vulnerability),
    description: stringAt(vulnerability, 'Title') ?? stringAt(vulnerability, 'Description'),
    package_name: subject.name,
    package_version: subject.version,
    package_type: subject.format,
    fix_state: fixed === null ? (FIX_STATES[stringAt(vulnerability, 'Status') ?? ''] ?? 'unknown') : 'fixed',
    fix_versions: fixed === null ? [] : fixed.split(',').map((version) => version.trim()),
    urls: urlsOf([stringAt(vulnerability, 'PrimaryURL'), ...stringsAt(vulnerability, 'References')]),
    ...NO_SCORES,
    in_kev: false,
    sources: ['trivy'],
  }
}

/** Of whoever the severity is from, else of the first that gives one; the newest CVSS version. */
function scoreOf(vulnerability: Json): number | null {
  const vendors = objectAt(vulnerability, 'CVSS')
  const first = stringAt(vulnerability, 'SeveritySource')
  const names = [...(first === null ? [] : [first]), ...Object.keys(vendors).sort()]
  for (const name of names) {
    const vendor = vendors[name]
    const score = isObject(vendor) ? (numberAt(vendor, 'V40Score') ?? numberAt(vendor, 'V3Score') ?? numberAt(vendor, 'V2Score')) : null
    if (score !== null) return score
  }
  return null
}
