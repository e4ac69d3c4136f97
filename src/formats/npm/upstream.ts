// Reads the packument of another registry, as its clients do, reduced to what is shown and judged here.
import { createReadStream } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { isObject, objectAt, objectsAt } from '../../domain/json.ts'
import type { Digests, PackageFacts } from '../../domain/package.ts'
import { isProblem } from '../../domain/problem.ts'
import type { RegistrySignature } from '../../domain/provenance.ts'
import type { VersionNote } from '../../domain/repositories.ts'
import { isStorable } from '../../domain/storable.ts'
import { pickJson, type Wanted } from '../../kernel/pick-json.ts'
import { refused } from '../catalog.ts'
import type { UpstreamFile, UpstreamListing, UpstreamReading } from '../registry-format.ts'
import { ABOUT, INSTALLED } from './documents.ts'
import { DEPENDENCIES, licenseOf, manifestOf, type Fields, type Manifest } from './manifest.ts'
import { NPM_ARCH, npmFilename, type NpmRecord } from './read.ts'
import { isStable, versions } from './versions.ts'

/** Popular names have 5,000. */
const MOST_VERSIONS = 20_000
/** What is picked of a packument, in total; the largest have 40 MB. */
const MOST_BYTES = 100 * 1024 * 1024
const MOST_URL = 2000

export const npmUpstream: UpstreamReading<NpmRecord> = {
  // The abbreviated form has no dates, without which no age is known.
  request: (name) => ({ path: name.replace('/', '%2f'), accept: 'application/json' }),
  parse,
  differences,
  isStable,
  // npm, pnpm, yarn 4 and bun wait for 30 s or more.
  patienceMs: 25_000,
  keysPath: '-/npm/v1/keys',
}

type ListedVersion = UpstreamFile<NpmRecord> & { deprecated: VersionNote | null }

interface Parts {
  tags: Fields
  times: Fields
  versions: Map<string, ListedVersion | null>
}

async function parse(path: string, name: string, url: string): Promise<UpstreamListing<NpmRecord>> {
  const parts = await partsOf(path, name, url)
  const latest = parts.tags['latest']
  const notes: Record<string, VersionNote> = {}
  const files: UpstreamFile<NpmRecord>[] = []
  for (const [version, listed] of parts.versions) {
    if (!listed) continue
    const { deprecated, ...file } = listed
    const { record } = file.facts
    // The dates and tags are behind the versions.
    file.publishedAt = dateOf(parts.times[version])
    if (version !== latest) record.manifest = picked(record.manifest, KEPT)
    files.push(file)
    if (deprecated) notes[version] = deprecated
  }
  files.sort((a, b) => versions.compare(a.version, b.version))
  const known = new Set(files.map(({ version }) => version))
  const tags = Object.entries(parts.tags).filter((one): one is [string, string] => known.has(one[1] as string))
  return { files, tags: Object.fromEntries(tags), notes }
}

const WHOLE: readonly string[] = ['dist-tags', 'time']

/** Each version is reduced as it arrives: in full, those of a list of 40 MB take 300 MB. */
async function partsOf(path: string, name: string, url: string): Promise<Parts> {
  const parts: Parts = { tags: {}, times: {}, versions: new Map() }
  const want = ([first = '', second, third]: readonly string[]): Wanted => {
    if (second === undefined) return WHOLE.includes(first) ? 'whole' : first === 'versions' ? 'inside' : 'nothing'
    return first === 'versions' && third === undefined ? 'whole' : 'nothing'
  }
  try {
    for await (const picked of pickJson(createReadStream(path, { highWaterMark: 256 * 1024 }), want, MOST_BYTES)) {
      if (!('value' in picked) || !isObject(picked.value)) continue
      const [first, version] = picked.path
      if (first === 'dist-tags') parts.tags = picked.value
      else if (first === 'time') parts.times = picked.value
      else parts.versions.set(version!, versionOf(picked.value, name, version!, url))
      if (parts.versions.size > MOST_VERSIONS)
        throw refused('malformed', `it lists more than ${MOST_VERSIONS} versions`)
    }
  } catch (error) {
    throw isProblem(error, 'validation_error')
      ? refused('malformed', `its list cannot be read: ${error.detail}`)
      : error
  }
  return parts
}

/** Null for a version that no client could use, or that is listed under another name. */
function versionOf(fields: Fields, name: string, version: string, url: string): ListedVersion | null {
  try {
    const manifest = manifestOf(fields)
    if (manifest.name !== name || manifest.version !== version) return null
    const file = fileOf(fields, picked(manifest, [...INSTALLED, ...ABOUT]), url)
    const { deprecated } = fields
    return (
      file && { ...file, deprecated: typeof deprecated === 'string' ? { deprecated: deprecated.slice(0, 1000) } : null }
    )
  } catch (error) {
    if (isProblem(error)) return null
    throw error
  }
}

/** Thousands of versions are kept and shown together, and only the newest says something about the package. */
const KEPT = [...INSTALLED, 'license']

const picked = (manifest: Manifest, keys: readonly string[]): Manifest =>
  Object.fromEntries(keys.flatMap((key) => (key in manifest ? [[key, manifest[key]]] : []))) as Manifest

function dateOf(time: unknown): number | null {
  const at = typeof time === 'string' ? Date.parse(time) : NaN
  return Number.isNaN(at) ? null : at
}

function fileOf(fields: Fields, manifest: Manifest, base: string): UpstreamFile<NpmRecord> | null {
  const dist = objectAt(fields, 'dist')
  const url = addressOf(dist['tarball'], base)
  const digests = digestsOf(dist)
  if (url === null || Object.keys(digests).length === 0) return null
  const scripts = objectAt(fields, 'scripts')
  const hasInstallScript =
    fields['hasInstallScript'] === true ||
    ['preinstall', 'install', 'postinstall'].some((key) => Object.hasOwn(scripts, key))
  const count = (value: unknown) => (typeof value === 'number' && value >= 0 ? Math.floor(value) : 0)
  const license = licenseOf(fields)
  const facts: PackageFacts<NpmRecord> = {
    ...{ format: 'npm', name: manifest.name, version: manifest.version, arch: NPM_ARCH, license },
    ...{ maintainer: null, url: null, description: null, installedSizeKb: null, section: null },
    ...{ sourcePackage: null, sourceVersion: null, requirements: [], provides: [], signatures: [], files: [] },
    record: {
      ...{ manifest, hasInstallScript, hasShrinkwrap: fields['_hasShrinkwrap'] === true, readme: null },
      ...{ fileCount: count(dist['fileCount']), unpackedBytes: count(dist['unpackedSize']) },
    },
  }
  return {
    ...{ version: manifest.version, arch: NPM_ARCH, filename: npmFilename(manifest), url, sizeBytes: null, digests },
    ...{ publishedAt: null, hasInstallScript, facts },
    ...(Array.isArray(dist['signatures']) ? { signatures: signaturesOf(dist) } : {}),
    ...(isObject(dist['attestations']) ? { attestedAt: attestationsAt(manifest, base) } : {}),
  }
}

/** npm signs with one key. */
const MOST_SIGNATURES = 4

function signaturesOf(dist: Fields): RegistrySignature[] {
  return objectsAt(dist, 'signatures')
    .slice(0, MOST_SIGNATURES)
    .flatMap(({ keyid, sig }) => (isShort(keyid) && isShort(sig) ? [{ keyid, sig }] : []))
}

const isShort = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 200 && isStorable(value)

/** Beside the list: clients too pay no attention to the host that the list names. */
const attestationsAt = ({ name, version }: Manifest, base: string): string =>
  new URL(`./-/npm/v1/attestations/${name.replace('/', '%2f')}@${version}`, base).href

function addressOf(tarball: unknown, base: string): string | null {
  if (typeof tarball !== 'string' || tarball.length > MOST_URL || !URL.canParse(tarball, base)) return null
  const { protocol, href } = new URL(tarball, base)
  return protocol === 'https:' || protocol === 'http:' ? href : null
}

function digestsOf({ integrity, shasum }: Fields): Partial<Digests> {
  const digests: Partial<Digests> = {}
  for (const part of typeof integrity === 'string' ? integrity.split(/\s+/) : []) {
    const [, name, base64 = ''] = /^(sha512|sha256|sha1)-([A-Za-z0-9+/]+={0,2})(?:\?|$)/.exec(part) ?? []
    if (name) digests[name as 'sha512'] ??= Buffer.from(base64, 'base64').toString('hex')
  }
  if (typeof shasum === 'string' && /^[0-9a-f]{40}$/i.test(shasum)) digests.sha1 ??= shasum.toLowerCase()
  return digests
}

/** What an installation follows: a client has chosen by the list before it reads the file. */
const COMPARED = [...DEPENDENCIES.filter((key) => key !== 'devDependencies'), 'bin', 'os', 'cpu'] as const

function differences({ record: listed }: PackageFacts<NpmRecord>, { record: own }: PackageFacts<NpmRecord>): string[] {
  const plain = (value: unknown) => (isObject(value) && Object.keys(value).length === 0 ? undefined : value)
  const changed = COMPARED.filter((key) => !isDeepStrictEqual(plain(listed.manifest[key]), plain(own.manifest[key])))
  const scripts = own.hasInstallScript && !listed.hasInstallScript ? ['scripts at installation'] : []
  return [...changed, ...scripts]
}
