// Arrivals on disk, and whose they are: what a dead process left behind is found by its instance row.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureDirectory } from '../kernel/files.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from './db.ts'
import type { Paths } from './paths.ts'

/** A process that has not been heard of for so long is dead. */
const DEAD_AFTER_MS = 60_000
export const HEARTBEAT_MS = 10_000

export interface Staging {
  instanceId: string
  /** a new name for an arrival of this process */
  newPath(): string
  register(): Promise<void>
  heartbeat(): Promise<void>
  /** Removes the arrivals of processes that died; none of them was acknowledged. @returns files removed */
  sweep(): Promise<number>
  close(): Promise<void>
}

export function createStaging(parts: { db: Db; clock: Clock; paths: Paths; exclusive: boolean }): Staging {
  const { db, clock, paths } = parts
  const instanceId = randomUUID()
  const own = join(paths.incoming, instanceId)

  async function isDead(id: string): Promise<boolean> {
    if (id === instanceId) return false
    // The embedded database admits one process: every other one is gone.
    if (parts.exclusive) return true
    const row = await db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) return true
    if (row.host === hostname() && !processRuns(row.pid)) return true
    return row.heartbeat_at.getTime() < clock.now().getTime() - DEAD_AFTER_MS
  }

  return {
    instanceId,
    newPath: () => join(own, randomUUID()),
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
        removed += (await readdir(join(paths.incoming, name)).catch(() => [])).length
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
