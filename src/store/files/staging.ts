// Files being uploaded, one directory for each running process. A row in `instances` tells which process is alive.
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ensureDirectory, removeFile } from '../../kernel/files.ts'
import { renameName } from '../../kernel/names.ts'
import { processSpace } from '../../kernel/process-space.ts'
import type { Clock } from '../../kernel/clock.ts'
import { placeBytes } from './placement.ts'
import type { Db } from '../db.ts'
import type { Paths } from '../paths.ts'
import type { FileId, Pool } from './pool.ts'

/** A process without a heartbeat for this long is dead. */
const DEAD_AFTER_MS = 60_000
export const HEARTBEAT_MS = 10_000

export interface Staging {
  instanceId: string
  /** a new path for an upload to this process */
  newPath(): string
  /** Renames an upload after its stored file, so that a crash does not prevent the removal of an unused stored file. */
  identify(path: string, file: FileId): Promise<string>
  /** Removes an identified upload that failed, and its stored file unless a record refers to it. Retried at each heartbeat. */
  discard(path: string): Promise<void>
  register(): Promise<void>
  /** Renews the row of this process and retries removals that failed while the database was unreachable. */
  heartbeat(): Promise<void>
  /** Whether the process of that instance has ended. */
  isDead(id: string): Promise<boolean>
  /** Removes the uploads of dead processes; none of them was acknowledged. @returns number of files removed */
  sweep(): Promise<number>
  close(): Promise<void>
}

export function createStaging(deps: { db: Db; clock: Clock; paths: Paths; pool: Pool; exclusive: boolean }): Staging {
  const { db, clock, paths, pool } = deps
  const instanceId = randomUUID()
  const own = join(paths.incoming, instanceId)
  const host = processSpace()
  const undiscarded = new Set<string>()

  async function register(): Promise<void> {
    const row = { id: instanceId, host, pid: process.pid, heartbeat_at: clock.now() }
    await db
      .insertInto('instances')
      .values(row)
      .onConflict((c) => c.column('id').doUpdateSet({ heartbeat_at: row.heartbeat_at }))
      .execute()
    await ensureDirectory(own, 0o700)
  }

  async function isDead(id: string): Promise<boolean> {
    if (id === instanceId) return false
    // The embedded database admits one process, so all others have ended.
    if (deps.exclusive) return true
    const row = await db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) return true
    if (row.host === host && (row.pid === process.pid || !processRuns(row.pid))) return true
    return row.heartbeat_at.getTime() < clock.now().getTime() - DEAD_AFTER_MS
  }

  async function drop(path: string): Promise<void> {
    const [, format, sha256] = basename(path).split('.')
    if (format && sha256 && !(await placeBytes(db, pool, sha256, format)))
      await db.insertInto('pending_deletions').values({ kind: 'file', key: sha256 }).execute()
    await removeFile(path)
  }

  async function discard(path: string): Promise<void> {
    undiscarded.add(path)
    // Only the database knows whether the bytes are in use: after a failure the next heartbeat tries again.
    await drop(path).then(
      () => undiscarded.delete(path),
      () => {},
    )
  }

  return {
    instanceId,
    newPath: () => join(own, randomUUID()),
    async identify(path, file) {
      const named = join(own, `${randomUUID()}.${file.format}.${file.sha256}`)
      await renameName(path, named)
      return named
    },
    discard,
    register,
    async heartbeat() {
      // Another process may have deleted the row while the database was unreachable.
      await register()
      for (const path of [...undiscarded]) await discard(path)
    },
    isDead,
    async sweep() {
      let removed = 0
      const names = await readdir(paths.incoming)
      for (const name of names) {
        if (!(await isDead(name))) continue
        for (const arrival of await readdir(join(paths.incoming, name)).catch(() => [] as string[])) {
          await drop(join(paths.incoming, name, arrival))
          removed++
        }
        await rm(join(paths.incoming, name), { recursive: true, force: true })
        await db.deleteFrom('instances').where('id', '=', name).execute()
      }
      // Processes that died before they created a directory.
      const known = await db.selectFrom('instances').select('id').execute()
      for (const { id } of known) {
        if (!names.includes(id) && (await isDead(id))) await db.deleteFrom('instances').where('id', '=', id).execute()
      }
      return removed
    },
    async close() {
      for (const path of [...undiscarded]) await discard(path)
      // The next sweep of any process removes the rest.
      if (undiscarded.size > 0) return
      await rm(own, { recursive: true, force: true })
      await db.deleteFrom('instances').where('id', '=', instanceId).execute()
    },
  }
}

function processRuns(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
