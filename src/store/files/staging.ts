// Arrivals on disk, and whose they are: what a dead process left behind is found by its instance row.
import { randomUUID } from 'node:crypto'
import { readlinkSync, renameSync } from 'node:fs'
import { hostname } from 'node:os'
import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ensureDirectory, removeFile } from '../../kernel/files.ts'
import type { Clock } from '../../kernel/clock.ts'
import { placeBytes } from './placement.ts'
import type { Db } from '../db.ts'
import type { Paths } from '../paths.ts'
import type { FormatId } from '../../domain/package.ts'
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
  /** Removes an identified arrival that failed, and its pool file unless a record refers to it; later, if it must be. */
  discard(path: string): Promise<void>
  register(): Promise<void>
  /** Says that this process lives, and takes up again what it could not do while the database was away. */
  heartbeat(): Promise<void>
  /** Whether the process of that instance is gone. */
  isDead(id: string): Promise<boolean>
  /** Removes the arrivals of processes that died; none of them was acknowledged. @returns files removed */
  sweep(): Promise<number>
  close(): Promise<void>
}

export function createStaging(parts: { db: Db; clock: Clock; paths: Paths; pool: Pool; exclusive: boolean }): Staging {
  const { db, clock, paths, pool } = parts
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
    // The embedded database admits one process: every other one is gone.
    if (parts.exclusive) return true
    const row = await db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) return true
    if (row.host === host && (row.pid === process.pid || !processRuns(row.pid))) return true
    return row.heartbeat_at.getTime() < clock.now().getTime() - DEAD_AFTER_MS
  }

  async function drop(path: string): Promise<void> {
    const [, format, sha256] = basename(path).split('.')
    if (format && sha256 && !(await placeBytes(db, pool, sha256, format as FormatId)))
      await db.insertInto('pending_deletions').values({ kind: 'file', key: sha256 }).execute()
    removeFile(path)
  }

  async function discard(path: string): Promise<void> {
    undiscarded.add(path)
    // Without the database nobody can say whether the bytes are in use: the next heartbeat tries again.
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
      renameSync(path, named)
      return named
    },
    discard,
    register,
    async heartbeat() {
      // Another process may have taken this one for dead while the database was away.
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
      // Processes that died before they had a directory.
      const known = await db.selectFrom('instances').select('id').execute()
      for (const { id } of known) {
        if (!names.includes(id) && (await isDead(id))) await db.deleteFrom('instances').where('id', '=', id).execute()
      }
      return removed
    },
    async close() {
      for (const path of [...undiscarded]) await discard(path)
      // What could not be discarded stays for whoever sweeps next.
      if (undiscarded.size > 0) return
      await rm(own, { recursive: true, force: true })
      await db.deleteFrom('instances').where('id', '=', instanceId).execute()
    },
  }
}

/** Where process numbers have one meaning: containers that share a host's name do not share its numbers. */
function processSpace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
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
