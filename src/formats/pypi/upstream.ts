// Reads what another index lists about a project, in JSON or HTML, reduced to what is shown and judged here.
// https://packaging.python.org/specifications/simple-repository-api/
import type { PackageFacts } from '../../domain/package.ts'
import type { VersionNote } from '../../domain/repositories.ts'
import { comparePep440 } from '../../domain/versions/pep440.ts'
import type { UpstreamFile, UpstreamListing, UpstreamReading } from '../registry-format.ts'
import { JSON_MEDIA } from './documents.ts'
import { archOf, filenameOf, readFilename } from './names.ts'
import type { PypiFile, PypiRecord } from './record.ts'
import { linksOf, type Link } from './simple-page.ts'

const MOST_URL = 2000
const LONGEST_FILENAME = 240
const LONGEST_LINE = 500

export const pypiUpstream: UpstreamReading<PypiRecord> = {
  request: (name) => ({ path: `${name}/`, accept: `${JSON_MEDIA}, text/html;q=0.2` }),
  parse,
  differences,
  isStable: (version) => /^(?:\d+!)?[\d.]+(?:\.post\d+)?(?:\+.*)?$/.test(version),
  // pip gives up after 15 s.
  patienceMs: 12_000,
}

async function parse(path: string, name: string, url: string): Promise<UpstreamListing<PypiRecord>> {
  const files = new Map<string, UpstreamFile<PypiRecord>>()
  const notes: Record<string, VersionNote> = {}
  for (const link of await linksOf(path, name)) {
    const file = fileOf(link, name, url)
    if (!file) continue
    const key = `${file.version} ${file.arch}`
    // A version has one source distribution here; old ones have a zip beside it.
    if (!files.has(key) || file.filename.endsWith('.tar.gz')) files.set(key, file)
    if (link.yanked !== null)
      notes[file.version] = { yanked: link.yanked.replace(/\p{Cc}+/gu, ' ').slice(0, LONGEST_LINE) }
  }
  const sorted = [...files.values()].sort((a, b) => comparePep440(a.version, b.version) || (a.arch < b.arch ? -1 : 1))
  return { files: sorted, tags: {}, notes }
}

/** Null for what no client could use or check: other kinds of files, and those without a SHA-256. */
function fileOf(link: Link, name: string, base: string): UpstreamFile<PypiRecord> | null {
  const stated = readFilename(link.filename)
  const url = addressOf(link.url, base)
  const { sha256, requiresPython } = link
  if (!stated || stated.name !== name || !hasPlainTags(stated.file) || url === null || !isSha256(sha256)) return null
  if (requiresPython !== null && (requiresPython.length > LONGEST_LINE || /\p{Cc}/u.test(requiresPython))) return null
  const { version, file } = stated
  const filename = filenameOf(name, version, file)
  if (filename.length > LONGEST_FILENAME) return null
  const arch = archOf(file)
  const described = file.kind === 'wheel' && isSha256(link.metadataSha256) ? link.metadataSha256 : null
  const facts: PackageFacts<PypiRecord> = {
    ...{ format: 'pypi', name, version, arch, license: null, maintainer: null, url: null, description: null },
    ...{ installedSizeKb: null, section: null, sourcePackage: null, sourceVersion: null },
    ...{ requirements: [], provides: [], signatures: [], files: [] },
    record: {
      ...{ file, rawName: name, rawVersion: version, requiresPython, requiresDist: [], extras: [], classifiers: [] },
      metadata: described === null ? null : { text: null, sha256: described },
    },
  }
  const at = Date.parse(link.uploadedAt ?? '')
  const attestedAt = link.provenance === null ? null : addressOf(link.provenance, base)
  return {
    ...{ version, arch, filename, url, sizeBytes: link.sizeBytes, digests: { sha256 } },
    publishedAt: Number.isNaN(at) ? null : at,
    // A wheel is unpacked; what builds a source distribution is code of the package.
    ...{ hasInstallScript: file.kind === 'sdist', facts },
    ...(attestedAt === null ? {} : { attestedAt }),
    ...(described === null ? {} : { described: { url: metadataOf(url), sha256: described } }),
  }
}

const isSha256 = (text: string | null): text is string => text !== null && /^[0-9a-f]{64}$/.test(text)

/** As the content of wheels has them: other texts would be parts of paths and pages. */
const hasPlainTags = (file: PypiFile): boolean =>
  file.kind === 'sdist' ||
  ([file.python, file.abi, file.platform].every((tags) => /^\w+(?:\.\w+)*$/.test(tags)) &&
    (file.build === null || /^\d\w*$/.test(file.build)))

function addressOf(written: string, base: string): string | null {
  if (written.length > MOST_URL || !URL.canParse(written, base)) return null
  const url = new URL(written, base)
  url.hash = ''
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null
}

function metadataOf(address: string): string {
  const url = new URL(address)
  url.pathname += '.metadata'
  return url.href
}

/** Indexes write the clauses of a specifier in an order of their own. */
const clausesOf = (specifier: string): string => specifier.replace(/\s+/g, '').split(',').filter(Boolean).sort().join()

/** A client has chosen by the list before it reads the file. */
function differences(
  { record: listed }: PackageFacts<PypiRecord>,
  { record: own }: PackageFacts<PypiRecord>,
): string[] {
  const [said, real] = [listed.requiresPython, own.requiresPython]
  const python = said !== null && real !== null && clausesOf(said) !== clausesOf(real)
  const metadata = listed.metadata !== null && listed.metadata.sha256 !== own.metadata?.sha256
  return [...(python ? ['the versions of Python'] : []), ...(metadata ? ['the core metadata'] : [])]
}
