// What clients read about a project: the Simple API in JSON and HTML (https://packaging.python.org/specifications/simple-repository-api/).
import type { Listing, ListedFile, ListingDocument } from '../registry-format.ts'
import type { PypiRecord } from './record.ts'

const API_VERSION = '1.4'
export const JSON_MEDIA = 'application/vnd.pypi.simple.v1+json'
export const HTML_MEDIA = 'application/vnd.pypi.simple.v1+html'
export const PROVENANCE_MEDIA = 'application/vnd.pypi.integrity.v1+json'

/** The form of the document with the attestations of a file. */
export const provenanceForm = (filename: string): string => `provenance ${filename}`

/** A file as both forms show it. */
interface Shown {
  filename: string
  url: string
  hashes: { sha256: string }
  'requires-python'?: string
  size?: number
  'upload-time'?: string
  yanked: boolean | string
  'core-metadata': false | { sha256: string }
  /** the same under its name before PEP 714 */
  'dist-info-metadata': false | { sha256: string }
  provenance: string | null
}

/** Addresses are relative, so that they fit whatever name and path clients reach the service by, also in a group. */
export function documents(listing: Listing<PypiRecord>): ListingDocument[] {
  const files = listing.files.filter(({ held }) => held?.isListed ?? true)
  if (files.length === 0) return []
  const shown = files.map((file) => shownFile(listing, file))
  return [
    { form: 'json', media: JSON_MEDIA, text: jsonOf(listing.name, [...new Set(files.map((f) => f.version))], shown) },
    { form: 'html', media: HTML_MEDIA, text: htmlOf(listing.name, shown) },
    ...files.flatMap((file) => provenanceOf(listing, file)),
  ]
}

function shownFile(listing: Listing<PypiRecord>, file: ListedFile<PypiRecord>): Shown {
  const { filename, digests, sizeBytes, addedAt, facts, version, held } = file
  const { requiresPython, metadata } = facts.record
  const url = `../../files/${listing.name}/${encodeURIComponent(filename)}`
  const described = metadata ? { sha256: metadata.sha256 } : false
  const yanked = listing.notes[version]?.yanked
  return {
    // Files of upstreams without it are in no list.
    ...{ filename, url, hashes: { sha256: digests.sha256 as string } },
    ...(requiresPython === null ? {} : { 'requires-python': requiresPython }),
    ...(sizeBytes === null ? {} : { size: sizeBytes }),
    ...(addedAt.getTime() === 0 ? {} : { 'upload-time': addedAt.toISOString() }),
    // Installed only by those who ask for exactly this version, who are then told by the answer to the file.
    yanked: held ? `held: ${held.reason}` : yanked === undefined ? false : yanked || true,
    'core-metadata': described,
    'dist-info-metadata': described,
    provenance: attestationsOf(listing, file) ? `${url}.provenance` : null,
  }
}

function jsonOf(name: string, versions: readonly string[], files: readonly Shown[]): string {
  const meta = { 'api-version': API_VERSION }
  return JSON.stringify({ meta, name, 'project-status': { status: 'active' }, versions, files })
}

function htmlOf(name: string, files: readonly Shown[]): string {
  const links = files.map((file) => {
    const attributes = [
      ['href', `${file.url}#sha256=${file.hashes.sha256}`],
      ['data-requires-python', file['requires-python']],
      ['data-yanked', file.yanked === true ? '' : file.yanked || undefined],
      ['data-core-metadata', digestOf(file)],
      ['data-dist-info-metadata', digestOf(file)],
      ['data-provenance', file.provenance ?? undefined],
    ]
    const written = attributes.flatMap(([key, value]) => (value === undefined ? [] : `${key}="${escaped(value)}"`))
    return `<a ${written.join(' ')}>${escaped(file.filename)}</a><br/>`
  })
  return page(`Links for ${name}`, links)
}

const digestOf = ({ 'core-metadata': metadata }: Shown) => (metadata ? `sha256=${metadata.sha256}` : undefined)

/** The projects of a repository, in both forms. */
export function projectList(names: readonly string[]): Record<'json' | 'html', string> {
  const links = names.map((name) => `<a href="${name}/">${name}</a><br/>`)
  const projects = names.map((name) => ({ name }))
  return {
    json: JSON.stringify({ meta: { 'api-version': API_VERSION }, projects }),
    html: page('Simple index', links),
  }
}

function page(title: string, links: readonly string[]): string {
  return [
    '<!DOCTYPE html>',
    `<html><head><meta charset="utf-8"><meta name="pypi:repository-version" content="${API_VERSION}"><title>${escaped(title)}</title></head>`,
    `<body><h1>${escaped(title)}</h1>`,
    ...links,
    '</body></html>\n',
  ].join('\n')
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => ESCAPES[sign]!)

function attestationsOf({ notes }: Listing, { version, filename, held }: ListedFile): unknown[] | undefined {
  const all = notes[version]?.attestations ?? {}
  return !held && Object.hasOwn(all, filename) ? all[filename] : undefined
}

/** PEP 740. Those that were kept before anybody verified them here, and those by others than PEP 740 knows, name no publisher. */
function provenanceOf(listing: Listing<PypiRecord>, file: ListedFile<PypiRecord>): ListingDocument[] {
  const attestations = attestationsOf(listing, file)
  if (!attestations) return []
  const publishers = listing.notes[file.version]?.publishers?.[file.filename] ?? []
  const bundles = attestations.map((attestation, at) => ({
    publisher: publishers[at] ?? { kind: 'unverified' },
    attestations: [attestation],
  }))
  const text = JSON.stringify({ version: 1, attestation_bundles: bundles })
  return [{ form: provenanceForm(file.filename), media: PROVENANCE_MEDIA, text }]
}
