// Executes pending deletions: removes manifests of deleted records, and removes or moves stored files.
import { sql } from 'kysely'
import type { Checkpoint } from '../../kernel/checkpoint.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createShared } from '../../kernel/shared.ts'
import type { Db } from '../../store/db.ts'
import { deleteTombstones, placeBytes } from '../../store/files/placement.ts'
import type { Pool } from '../../store/files/pool.ts'
import type { Manifests } from './manifests.ts'
import type { PendingDeletionsTable } from '../../store/tables.ts'

const BATCH = 200
/** Delay after the first failure; doubled with each further one. */
const RETRY_SECONDS = 30
const LONGEST_RETRY_SECONDS = 3600
/** Writing a manifest takes milliseconds: older unfinished ones belong to a process that died. */
const UNFINISHED_MS = 15 * 60_000
/** Delay when another process is removing the same file. */
const BUSY_SECONDS = 1

export interface PendingDeletions {
  /** Executes those that are due. A failure is reported and tried again later; it does not affect the others. */
  run(): Promise<void>
  /** Hourly: deletes rows of files that were removed long ago, and manifests that a crash left unfinished. */
  sweep(): Promise<void>
}

export function createPendingDeletions(deps: {
  db: Db
  clock: Clock
  pool: Pool
  manifests: Manifests
  checkpoint: Checkpoint
  onError(error: unknown): void
}): PendingDeletions {
  const { db, pool, manifests, checkpoint } = deps

  async function run(): Promise<void> {
    for (;;) {
      const rows = await db
        .selectFrom('pending_deletions')
        .selectAll()
        .where('due_at', '<=', sql<Date>`now()`)
        .orderBy('due_at')
        .orderBy('id')
        .limit(BATCH)
        .execute()
      for (const row of rows) await attempt(row)
      if (rows.length < BATCH) return
    }
  }

  async function attempt(
    row: Pick<PendingDeletionsTable, 'kind' | 'key'> & { id: number; attempts: number },
  ): Promise<void> {
    const isDone = await carryOut(row).catch((error: unknown) => {
      deps.onError(new Error(`the deletion of ${row.kind} ${row.key} failed`, { cause: error }))
      return null
    })
    if (isDone) {
      await db.deleteFrom('pending_deletions').where('id', '=', row.id).execute()
      return
    }
    const failed = isDone === null
    const seconds = failed ? Math.min(RETRY_SECONDS * 2 ** row.attempts, LONGEST_RETRY_SECONDS) : BUSY_SECONDS
    await db
      .updateTable('pending_deletions')
      .set({
        attempts: row.attempts + Number(failed),
        due_at: sql<Date>`now() + ${seconds}::float8 * interval '1 second'`,
      })
      .where('id', '=', row.id)
      .execute()
  }

  /** @returns false when the deletion has to wait for another process */
  async function carryOut({ kind, key }: Pick<PendingDeletionsTable, 'kind' | 'key'>): Promise<boolean> {
    if (kind === 'manifest') {
      await removeManifest(key)
      return true
    }
    const isPlaced = await placeBytes(db, pool, key)
    checkpoint('placed')
    return isPlaced
  }

  /** The same name may have been uploaded again since: its manifest is then written again. */
  async function removeManifest(key: string): Promise<void> {
    await manifests.remove(key)
    checkpoint('manifest-removed')
    const [distribution = ''] = key.split('/')
    const names = manifests.namesIn(key)
    if (names.length === 0) return
    const candidates = await db
      .selectFrom('packages')
      .select(['id', 'distribution', 'name', 'version', 'arch'])
      .where('distribution', '=', distribution)
      .where('name', 'in', names)
      .execute()
    const ids = candidates.filter((row) => manifests.key(row) === key).map((row) => row.id)
    if (ids.length > 0) await manifests.write(ids)
  }

  return {
    run: createShared(run),
    async sweep() {
      await deleteTombstones(db)
      await manifests.removeUnfinished(new Date(deps.clock.now().getTime() - UNFINISHED_MS))
    },
  }
}
