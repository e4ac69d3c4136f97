// A repository of others, and what is needed to read it.
import { createHash } from 'node:crypto'
import { READER_REVISION, type RepositoryIndex, type SourceKey } from '../formats/catalog.ts'
import type { PackageFormat } from '../formats/format.ts'
import type { Clock } from '../kernel/clock.ts'
import type { HttpClient } from '../kernel/http-client.ts'
import type { UpstreamReaders } from './reading.ts'
import type { Validator } from './transport.ts'

export interface UpstreamSource {
  /** the name in REPO_FORMAT of the format that reads it: `apt`, `rpm` or `apk` */
  type: string
  /** http(s) address of the repository, of its metalink or of its mirror list; or `file:` and a directory of this machine */
  url: string
  /** what `url` leads to; by default the repository itself */
  mirrors?: 'metalink' | 'mirrorlist'
  /** apt: the suite, such as `bookworm` or `bookworm-updates`; one that ends in `/` is a directory with a flat repository */
  suite?: string | null
  /** apt */
  components?: readonly string[]
  /** in the format's names; rpm: not used, because the address is of one architecture */
  architectures?: readonly string[]
  /** With a key, everything must be signed by it. */
  keys: readonly SourceKey[]
  /** whether a source without a key may be read */
  allowUnsigned: boolean
}

export interface UpstreamDeps {
  http: Pick<HttpClient, 'open'>
  clock: Clock
  formats: readonly PackageFormat[]
  readers: UpstreamReaders
  /** for files that are being fetched; exists */
  stagingDirectory: string
  /** roots of `file:` sources */
  importDirectories: readonly string[]
  /** @throws Problem('storage_full') when the staging directory has no room for so many bytes; by default it has */
  requireRoom?(bytes: number): Promise<void>
  /** waits between two tries, in milliseconds; rejects with the signal's reason */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

/** What a check needs to know about the previous one: plain JSON, to be stored beside the packages. */
export interface SeenState {
  /** identifies the repository, whose dates only grow */
  origin: string
  /** identifies everything in the source: if it changes, everything is read again */
  scope: string
  /** ISO 8601 */
  date: string | null
  validUntil: string | null
  /** by path */
  files: Readonly<Record<string, Validator & { sha256: string }>>
  /** whether the stored packages came with a signed description; from then on it must be signed */
  signed?: boolean
  /** digest of the names and digests of all indexes; older builds left it out */
  indexes?: string
}

export function originOf({ type, url, mirrors, suite }: UpstreamSource): string {
  return digest([type, url, mirrors ?? null, suite ?? null])
}

export function scopeOf(source: UpstreamSource): string {
  const { components = [], architectures = [], keys, allowUnsigned } = source
  return digest([
    READER_REVISION,
    originOf(source),
    components,
    architectures,
    keys.map(({ name, text }) => [name, text]),
    allowUnsigned,
  ])
}

/** Changes only with the content of an index: upstreams also date and sign unchanged indexes again. */
export function indexesDigest(indexes: readonly RepositoryIndex[]): string {
  return digest(indexes.map(({ name, arch, from }) => [name, arch, from.map((form) => form.digest)]))
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
