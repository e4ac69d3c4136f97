// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): findings, for tools that show code alerts.
import type { Finding, Severity } from '../../domain/finding.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { decisionFor, sentenceOf } from './analysis.ts'
import type { Contents, Vulnerability } from './contents.ts'
import { jsonList, mapped } from './json-stream.ts'
import { isWebAddress } from './web-address.ts'

const LEVEL: Record<Severity, 'error' | 'warning' | 'note'> = {
  Critical: 'error',
  High: 'error',
  Medium: 'warning',
  Low: 'note',
  Negligible: 'note',
  Unknown: 'warning',
}

/** Some tools need a number: the middle of the CVSS range of each severity. */
const SCORE: Record<Severity, number> = { Critical: 9.5, High: 8, Medium: 5.5, Low: 2, Negligible: 0.1, Unknown: 0 }

/** @param version of this service */
export async function* sarif(contents: Contents, version: string): AsyncGenerator<string, void, void> {
  yield '{\n"$schema":"https://json.schemastore.org/sarif-2.1.0.json",\n"version":"2.1.0",\n"runs":[{\n'
  yield `"tool":{"driver":{"name":"Gatehouse","version":${JSON.stringify(version)},"rules":`
  yield* jsonList(mapped(contents.kinds(), ruleOf))
  yield `}},\n"automationDetails":${JSON.stringify({ id: automationId(contents) })},\n"results":`
  // The lists below contain only what `components` returned.
  for await (const _ of contents.components());
  yield* jsonList(mapped(contents.vulnerabilities(), resultOf))
  yield '\n}]\n}\n'
}

/** Identifies runs that are compared with one another. */
function automationId({ subject, distribution }: Contents): string {
  if (subject) return `gatehouse/${subject.ref}/`
  return `gatehouse/${distribution?.codename ?? 'all'}/`
}

function ruleOf(finding: Finding) {
  const url = finding.urls.find(isWebAddress)
  return {
    id: finding.id,
    shortDescription: { text: `${finding.id} in ${finding.package_name}` },
    fullDescription: { text: finding.description || `${finding.id} is a known vulnerability.` },
    ...(url ? { helpUri: url } : {}),
    defaultConfiguration: { level: LEVEL[finding.severity] },
    properties: {
      tags: ['security', 'vulnerability', finding.severity.toLowerCase()],
      'security-severity': (finding.cvss ?? SCORE[finding.severity]).toFixed(1),
    },
  }
}

function resultOf({ entry, finding, decisions }: Vulnerability) {
  const { row } = entry
  const decision = finding.accepted_by_decision ? decisionFor(finding, decisions) : null
  const fix = finding.fix_versions.length > 0 ? `fixed in ${finding.fix_versions.join(' or ')}` : 'no fix is known'
  return {
    ruleId: finding.id,
    level: LEVEL[finding.severity],
    message: {
      text: `${finding.id} (${finding.severity}) in ${finding.package_name} ${finding.package_version}, package ${row.name} ${row.version} of ${row.distribution}: ${fix}.`,
    },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: [row.distribution, row.filename].map(encodeURIComponent).join('/') },
        },
        logicalLocations: [{ name: row.name, fullyQualifiedName: entry.purl, kind: 'module' }],
      },
    ],
    partialFingerprints: { 'gatehouse/v1': sha256Hex(`${entry.ref}\0${finding.id}`) },
    ...(decision
      ? { suppressions: [{ kind: 'external', status: 'accepted', justification: sentenceOf(decision) }] }
      : {}),
    properties: {
      severity: finding.severity,
      ...(finding.cvss === null ? {} : { cvss: finding.cvss }),
      ...(finding.epss === null ? {} : { epss: finding.epss }),
      known_exploited: finding.in_kev,
      fix_state: finding.fix_state,
      fix_versions: finding.fix_versions,
      policy_action: finding.action,
      purl: entry.purl,
      sha256: row.sha256,
    },
  }
}
