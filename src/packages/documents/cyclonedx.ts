// CycloneDX 1.5 JSON (https://cyclonedx.org/docs/1.5/json/): components, dependencies, and findings as VEX.
import type { Finding, Severity } from '../../domain/finding.ts'
import { analysisOf } from './analysis.ts'
import type { Contents, Vulnerability } from './contents.ts'
import { createPacer, type Pace } from '../../kernel/pacer.ts'
import type { EmbeddedEntry, SbomEntry } from './entry.ts'
import { jsonObject, mapped } from './json-stream.ts'
import { licenseOf } from './license.ts'
import type { Stub } from './needs.ts'
import { isWebAddress } from './web-address.ts'
import { COMPONENT_ENGINE } from '../../gate/engines/components/match.ts'

const SEVERITY: Record<Severity, string> = {
  Critical: 'critical',
  High: 'high',
  Medium: 'medium',
  Low: 'low',
  Negligible: 'info',
  Unknown: 'unknown',
}

/** @param version of this service */
export function cyclonedx(contents: Contents, version: string): AsyncGenerator<string, void, void> {
  return jsonObject(
    {
      $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
    },
    {
      components: components(contents),
      dependencies: dependencies(contents),
      vulnerabilities: mapped(contents.vulnerabilities(), vulnerability),
    },
    (uuid) => ({
      // Only dependencies that this repository offers are listed.
      compositions: [{ aggregate: 'incomplete' }],
      metadata: {
        timestamp: contents.time()?.toISOString(),
        tools: { components: [{ type: 'application', name: 'Gatehouse', version }] },
        component: described(contents),
      },
      serialNumber: `urn:uuid:${uuid}`,
    }),
  )
}

/** The subject of the document: the package's file, or the repository. */
function described({ subject, distribution }: Contents) {
  if (subject)
    return { type: 'file', 'bom-ref': fileRefOf(subject), name: subject.row.filename, hashes: hashesOf(subject) }
  return {
    type: 'application',
    'bom-ref': 'repository',
    name: distribution ? `Package repository for ${distribution.fullName}` : 'Package repository',
    ...(distribution ? { properties: [property('distribution', distribution.codename)] } : {}),
  }
}

const fileRefOf = (subject: SbomEntry) => `file:${subject.ref}`

async function* components(contents: Contents) {
  const pace = createPacer()
  for await (const entry of contents.components()) {
    yield component(entry, await embeddedComponents(entry, pace))
  }
  for (const stub of contents.stubs) yield stubComponent(stub)
}

function component(entry: SbomEntry, embedded: readonly object[]) {
  const { row, purl, ref, distribution } = entry
  return {
    type: 'library',
    'bom-ref': ref,
    ...(row.maintainer ? { publisher: row.maintainer } : {}),
    name: row.name,
    version: row.version,
    ...(row.description ? { description: row.description } : {}),
    hashes: hashesOf(entry),
    ...licenses(row.license),
    purl,
    ...(isWebAddress(row.url) ? { externalReferences: [{ type: 'website', url: row.url }] } : {}),
    ...(embedded.length > 0 ? { components: embedded } : {}),
    properties: [
      property('distribution', row.distribution),
      property('distribution_name', distribution.fullName),
      property('architecture', row.arch),
      property('filename', row.filename),
      property('size_bytes', String(row.size_bytes)),
      ...(row.section ? [property('section', row.section)] : []),
      ...(row.source_package ? [property('source_package', row.source_package)] : []),
      ...(row.source_version ? [property('source_version', row.source_version)] : []),
      property('status', row.status),
    ],
  }
}

async function embeddedComponents({ embedded }: SbomEntry, pace: Pace): Promise<object[]> {
  const components: object[] = []
  for (const entry of embedded) {
    await pace()
    components.push(embeddedComponent(entry))
  }
  return components
}

function embeddedComponent({ type, name, version, license, path, purl, ref }: EmbeddedEntry) {
  // The scope of npm and the group of Maven have a separate field.
  const [, group, rest = name] = (type === 'maven' ? /^([^:]+):(.+)$/ : /^(@[^/]+)\/(.+)$/).exec(name) ?? []
  return {
    type: 'library',
    'bom-ref': ref,
    ...(group ? { group } : {}),
    name: rest,
    ...(version ? { version } : {}),
    ...licenses(license),
    purl,
    ...(path ? { properties: [property('path', path)] } : {}),
  }
}

function stubComponent({ name, purl, ref, requirement }: Stub) {
  return {
    type: 'library',
    'bom-ref': ref,
    name,
    scope: 'required',
    ...(purl ? { purl } : {}),
    properties: [property('requirement', requirement), property('offered', 'false')],
  }
}

async function* dependencies(contents: Contents) {
  if (contents.subject) yield { ref: fileRefOf(contents.subject), dependsOn: [contents.subject.ref] }
  for await (const { entry, on } of contents.dependencies())
    yield { ref: entry.ref, dependsOn: on.map(({ ref }) => ref).sort() }
}

function vulnerability({ entry, finding, decisions }: Vulnerability) {
  const { row } = entry
  const analysis = analysisOf(finding, row.status, decisions)
  const affected = finding.components ?? [{ name: finding.package_name, version: finding.package_version }]
  const inside = entry.embedded.filter((other) =>
    affected.some(({ name, version }) => other.name === name && other.version === version),
  )
  // The package itself is affected when its own scanner found the vulnerability or no component is named.
  const own =
    inside.length === 0 || (finding.components && finding.sources.some((source) => source !== COMPONENT_ENGINE))
  return {
    'bom-ref': `${entry.ref}#${encodeURIComponent(finding.id)}`,
    id: finding.id,
    source: sourceOf(finding),
    ratings: [
      {
        ...(finding.cvss === null ? {} : { score: finding.cvss }),
        severity: SEVERITY[finding.severity],
        method: 'other',
      },
    ],
    ...(finding.description ? { description: finding.description } : {}),
    ...(finding.fix_versions.length > 0
      ? { recommendation: `Update ${finding.package_name} to ${finding.fix_versions.join(' or ')}.` }
      : {}),
    advisories: finding.urls.filter(isWebAddress).map((url) => ({ url })),
    ...(analysis ? { analysis } : {}),
    affects: [...(own ? [{ ref: entry.ref, version: row.version }] : []), ...inside].map(({ ref, version }) => ({
      ref,
      versions: [{ version, status: 'affected' }],
    })),
    properties: [
      property('fix_state', finding.fix_state),
      property('policy_action', finding.action),
      property('known_exploited', String(finding.in_kev)),
      ...(finding.epss === null ? [] : [property('epss', String(finding.epss))]),
      property('first_seen', finding.first_seen),
    ],
  }
}

function sourceOf({ id, sources }: Finding) {
  if (id.startsWith('CVE-')) return { name: 'NVD', url: `https://nvd.nist.gov/vuln/detail/${encodeURIComponent(id)}` }
  if (id.startsWith('GHSA-')) return { name: 'GitHub', url: `https://github.com/advisories/${encodeURIComponent(id)}` }
  return { name: sources[0] ?? 'unknown' }
}

const property = (name: string, value: string) => ({ name: `gatehouse:${name}`, value })

const hashesOf = ({ row }: SbomEntry) => [
  { alg: 'MD5', content: row.md5 },
  { alg: 'SHA-1', content: row.sha1 },
  { alg: 'SHA-256', content: row.sha256 },
  { alg: 'SHA-512', content: row.sha512 },
]

function licenses(text: string | null | undefined): { licenses?: object[] } {
  const license = licenseOf(text)
  if (!license) return {}
  return {
    licenses: [
      license.kind === 'expression' ? { expression: license.text } : { license: { [license.kind]: license.text } },
    ],
  }
}
