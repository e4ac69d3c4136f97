// One check of a repository: its signed description, compared with the state of the previous check.
import { rm } from 'node:fs/promises'
import type { NotCarried } from '../domain/not-carried.ts'
import { refused, type RepositoryDescription } from '../formats/catalog.ts'
import type { Location } from './locate.ts'
import type { Reading } from './reading.ts'
import { createRoots } from './roots.ts'
import { indexesDigest, originOf, scopeOf, type SeenState, type UpstreamDeps, type UpstreamSource } from './source.ts'
import { stageIndexes, type StagedCatalog } from './staged-catalog.ts'

export type Checked = Unchanged | Changed

export interface Unchanged {
  state: 'unchanged'
  seen: SeenState
  /** of a new description that lists the same indexes; null when the description is not new */
  signedBy: string[] | null
  /** of such a description */
  notCarried: NotCarried[] | null
}

export interface Changed {
  state: 'changed'
  seen: SeenState
  /** when upstream wrote the description; null where the format does not state it */
  date: Date | null
  /** fingerprints or key names; empty for an unsigned source */
  signedBy: string[]
  /** total size of all indexes as they are fetched, in bytes */
  sizeBytes: number
  notCarried: NotCarried[]
  /** Fetches all indexes and verifies their sizes and digests. */
  stage(): Promise<StagedCatalog>
}

export interface CheckContext {
  source: UpstreamSource
  reading: Reading
  place: Location
  deps: UpstreamDeps
}

/** @throws Problem as listed in upstream.ts */
export async function checkRepository(
  { source, reading, place, deps }: CheckContext,
  previous: SeenState | null,
): Promise<Checked> {
  const { clock, stagingDirectory, wait } = deps
  const { transport, expected } = place
  const now = clock.now()
  const scope = scopeOf(source)
  const known = previous?.scope === scope ? previous : null
  const roots = createRoots(transport, known?.files ?? {}, stagingDirectory, wait)
  const request = {
    suite: source.suite ?? null,
    components: source.components ?? [],
    architectures: source.architectures ?? [],
    expected,
  }
  try {
    const asked = { request, keys: source.keys, mayBeUnsigned: source.allowUnsigned, now }
    const description = await reading.describe(asked, transport.name, roots.get)
    const read = { origin: originOf(source), scope, files: roots.seen() }
    if (description === 'unchanged') {
      const { date, validUntil, indexes } = known ?? { date: null, validUntil: null }
      checkExpiry(validUntil ? new Date(validUntil) : null, now, transport.name)
      const seen = { ...read, date, validUntil, ...(indexes === undefined ? {} : { indexes }) }
      return { state: 'unchanged', seen, signedBy: null, notCarried: null }
    }
    const { date, validUntil, signedBy, indexes, notCarried } = description
    const before = previous?.origin === read.origin ? previous : null
    checkDates(description, before?.date ?? null, now, transport.name)
    if (before?.signed && source.keys.length > 0 && signedBy.length === 0) throw noLongerSigned(transport.name)
    const dates = { date: date?.toISOString() ?? null, validUntil: validUntil?.toISOString() ?? null }
    const seen = { ...read, ...dates, indexes: indexesDigest(indexes) }
    if (known?.indexes === seen.indexes) return { state: 'unchanged', seen, signedBy, notCarried }
    return {
      state: 'changed',
      seen,
      date,
      signedBy,
      notCarried,
      sizeBytes: indexes.reduce((sum, { from }) => sum + (from[0]?.sizeBytes ?? 0), 0),
      stage: () => stageIndexes(transport, reading, indexes, deps),
    }
  } finally {
    await Promise.all(roots.paths().map((path) => rm(path, { force: true })))
  }
}

const noLongerSigned = (name: string) =>
  refused(
    'unsigned',
    `${name} has a description without a signature, and it was signed before; if that is meant, set \`allow_unsigned\` of the source again`,
  )

/** Clocks of upstreams may be ahead. */
const SKEW_MS = 10 * 60_000

/** Refuses an old state: a mirror stopped at it would keep fixes from its clients. */
function checkDates({ date, validUntil }: RepositoryDescription, seen: string | null, now: Date, name: string): void {
  if (date && date.getTime() > now.getTime() + SKEW_MS)
    throw refused('not_yet_valid', `${name} has a description of ${date.toISOString()}, which is in the future`)
  if (date && seen !== null && date.getTime() < new Date(seen).getTime())
    throw refused('rollback', `${name} has a description of ${date.toISOString()}; one of ${seen} was seen before`)
  checkExpiry(validUntil, now, name)
}

function checkExpiry(validUntil: Date | null, now: Date, name: string): void {
  if (validUntil && validUntil.getTime() < now.getTime())
    throw refused('expired', `${name} has a description that was valid until ${validUntil.toISOString()}`)
}
