// One check of a repository: its signed description, compared with what was seen before.
import { rm } from 'node:fs/promises'
import { refused, type CatalogReader, type RepositoryDescription, type RepositoryIo } from '../formats/catalog.ts'
import type { Place } from './locate.ts'
import { createRoots, fetchSmall } from './roots.ts'
import { indexesDigest, originOf, scopeOf, type SeenState, type UpstreamDeps, type UpstreamSource } from './source.ts'
import { stageIndexes, type StagedCatalog } from './staged-catalog.ts'
import type { Verifier } from './verifier.ts'

export type Checked = Unchanged | Changed

export interface Unchanged {
  state: 'unchanged'
  seen: SeenState
  /** of a description that is new and lists the same indexes; null when it is not new */
  signedBy: string[] | null
}

export interface Changed {
  state: 'changed'
  seen: SeenState
  /** when upstream wrote the description; null where the format does not say */
  date: Date | null
  /** fingerprints or key names; empty for an unsigned source */
  signedBy: string[]
  /** of all indexes as they are fetched, in bytes */
  sizeBytes: number
  /** Fetches all indexes and verifies their sizes and digests. */
  stage(): Promise<StagedCatalog>
}

export interface CheckContext {
  source: UpstreamSource
  reader: CatalogReader
  place: Place
  deps: UpstreamDeps
  verifier: Verifier
}

/** @throws Problem as upstream.ts lists them */
export async function checkRepository(
  { source, reader, place, deps, verifier: verifiers }: CheckContext,
  previous: SeenState | null,
): Promise<Checked> {
  const { clock, stagingDirectory, wait } = deps
  const { transport, expected } = place
  const now = clock.now()
  const scope = scopeOf(source)
  const known = previous?.scope === scope ? previous : null
  const roots = createRoots(transport, known?.files ?? {}, stagingDirectory, wait)
  const verifier = verifiers.withKeys(
    source.keys.map(({ text }) => text),
    now,
  )
  const signed = source.keys.length > 0
  const io: RepositoryIo = {
    roots: roots.fetch,
    small: (path, mostBytes) => fetchSmall(transport, path, mostBytes, stagingDirectory, wait),
    signed,
    mayBeUnsigned: source.allowUnsigned,
    keys: source.keys,
    async verifyCleartext(document, name) {
      return signed ? verifier.cleartext(document, name) : { text: withoutSignature(document), signedBy: [] }
    },
    verifyDetached: async (content, signature, name) => (signed ? verifier.detached(content, signature, name) : []),
  }
  const request = {
    suite: source.suite ?? null,
    components: source.components ?? [],
    architectures: source.architectures ?? [],
    expected,
  }
  try {
    const description = await reader.describe(request, io)
    const read = { origin: originOf(source), scope, files: roots.seen() }
    if (description === 'unchanged') {
      const { date, validUntil, indexes } = known ?? { date: null, validUntil: null }
      checkExpiry(validUntil ? new Date(validUntil) : null, now, transport.name)
      const seen = { ...read, date, validUntil, ...(indexes === undefined ? {} : { indexes }) }
      return { state: 'unchanged', seen, signedBy: null }
    }
    const { date, validUntil, signedBy, indexes } = description
    checkDates(description, previous?.origin === read.origin ? previous.date : null, now, transport.name)
    const dates = { date: date?.toISOString() ?? null, validUntil: validUntil?.toISOString() ?? null }
    const seen = { ...read, ...dates, indexes: indexesDigest(indexes) }
    if (known?.indexes === seen.indexes) return { state: 'unchanged', seen, signedBy }
    return {
      state: 'changed',
      seen,
      date,
      signedBy,
      sizeBytes: indexes.reduce((sum, { from }) => sum + (from[0]?.sizeBytes ?? 0), 0),
      stage: () => stageIndexes(transport, reader, indexes, stagingDirectory, wait),
    }
  } finally {
    await Promise.all(roots.paths().map((path) => rm(path, { force: true })))
  }
}

/** Clocks of upstreams may run ahead. */
const SKEW_MS = 10 * 60_000

/** A mirror that is stopped at an old state keeps fixes from its clients. */
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

/** The text between the headers and the signature of a clear-signed document that is not verified (RFC 9580, section 7). */
function withoutSignature(document: Uint8Array): string {
  const text = Buffer.from(document).toString('utf8').replaceAll('\r\n', '\n')
  const begin = text.startsWith('-----BEGIN PGP SIGNED MESSAGE-----\n') ? text.indexOf('\n\n') + 2 : 0
  const end = text.indexOf('\n-----BEGIN PGP SIGNATURE-----\n')
  return text.slice(begin, end === -1 ? undefined : end + 1).replace(/^- /gm, '')
}
