// SPDX 2.3 JSON (https://spdx.github.io/spdx-spec/v2.3/): packages and their relationships.
import { sha256Hex } from '../../kernel/crypto.ts'
import type { Contents } from './contents.ts'
import type { EmbeddedEntry, SbomEntry } from './entry.ts'
import { jsonObject } from './json-stream.ts'
import { licenseOf } from './license.ts'
import type { Stub } from './needs.ts'
import { isWebAddress } from './web-address.ts'

const NOTHING = 'NOASSERTION'
/** The time of an empty document, because the field is required. */
const NEVER = new Date(0)

/** Licenses that SPDX does not know, listed once for each name (clause 10). */
type Licenses = Map<string, { licenseId: string; extractedText: string; name: string }>

/** @param version of this service */
export function spdx(contents: Contents, version: string): AsyncGenerator<string, void, void> {
  const licenses: Licenses = new Map()
  const name = nameOf(contents)
  return jsonObject(
    { spdxVersion: 'SPDX-2.3', dataLicense: 'CC0-1.0', SPDXID: 'SPDXRef-DOCUMENT', name },
    { packages: packages(contents, licenses), relationships: relationships(contents) },
    (uuid) => ({
      hasExtractedLicensingInfos: [...licenses.values()].sort((a, b) => (a.licenseId < b.licenseId ? -1 : 1)),
      creationInfo: { created: timeOf(contents.time() ?? NEVER), creators: [`Tool: Gatehouse-${version}`] },
      documentNamespace: `https://gatehouse.invalid/spdx/${encodeURIComponent(name)}-${uuid}`,
    }),
  )
}

function nameOf({ subject, distribution }: Contents): string {
  if (subject) return `${subject.row.name}-${subject.row.version}-${subject.row.arch}`
  return distribution ? `repository-${distribution.codename}` : 'repository'
}

/** Without fractions (clause 6.9). */
const timeOf = (date: Date) => date.toISOString().replace(/\.\d+Z$/, 'Z')

async function* packages(contents: Contents, licenses: Licenses) {
  for await (const entry of contents.components()) {
    yield packageOf(entry, licenses)
    for (const inner of entry.embedded) yield embeddedPackage(inner, licenses)
  }
  for (const stub of contents.stubs) yield stubPackage(stub)
}

function packageOf({ row, spdxId, purl }: SbomEntry, licenses: Licenses) {
  return {
    SPDXID: spdxId,
    name: row.name,
    versionInfo: row.version,
    packageFileName: row.filename,
    supplier: supplierOf(row.maintainer),
    downloadLocation: NOTHING,
    filesAnalyzed: false,
    checksums: [
      { algorithm: 'MD5', checksumValue: row.md5 },
      { algorithm: 'SHA1', checksumValue: row.sha1 },
      { algorithm: 'SHA256', checksumValue: row.sha256 },
      { algorithm: 'SHA512', checksumValue: row.sha512 },
    ],
    ...(isWebAddress(row.url) ? { homepage: row.url } : {}),
    ...(row.source_package
      ? {
          sourceInfo: `built from the source package ${row.source_package}${row.source_version ? ` ${row.source_version}` : ''}`,
        }
      : {}),
    licenseConcluded: NOTHING,
    licenseDeclared: declared(row.license, licenses),
    copyrightText: NOTHING,
    ...(row.description ? { description: row.description } : {}),
    externalRefs: [purlReference(purl)],
  }
}

function embeddedPackage({ spdxId, name, version, license, path, purl }: EmbeddedEntry, licenses: Licenses) {
  return {
    SPDXID: spdxId,
    name,
    ...(version ? { versionInfo: version } : {}),
    supplier: NOTHING,
    downloadLocation: NOTHING,
    filesAnalyzed: false,
    ...(path ? { sourceInfo: `found at ${path}` } : {}),
    licenseConcluded: NOTHING,
    licenseDeclared: declared(license, licenses),
    copyrightText: NOTHING,
    externalRefs: [purlReference(purl)],
  }
}

function stubPackage({ spdxId, name, purl, requirement }: Stub) {
  return {
    SPDXID: spdxId,
    name,
    supplier: NOTHING,
    downloadLocation: NOTHING,
    filesAnalyzed: false,
    licenseConcluded: NOTHING,
    licenseDeclared: NOTHING,
    copyrightText: NOTHING,
    comment: `required as ${requirement}; not offered here`,
    ...(purl ? { externalRefs: [purlReference(purl)] } : {}),
  }
}

async function* relationships(contents: Contents) {
  const relation = (spdxElementId: string, relationshipType: string, relatedSpdxElement: string) => ({
    spdxElementId,
    relationshipType,
    relatedSpdxElement,
  })
  if (contents.subject) yield relation('SPDXRef-DOCUMENT', 'DESCRIBES', contents.subject.spdxId)
  let isEmpty = !contents.subject
  for await (const { entry, on } of contents.dependencies()) {
    isEmpty = false
    if (!contents.subject) yield relation('SPDXRef-DOCUMENT', 'DESCRIBES', entry.spdxId)
    for (const inner of entry.embedded) yield relation(entry.spdxId, 'CONTAINS', inner.spdxId)
    for (const spdxId of on.map((needed) => needed.spdxId).sort()) yield relation(entry.spdxId, 'DEPENDS_ON', spdxId)
  }
  // A document must describe something, so an empty one describes `NONE` (clause 11).
  if (isEmpty) yield relation('SPDXRef-DOCUMENT', 'DESCRIBES', 'NONE')
}

const purlReference = (purl: string) => ({
  referenceCategory: 'PACKAGE-MANAGER',
  referenceType: 'purl',
  referenceLocator: purl,
})

/** `Name <mail>` in the form of clause 7.5; `Organization`, because distributions often name teams. */
function supplierOf(maintainer: string | null): string {
  const [, name = '', mail] = /^([^<]*)(?:<([^<>\s]+@[^<>\s]+)>)?/s.exec(maintainer ?? '') ?? []
  const plain = name.replace(/[()\s]+/g, ' ').trim()
  if (plain === '') return NOTHING
  return `Organization: ${plain}${mail ? ` (${mail.replace(/[()]/g, '')})` : ''}`
}

function declared(text: string | null | undefined, licenses: Licenses): string {
  const license = licenseOf(text)
  if (!license) return NOTHING
  if (license.kind !== 'name') return license.text
  const licenseId = `LicenseRef-${sha256Hex(license.text).slice(0, 16)}`
  licenses.set(licenseId, { licenseId, extractedText: license.text, name: license.text.slice(0, 100) })
  return licenseId
}
