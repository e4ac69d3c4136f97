// Rebuilds the tables from the manifests, after a lost database. Harmless on a complete one.
import { sql } from 'kysely'
import { Problem } from '../../domain/problem.ts'
import type { TaskKind, TaskProgress } from '../../domain/tasks.ts'
import type { Checkpoint } from '../../kernel/checkpoint.ts'
import type { Db } from '../../store/db.ts'
import type { Manifest } from './manifest.ts'
import type { Manifests } from './manifests.ts'
import type { Pool } from '../../store/files/pool.ts'
import { restoreRepository } from './places.ts'
import { restoreRecord } from './restore-record.ts'
import type { Placed } from '../../formats/intake-format.ts'

export interface ReindexResult {
  packages_indexed: number
  /** records without a manifest, and manifests that cannot be read or belong to no distribution */
  orphans: number
  /** records whose bytes are neither in the pool nor in quarantine */
  missing_files: number
}

export interface ReindexDeps {
  db: Db
  manifests: Manifests
  pool: Pool
  publisher: { rebuild(codename: string): Promise<void>; recover(): Promise<string[]> }
  checkpoint: Checkpoint
  find(codename: string): Placed | null
}

/** The place of a manifest: manifests are read in the order of first publication. */
interface ManifestPosition {
  place: number
  key: string
}

interface Cursor extends ReindexResult {
  /** the last manifest that was read; null before the first */
  after: ManifestPosition | null
  with_manifest: number
  /** distributions with restored records, still to be published */
  restored: string[]
}

export const SYNC_INDEX = 'sync_index'
/** Manifests between two saves of the cursor: after a crash, those since the last save are read again. */
const SAVE_EVERY = 200
/** Manifests between two log lines. */
const LINE_EVERY = 500

/** The task of `POST /artifacts/admin/sync-index`. @param ended called when a run ends, because records may have changed */
export function syncIndexKind(deps: ReindexDeps, ended: () => void): TaskKind {
  return {
    kind: SYNC_INDEX,
    lane: 'maintenance',
    leaderOnly: false,
    run: async (context) => ({ ...(await reindex(deps, context).finally(ended)) }),
  }
}

/** @param context its cursor continues an interrupted run */
export async function reindex(deps: ReindexDeps, context: TaskProgress): Promise<ReindexResult> {
  const { db, manifests, pool, publisher } = deps
  const { signal } = context
  const cursor: Cursor = (context.cursor as Cursor | null) ?? {
    ...{ packages_indexed: 0, orphans: 0, missing_files: 0 },
    ...{ after: null, with_manifest: 0, restored: [] },
  }
  const isResumed = context.cursor !== null
  const save = () => context.save({ ...cursor })
  await save()
  // A manifest that is unwritten because of a crash does not make its record an orphan.
  await manifests.catchUp()
  const all = await ordered(manifests, signal)
  const { after } = cursor
  const left = after ? all.filter((one) => inOrder(after, one) < 0) : all
  context.line(`${left.length} manifests to read`)
  // In the order of their first publication, so that the index is the same as before.
  for (const [n, one] of left.entries()) {
    signal.throwIfAborted()
    if (n > 0 && n % SAVE_EVERY === 0) await save()
    if (n > 0 && n % LINE_EVERY === 0) context.line(`${n} of ${left.length} manifests read`)
    await restoreOne(one.key)
    cursor.after = one
  }
  const { n } = await db
    .selectFrom('packages')
    .select(sql<number>`count(*)::int`.as('n'))
    .executeTakeFirstOrThrow()
  const result: ReindexResult = {
    packages_indexed: cursor.packages_indexed,
    orphans: cursor.orphans + Math.max(0, n - cursor.with_manifest),
    missing_files: cursor.missing_files,
  }
  await save()
  while (cursor.restored[0] !== undefined) {
    signal.throwIfAborted()
    await publisher.rebuild(cursor.restored[0])
    context.line(`${cursor.restored.shift()!} is published`)
    await save()
  }
  // The cursor lacks records restored after the last save of an interrupted run, but their distributions are due.
  const failed = isResumed ? await publisher.recover() : []
  if (failed.length > 0) throw new Problem('publication_failed', `could not be published: ${failed.join(', ')}`)
  return result

  async function restoreOne(key: string): Promise<void> {
    const manifest = await manifests.read(key)
    const offered = manifest && deps.find(manifest.record.distribution)
    if (!manifest || !offered) {
      cursor.orphans++
      return
    }
    const { record, blob } = manifest
    if (offered.format.isLibrary) await restoreRepository(db, record.distribution, new Date())
    const file = { format: record.format, sha256: record.sha256, filename: blob.filename }
    if (!(await pool.has(file)) && !(await pool.hasQuarantined(file))) cursor.missing_files++
    // The manifest of a deleted record stays until its pending deletion is done.
    const stands = async (tx: Db) =>
      (await manifests.has(key)) &&
      !(await tx
        .selectFrom('pending_deletions')
        .select('id')
        .where('kind', '=', 'manifest')
        .where('key', '=', key)
        .executeTakeFirst())
    const inserted = await restoreRecord(db, manifest, offered, stands)
    if (inserted) {
      if (!cursor.restored.includes(record.distribution)) cursor.restored.push(record.distribution)
      deps.checkpoint('restored')
    }
    if (inserted || (await isKnown(db, manifest))) {
      cursor.packages_indexed++
      cursor.with_manifest++
    }
  }
}

async function isKnown(db: Db, { record }: Manifest): Promise<boolean> {
  const row = await db
    .selectFrom('packages')
    .select('sha256')
    .where('distribution', '=', record.distribution)
    .where('name', '=', record.name)
    .where('version', '=', record.version)
    .where('arch', '=', record.arch)
    .executeTakeFirst()
  return row?.sha256 === record.sha256
}

/** Only the keys are held: a million manifests are gigabytes. */
async function ordered(manifests: Manifests, signal: AbortSignal): Promise<ManifestPosition[]> {
  const all: ManifestPosition[] = []
  for await (const { key, manifest } of manifests.all()) {
    signal.throwIfAborted()
    all.push({ key, place: manifest?.offer?.from_revision ?? Number.MAX_SAFE_INTEGER })
  }
  return all.sort(inOrder)
}

const inOrder = (a: ManifestPosition, b: ManifestPosition) =>
  a.place - b.place || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
