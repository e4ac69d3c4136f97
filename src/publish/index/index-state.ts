// The published packages of a distribution, as blocks in memory. Follows the database by reading only the changes.
import { sql } from 'kysely'
import { archsIn } from '../../formats/architectures.ts'
import type { Offered, PackageFormat, StreamSpec } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import type { OfferCause } from '../../store/tables.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { readEntries, readPieces } from '../../store/records/entry-pieces.ts'
import { changeBlocks, type Block, type IndexEntry, type EntryKey } from './blocks.ts'
import { changesSince, offersBetween, type Changes, type OfferedRow } from './changes.ts'
import { createStreamDigests, type StreamDigests } from './compose.ts'

/** One text of one architecture's index. */
export interface Stream {
  spec: StreamSpec
  arch: string
  blocks: Block[]
  digests: StreamDigests
}

export interface IndexState {
  /** everything up to this revision is in the blocks; -1 for none */
  revision: number
  /** by `streamKey` */
  streams: Map<string, Stream>
  /** by architecture: the revision that last changed its streams */
  changedAt: Map<string, number>
  /** the generation made from an earlier revision of this state; null when there is none */
  published: { generation: string; revision: number; backgroundIndexes: string } | null
  /** package files up to this revision are in the tree: the revision of the last successful publish; -1 for none */
  linked: number
  /** why packages entered and left since the last publication of any process */
  causes: Set<OfferCause>
  cleaning: Changes['cleaning']
}

/** Packages whose entries are read at a time: 1 KiB each, 128 KiB at most. Longer ones are read separately. */
const BATCH = 1000

export const streamKey = (stream: string, arch: string): string => `${stream}/${arch}`

export function emptyState({ format, distribution }: Offered): IndexState {
  const streams = distribution.architectures.flatMap((arch) =>
    format.streams.map((spec): [string, Stream] => [
      streamKey(spec.key, arch),
      { spec, arch, blocks: [], digests: createStreamDigests() },
    ]),
  )
  return {
    revision: -1,
    streams: new Map(streams),
    changedAt: new Map(),
    published: null,
    linked: -1,
    causes: new Set(),
    cleaning: { active: false, count: 0 },
  }
}

/** The number of packages in the index of an architecture. */
export function countOf(state: IndexState, arch: string): number {
  for (const stream of state.streams.values()) if (stream.arch === arch) return countKeys(stream.blocks)
  return 0
}

/** Brings the state to the distribution's current revision. */
export async function follow(db: Db, state: IndexState, offered: Offered): Promise<void> {
  const changes = await changesSince(db, offered.distribution.codename, state.revision)
  if (changes.kind === 'restart') {
    state.changedAt.clear()
    state.published = null
    state.revision = -1
    state.linked = -1
    state.causes.clear()
    for (const stream of state.streams.values()) Object.assign(stream, { blocks: [], digests: createStreamDigests() })
  } else {
    // Removals first: a package may have been removed and published again.
    await apply(state, changes.removed, new Map(), changes.revision)
  }
  // Entries that are missing here were pruned between two reads: a later revision removes them.
  await addOffers(db, state, offered, changes.revision)
  for (const cause of changes.causes) state.causes.add(cause)
  state.revision = changes.revision
  state.cleaning = changes.cleaning
}

/**
 * The index of an earlier revision, from the offers at that revision. Its texts are the ones that clients saw.
 * @throws Error when a kept offer has no entries, because it ended under an older build that deleted them
 */
export async function stateAt(db: Db, offered: Offered, revision: number): Promise<IndexState> {
  const state = emptyState(offered)
  const left = await addOffers(db, state, offered, revision)
  if (left > 0) throw new Error(`${left} packages of revision ${revision} have no index entries any more`)
  return { ...state, revision }
}

/** Adds packages that are offered at `revision` and were not at the state's revision. @returns how many had no entries */
async function addOffers(db: Db, state: IndexState, offered: Offered, revision: number): Promise<number> {
  const pace = createPacer()
  let left = 0
  for await (const page of offersBetween(db, offered.distribution.codename, state.revision, revision)) {
    for (let at = 0; at < page.length; at += BATCH) {
      const batch = page.slice(at, at + BATCH)
      left += batch.length
      for await (const [some, stored] of entriesInTurn(db, batch)) {
        left -= some.length
        await apply(state, [], entriesOf(state, some, stored, offered.format), revision)
      }
      await pace()
    }
  }
  return left
}

async function apply(
  state: IndexState,
  removed: EntryKey[],
  added: Map<string, IndexEntry[]>,
  revision: number,
): Promise<void> {
  for (const [key, stream] of state.streams) {
    const entries = added.get(key) ?? []
    if (removed.length === 0 && entries.length === 0) continue
    const before = stream.blocks
    const changed = await changeBlocks(before, removed, entries, stream.spec)
    stream.blocks = changed.blocks
    // The removed packages may have been in other architectures only.
    if (changed.firstChanged === before.length && changed.blocks.length === before.length) continue
    state.changedAt.set(stream.arch, revision)
    for (const digest of [stream.digests.plain, stream.digests.gz, stream.digests.xz])
      digest.truncate(changed.firstChanged)
  }
}

function countKeys(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + block.keys.length, 0)
}

type Stored = ReadonlyMap<number, ReadonlyMap<string, Uint8Array>>

/** Rows with their entries, in order: as many as one answer holds. A row whose entry is in pieces comes alone. */
async function* entriesInTurn(db: Db, rows: readonly OfferedRow[]): AsyncGenerator<[OfferedRow[], Stored]> {
  const stored = await readEntries(db, rows)
  let some: OfferedRow[] = []
  for (const row of rows) {
    if (stored.has(row.id)) {
      some.push(row)
      continue
    }
    if (some.length > 0) yield [some, stored]
    some = []
    const pieces = await readPieces(db, row)
    if (pieces.size > 0) yield [[row], new Map([[row.id, pieces]])]
  }
  if (some.length > 0) yield [some, stored]
}

function entriesOf(
  state: IndexState,
  rows: readonly OfferedRow[],
  stored: Stored,
  format: Pick<PackageFormat, 'neutralArchs' | 'olderArchs' | 'entryIn'>,
): Map<string, IndexEntry[]> {
  const result = new Map<string, IndexEntry[]>()
  for (const [key, { spec, arch }] of state.streams) {
    const entries: IndexEntry[] = []
    const archs = archsIn(format, arch)
    for (const { id, position, sha256, arch: own } of rows) {
      if (!archs.includes(own)) continue
      const found = stored.get(id)?.get(spec.key)
      if (!found) continue
      const bytes = format.neutralArchs.includes(own) && format.entryIn ? format.entryIn(found, arch) : found
      entries.push({ id, position, weight: parseInt(sha256.slice(0, 8), 16), bytes })
    }
    result.set(key, entries)
  }
  return result
}

/**
 * Whether the state contains the packages that the database offers, by their count and sums of their order keys. Blocks
 * on disk may have been made from another database, whose revisions mean something else.
 */
export async function holdsPublished(db: Db, state: IndexState, { format, distribution }: Offered): Promise<boolean> {
  for (const arch of distribution.architectures) {
    const stream = [...state.streams.values()].find((one) => one.arch === arch)
    if (!stream || !(await holds(db, stream, distribution.codename, archsIn(format, arch)))) return false
  }
  return true
}

async function holds(db: Db, { blocks }: Stream, codename: string, archs: readonly string[]): Promise<boolean> {
  const sums = { n: 0n, ids: 0n, positions: 0n, weights: 0n }
  const pace = createPacer()
  for (const { keys } of blocks) {
    for (const { id, position, weight } of keys) {
      sums.n++
      sums.ids += BigInt(id)
      sums.positions += BigInt(position)
      sums.weights += BigInt(weight)
    }
    await pace()
  }
  const published = await db
    .selectFrom('offers')
    .select([
      sql<string>`count(*)::text`.as('n'),
      sql<string>`coalesce(sum(package_id), 0)::text`.as('ids'),
      sql<string>`coalesce(sum(from_revision), 0)::text`.as('positions'),
      sql<string>`coalesce(sum(('x' || left(sha256, 8))::bit(32)::bigint), 0)::text`.as('weights'),
    ])
    .where('distribution', '=', codename)
    .where('until_revision', 'is', null)
    .where('arch', 'in', archs)
    .executeTakeFirstOrThrow()
  return (Object.keys(sums) as (keyof typeof sums)[]).every((key) => String(sums[key]) === published[key])
}

/** A key and its size: three numbers in an object, and one in a list. */
const KEY_BYTES = 72

/** Bytes of memory that the blocks take, estimated. */
export function sizeInMemory({ streams }: IndexState): number {
  let bytes = 0
  for (const { blocks } of streams.values()) {
    for (const { keys, raw, deflated, xz } of blocks)
      bytes += keys.length * KEY_BYTES + deflated.length + (raw?.length ?? 0) + (xz?.bytes.length ?? 0)
  }
  return bytes
}
