// The audit log: rows in the database, chained by hash, exported as one JSON-lines file a day.
import { sql } from 'kysely'
import { open, readdir, readFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditEvent } from '../domain/audit.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import { ensureDirectory, fsyncPath, isMissing } from '../kernel/files.ts'
import { createShared } from '../kernel/shared.ts'
import type { Db } from './db.ts'
import { chainHash, entryOf, GENESIS } from './audit-chain.ts'

export interface AuditLog {
  /** Records an event, or several; inside a transaction they are recorded exactly when the transaction commits. */
  record(event: AuditEvent | readonly AuditEvent[], within?: Db): Promise<void>
  /** Chains what was recorded and writes it to the day's file; callers that arrive together share one run. */
  flush(): Promise<void>
}

const BATCH = 1000

/**
 * @param directory `audit/` below REPOS_DIR
 * @param mayFile whether this process is the one that writes the files (the leader)
 */
export function createAuditLog(parts: {
  db: Db
  clock: Clock
  directory: string
  checkpoint: Checkpoint
  mayFile: () => boolean
  onError: (error: unknown) => void
}): AuditLog {
  const { db, clock, directory, checkpoint } = parts
  /** sizes of the files as this process left them: one that differs was written to by another */
  const examined = new Map<string, number>()

  async function chain(): Promise<number> {
    return db.transaction().execute(async (tx) => {
      const head = await tx.selectFrom('audit_chain').selectAll().where('id', '=', 1).forUpdate().executeTakeFirst()
      if (!head) {
        const start = { id: 1, seq: 0, hash: await lastHashOnDisk(directory), day: '' }
        await tx
          .insertInto('audit_chain')
          .values(start)
          .onConflict((c) => c.doNothing())
          .execute()
        return BATCH
      }
      const rows = await tx
        .selectFrom('audit')
        .selectAll()
        .where('seq', 'is', null)
        .orderBy('id')
        .limit(BATCH)
        .execute()
      if (rows.length === 0) return 0
      const chained: { id: number; seq: number; prev_hash: string; hash: string; day: string }[] = []
      let { seq, hash, day } = head
      for (const row of rows) {
        const today = row.at.toISOString().slice(0, 10)
        if (today > day) day = today
        const prev_hash = hash
        hash = chainHash({ ...entryOf(row), prev_hash, hash: null })
        chained.push({ id: row.id, seq: ++seq, prev_hash, hash, day })
      }
      await sql`update audit set seq = c.seq, prev_hash = c.prev_hash, hash = c.hash, day = c.day
        from unnest(${chained.map((c) => c.id)}::bigint[], ${chained.map((c) => c.seq)}::bigint[],
          ${chained.map((c) => c.prev_hash)}::text[], ${chained.map((c) => c.hash)}::text[], ${chained.map((c) => c.day)}::text[])
          as c (id, seq, prev_hash, hash, day) where audit.id = c.id`.execute(tx)
      await tx.updateTable('audit_chain').set({ seq, hash, day }).where('id', '=', 1).execute()
      return rows.length
    })
  }

  async function file(): Promise<number> {
    const rows = await db
      .selectFrom('audit')
      .selectAll()
      .where('filed', '=', false)
      .where('seq', 'is not', null)
      .orderBy('seq')
      .limit(BATCH)
      .execute()
    for (const day of new Set(rows.map((row) => row.day as string))) {
      const path = join(directory, `${day}.jsonl`)
      const known = await hashesAtEnd(path, examined)
      const fresh = rows.filter((row) => row.day === day && !known.has(row.hash as string))
      if (fresh.length === 0) continue
      const handle = await open(path, 'a', 0o640)
      try {
        await handle.writeFile(fresh.map((row) => JSON.stringify(entryOf(row)) + '\n').join(''))
        await handle.sync()
        examined.set(path, (await handle.stat()).size)
      } finally {
        await handle.close()
      }
      checkpoint('audit-appended')
    }
    if (rows.length > 0) {
      await sql`update audit set filed = true where id = any(${rows.map((row) => row.id)}::bigint[])`.execute(db)
    }
    return rows.length
  }

  const flush = createShared(async () => {
    while ((await chain()) === BATCH);
    if (!parts.mayFile()) return
    await ensureDirectory(directory, 0o750)
    try {
      while ((await file()) === BATCH);
    } catch (error) {
      // What part of a line reached the file is found out before the next attempt.
      examined.clear()
      throw error
    }
  })

  return {
    async record(events, within) {
      const at = clock.now()
      await (within ?? db)
        .insertInto('audit')
        .values(
          [events].flat().map((event) => ({
            at,
            action: event.action,
            result: event.result,
            username: event.user,
            package: event.package ?? null,
            version: event.version ?? null,
            distribution: event.distribution ?? null,
            arch: event.arch ?? null,
            detail: event.detail ?? null,
            outcome: event.outcome ?? null,
            ip: event.ip ?? null,
            request_id: event.requestId ?? null,
            extra: JSON.stringify(event.extra ?? {}),
          })),
        )
        .execute()
      if (!within) void flush().catch(parts.onError)
    },
    flush,
  }
}

/**
 * After a crash, of this process or of a leader before it, a file may hold entries not yet marked as filed, or half a
 * line: the half is cut, the hashes returned.
 */
async function hashesAtEnd(path: string, examined: Map<string, number>): Promise<Set<string>> {
  const size = await stat(path).then(
    (info) => info.size,
    () => 0,
  )
  if (examined.get(path) === size) return new Set()
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (error) {
    if (!isMissing(error)) throw error
    return new Set()
  }
  const end = content.lastIndexOf(0x0a) + 1
  if (end !== content.length) {
    await truncate(path, end)
    await fsyncPath(path)
  }
  examined.set(path, end)
  const lines = content.toString('utf8', 0, end).split('\n').filter(Boolean).slice(-BATCH)
  return new Set(lines.map((line) => (JSON.parse(line) as { hash: string }).hash))
}

/** With an empty database beside existing files, the chain goes on where the files end. */
async function lastHashOnDisk(directory: string): Promise<string> {
  const days = (await readdir(directory).catch(() => [] as string[]))
    .filter((name) => /^\d{4}-\d\d-\d\d\.jsonl$/.test(name))
    .sort()
  for (const day of days.reverse()) {
    // A crash may have left half a line after the last whole one.
    const lines = (await readFile(join(directory, day), 'utf8')).split('\n').slice(0, -1).filter(Boolean)
    const line = lines.at(-1)
    if (line) return (JSON.parse(line) as { hash: string }).hash
  }
  return GENESIS
}
