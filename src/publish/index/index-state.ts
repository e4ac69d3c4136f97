// What a distribution offers, as blocks in memory; follows the database by reading only what changed.
import { sql } from 'kysely'
import type { PackageFormat, StreamSpec } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import { changeBlocks, type Block, type Entry, type EntryKey } from './blocks.ts'
import { createStreamDigests, type StreamDigests } from './compose.ts'

/** A package file that must be in the tree before an index names it. */
export interface TreeFile {
  sha256: string
  filename: string
}

export interface IndexState {
  /** everything up to this revision is in the blocks */
  revision: number
  count: number
  streams: Map<string, { spec: StreamSpec; blocks: Block[]; digests: StreamDigests }>
  /** offered since the last publish that succeeded */
  unlinked: Map<number, TreeFile>
}

/** Entries read from the database at once: 2,000 of 1 KiB each. */
const BATCH = 2000

export function emptyState(format: PackageFormat): IndexState {
  return {
    revision: -1,
    count: 0,
    streams: new Map(format.streams.map((spec) => [spec.key, { spec, blocks: [], digests: createStreamDigests() }])),
    unlinked: new Map(),
  }
}

/** Brings the state to the distribution's revision of this moment. */
export async function follow(db: Db, state: IndexState, codename: string): Promise<void> {
  let changes = await changesSince(db, codename, state.revision)
  // Removals this state has not seen may have been forgotten, or the database was restored: begin anew.
  if (state.revision < changes.removalsFloor || state.revision > changes.revision) {
    state.count = 0
    state.unlinked.clear()
    for (const stream of state.streams.values()) Object.assign(stream, { blocks: [], digests: createStreamDigests() })
    if (state.revision >= 0) changes = await changesSince(db, codename, -1)
    changes.removed = []
  }
  const { revision, removed, added } = changes
  await apply(state, removed, new Map())
  // Before what was added: a package may have been withdrawn and offered again.
  for (const row of removed) state.unlinked.delete(row.id)
  for (let at = 0; at < added.length; at += BATCH) {
    const rows = added.slice(at, at + BATCH)
    await apply(state, [], await entriesOf(db, state, rows))
    for (const row of rows) state.unlinked.set(row.id, row)
  }
  state.revision = revision
}

interface Changes {
  revision: number
  removalsFloor: number
  removed: EntryKey[]
  added: (TreeFile & { id: number; position: number })[]
}

/** In one statement, which sees the database as it is at one moment. */
async function changesSince(db: Db, codename: string, revision: number): Promise<Changes> {
  const { rows } = await sql<{
    kind: 'now' | 'removed' | 'added'
    id: number
    position: number
    sha256: string
    filename: string
  }>`
    select 'now' as kind, revision as id, removals_floor as position, null as sha256, null as filename
      from distributions where codename = ${codename}
    union all
    select 'removed', package_id, position, null, null from removals
      where distribution = ${codename} and revision > ${revision}::bigint
    union all
    select 'added', id, position, sha256, filename from packages
      where distribution = ${codename} and changed_revision > ${revision}::bigint and served
    order by position, id`.execute(db)
  const now = rows.find((row) => row.kind === 'now')
  if (!now) throw new Error(`the distribution ${codename} is not initialized`)
  const of = (kind: 'removed' | 'added') => rows.filter((row) => row.kind === kind)
  return {
    revision: now.id,
    removalsFloor: now.position,
    removed: of('removed').map(({ id, position }) => ({ id, position, weight: 0 })),
    added: of('added'),
  }
}

async function apply(state: IndexState, removed: EntryKey[], added: Map<string, Entry[]>): Promise<void> {
  let first = true
  for (const [key, stream] of state.streams) {
    const entries = added.get(key) ?? []
    if (removed.length === 0 && entries.length === 0) continue
    const before = countKeys(stream.blocks)
    const changed = await changeBlocks(stream.blocks, removed, entries, stream.spec)
    stream.blocks = changed.blocks
    for (const digest of Object.values(stream.digests)) digest.truncate(changed.firstChanged)
    if (first) state.count += countKeys(stream.blocks) - before
    first = false
  }
}

function countKeys(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + block.keys.length, 0)
}

async function entriesOf(
  db: Db,
  state: IndexState,
  rows: readonly { id: number; position: number; sha256: string }[],
): Promise<Map<string, Entry[]>> {
  const { rows: stored } = await sql<{ package_id: number; stream: string; bytes: Uint8Array }>`
    select package_id, stream, bytes from entries where package_id = any(${rows.map((row) => row.id)}::bigint[])`.execute(
    db,
  )
  const byStream = new Map<string, Map<number, Uint8Array>>([...state.streams.keys()].map((key) => [key, new Map()]))
  for (const row of stored) byStream.get(row.stream)?.set(row.package_id, row.bytes)
  const result = new Map<string, Entry[]>()
  for (const [key, bytes] of byStream) {
    const entries: Entry[] = []
    for (const row of rows) {
      const found = bytes.get(row.id)
      // Withdrawn between the two reads: its removal comes with the next revision.
      if (found)
        entries.push({ id: row.id, position: row.position, weight: parseInt(row.sha256.slice(0, 8), 16), bytes: found })
    }
    result.set(key, entries)
  }
  return result
}

/**
 * Whether the state holds the packages that the database offers, by number and sums of what they are ordered by. Blocks
 * found on disk may have been made from another database, whose revisions mean something else.
 */
export async function holdsWhatIsOffered(db: Db, state: IndexState, codename: string): Promise<boolean> {
  const [stream] = state.streams.values()
  const sums = { n: 0n, ids: 0n, positions: 0n, weights: 0n }
  for (const { keys } of stream?.blocks ?? []) {
    for (const { id, position, weight } of keys) {
      sums.n++
      sums.ids += BigInt(id)
      sums.positions += BigInt(position)
      sums.weights += BigInt(weight)
    }
  }
  const offered = await db
    .selectFrom('packages')
    .select([
      sql<string>`count(*)::text`.as('n'),
      sql<string>`coalesce(sum(id), 0)::text`.as('ids'),
      sql<string>`coalesce(sum(position), 0)::text`.as('positions'),
      sql<string>`coalesce(sum(('x' || left(sha256, 8))::bit(32)::bigint), 0)::text`.as('weights'),
    ])
    .where('distribution', '=', codename)
    .where('served', '=', true)
    .executeTakeFirstOrThrow()
  return (Object.keys(sums) as (keyof typeof sums)[]).every((key) => String(sums[key]) === offered[key])
}
