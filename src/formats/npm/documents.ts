// What clients read about a name: npm's packument, in full and abbreviated.
// https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md
import { isObject, stringAt } from '../../domain/json.ts'
import type { Digests } from '../../domain/package.ts'
import { BASE, type ListedFile, type Listing, type ListingDocument } from '../registry-format.ts'
import { attestationsForm } from './attestations.ts'
import { DEPENDENCIES, personOf, type Fields } from './manifest.ts'
import type { NpmRecord } from './read.ts'
import { isStable } from './versions.ts'

export const SHORT_MEDIA = 'application/vnd.npm.install-v1+json'
/** Held versions that the message names, the newest. */
const MOST_NAMED = 20
const MOST_MAINTAINERS = 50

/** What an installation needs of a version. */
export const INSTALLED = [
  ...['name', 'version', ...DEPENDENCIES, 'bundleDependencies', 'peerDependenciesMeta', 'acceptDependencies'],
  ...['bin', 'directories', 'engines', 'os', 'cpu', 'libc', 'funding'],
]
/** What the newest version says about the whole package. */
export const ABOUT = ['license', 'homepage', 'repository', 'bugs', 'keywords', 'author', 'contributors', 'description']

type File = ListedFile<NpmRecord>

export function* documents(listing: Listing<NpmRecord>): Generator<ListingDocument> {
  const offered = listing.files.filter(({ held }) => held === null)
  const held = listing.files.filter((file) => file.held?.isListed)
  if (offered.length + held.length === 0) return
  const { name, modifiedAt } = listing
  const tags = tagsOf(listing, offered)
  const modified = modifiedAt.toISOString()
  const times = Object.fromEntries(
    [...offered, ...held].map(({ version, addedAt }) => [version, addedAt.toISOString()]),
  )
  const time = { created: Object.values(times).sort()[0], modified, ...times }
  const restrictions = held.length === 0 ? {} : { policyRestrictions: restrictionsOf(name, held) }
  const versionsAs = (shown: (file: File) => Fields) =>
    Object.fromEntries(offered.map((file) => [file.version, { ...shown(file), ...noteOn(listing, file.version) }]))
  const head = { name, 'dist-tags': tags }
  const full = () => ({
    ...{ _id: name, _rev: `1-${modifiedAt.getTime().toString(16)}`, ...head, ...restrictions, time },
    ...aboutOf(offered, tags),
    versions: versionsAs((file) => fullVersion(file, attestationsOf(listing, file))),
  })
  // pnpm wants `time` here too.
  const short = () => ({ ...head, modified, ...restrictions, time, versions: versionsAs(shortVersion) })
  yield { form: 'full', media: 'application/json', text: JSON.stringify(full()) }
  yield { form: 'short', media: SHORT_MEDIA, text: JSON.stringify(short()) }
  for (const file of offered) {
    const attestations = attestationsOf(listing, file)
    if (attestations)
      yield {
        form: attestationsForm(file.version),
        media: 'application/json',
        text: JSON.stringify({ attestations }),
      }
  }
}

/** Tags of versions that clients can have. `latest` is among them as long as there is any such version. */
function tagsOf({ tags }: Listing<NpmRecord>, offered: readonly File[]): Record<string, string> {
  const versions = offered.map(({ version }) => version)
  const shown = Object.entries(tags).filter(([, version]) => versions.includes(version))
  const newest = versions.findLast(isStable) ?? versions.at(-1)
  return { ...(newest === undefined ? {} : { latest: newest }), ...Object.fromEntries(shown) }
}

function noteOn({ notes }: Listing<NpmRecord>, version: string): { deprecated?: string } {
  const deprecated = notes[version]?.deprecated
  return deprecated === undefined ? {} : { deprecated }
}

function fullVersion(file: File, attestations: readonly unknown[] | null): Fields {
  const { manifest } = file.facts.record
  const dist = { ...distOf(file), ...(file.signatures ? { signatures: file.signatures } : {}) }
  const attested = attestations ? { attestations: attestedAs(file, attestations) } : {}
  return { ...manifest, _id: `${manifest.name}@${manifest.version}`, ...marksOf(file), dist: { ...dist, ...attested } }
}

function attestationsOf({ notes }: Listing, { version, filename }: File): unknown[] | null {
  const all = notes[version]?.attestations ?? {}
  return Object.hasOwn(all, filename) ? all[filename]! : null
}

/** Clients read the attestations themselves at this address, and the kind of the provenance here. */
function attestedAs({ facts: { name, version } }: File, attestations: readonly unknown[]): Fields {
  const kinds = attestations.flatMap((one) => (isObject(one) ? (stringAt(one, 'predicateType') ?? []) : []))
  const predicateType = kinds.find((kind) => kind.startsWith('https://slsa.dev/provenance/'))
  return {
    url: `${BASE}/-/npm/v1/attestations/${name.replace('/', '%2f')}@${version}`,
    ...(predicateType === undefined ? {} : { provenance: { predicateType } }),
  }
}

function shortVersion(file: File): Fields {
  const { manifest } = file.facts.record
  const kept = INSTALLED.flatMap((key): [string, unknown][] => (key in manifest ? [[key, manifest[key]]] : []))
  return { ...Object.fromEntries(kept), ...marksOf(file), dist: distOf(file) }
}

function marksOf({ facts: { record } }: File): Fields {
  return {
    ...(record.hasInstallScript ? { hasInstallScript: true } : {}),
    ...(record.hasShrinkwrap ? { _hasShrinkwrap: true } : {}),
  }
}

function distOf({ digests, filename, facts: { name, record } }: File): Fields {
  return {
    integrity: integrityOf(digests),
    shasum: digests.sha1,
    tarball: `${BASE}/${name}/-/${filename}`,
    // Lists of upstreams may lack both.
    ...(record.fileCount > 0 ? { fileCount: record.fileCount, unpackedSize: record.unpackedBytes } : {}),
  }
}

/** Old versions of an upstream have a SHA-1 only. */
function integrityOf({ sha512, sha1 }: Partial<Digests>): string | undefined {
  const [name, hex] = sha512 ? ['sha512', sha512] : ['sha1', sha1]
  return hex && `${name}-${Buffer.from(hex, 'hex').toString('base64')}`
}

/** npm 11 names a held version that was asked for, with this message; other clients find no such version. */
function restrictionsOf(name: string, held: readonly File[]): Fields {
  const lines = held.slice(-MOST_NAMED).map((file) => `${name}@${file.version}: ${file.held?.reason}`)
  const entries = held.map(({ version, facts }): [string, Fields] => {
    const { engines } = facts.record.manifest
    return [version, { name, version, ...(engines === undefined ? {} : { engines }) }]
  })
  return { message: lines.reverse().join('\n'), versions: Object.fromEntries(entries) }
}

function aboutOf(offered: readonly File[], tags: Record<string, string>): Fields {
  const latest = offered.find(({ version }) => version === tags['latest'])
  if (!latest) return {}
  const { manifest, readme } = latest.facts.record
  const stated = Array.isArray(manifest['maintainers']) ? manifest['maintainers'] : [manifest['author']]
  return {
    ...Object.fromEntries(ABOUT.flatMap((key) => (key in manifest ? [[key, manifest[key]]] : []))),
    maintainers: stated.slice(0, MOST_MAINTAINERS).flatMap((one) => personOf(one) ?? []),
    ...(readme === null ? {} : { readme }),
  }
}
