// Arrivals on disk, and whose they are: what a dead process left behind is found by its instance row.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureDirectory } from '../kernel/files.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from './db.ts'
import type { Paths } from './paths.ts'
import type { FormatId } from '../domain/package.ts'
import type { FileId, Pool } from './pool.ts'

/** A process that has not been heard of for so long is dead. */
const DEAD_AFTER_MS = 60_000
export const HEARTBEAT_MS = 10_000

export interface Staging {
  instanceId: string
  /** a new name for an arrival of this process */
  newPath(): string
  /** Marks an arrival with what it became, so that after a crash its pool file can be told from one in use. */
  identify(path: string, file: FileId): Promise<string>
  register(): Promise<void>
  heartbeat(): Promise<void>
  /** Removes the arrivals of processes that died; none of them was acknowledged. @returns files removed */
  sweep(): Promise<number>
  close(): Promise<void>
}

export function createStaging(parts: { db: Db; clock: Clock; paths: Paths; pool: Pool; exclusive: boolean }): Staging {
  const { db, clock, paths, pool } = parts
  const instanceId = randomUUID()
  const own = join(paths.incoming, instanceId)

  async function isDead(id: string): Promise<boolean> {
    if (id === instanceId) return false
    // The embedded database admits one process: every other one is gone.
    if (parts.exclusive) return true
    const row = await db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) return true
    if (row.host === hostname() && (row.pid === process.pid || !processRuns(row.pid))) return true
    return row.heartbeat_at.getTime() < clock.now().getTime() - DEAD_AFTER_MS
  }

  return {
    instanceId,
    newPath: () => join(own, randomUUID()),
    async identify(path, file) {
      const named = join(own, `${randomUUID()}.${file.format}.${file.sha256}`)
      await rename(path, named)
      return named
    },
    async register() {
      await db.insertInto('instances').values({ id: instanceId, host: hostname(), pid: process.pid, heartbeat_at: clock.now() }).execute()
      await ensureDirectory(own, 0o700)
    },
    async heartbeat() {
      await db.updateTable('instances').set({ heartbeat_at: clock.now() }).where('id', '=', instanceId).execute()
    },
    async sweep() {
      let removed = 0
      for (const name of await readdir(paths.incoming)) {
        if (!(await isDead(name))) continue
        for (const arrival of await readdir(join(paths.incoming, name)).catch(() => [] as string[])) {
          removed++
          const [, format, sha256] = arrival.split('.')
          if (!format || !sha256) continue
          const used = await db.selectFrom('packages').select('id').where('sha256', '=', sha256).limit(1).executeTakeFirst()
          if (!used) await pool.forgetAll(format as FormatId, sha256)
        }
        await rm(join(paths.incoming, name), { recursive: true, force: true })
        await db.deleteFrom('instances').where('id', '=', name).execute()
      }
      return removed
    },
    async close() {
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
