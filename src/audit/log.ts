// The audit log: rows in the database, chained by hash, exported as one JSON-lines file a day.
import { sql } from 'kysely'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditEvent } from '../domain/audit.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import { ensureDirectory, ifMissing } from '../kernel/files.ts'
import { createShared } from '../kernel/shared.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { chainHash, checkLine, DAY_FILE, entryMac, entryOf, GENESIS, lineOf } from './chain.ts'
import { examineDayFile } from './file.ts'
import { linesOf } from './lines.ts'
import { noteOf, REMOVAL_NOTE } from './removal-note.ts'

export interface AuditLog {
  /** Records one or several events; inside a transaction they are recorded if and only if it commits. */
  record(event: AuditEvent | readonly AuditEvent[], within?: Db): Promise<void>
  /** Chains recorded events and writes them to the day's file; concurrent callers share one run. */
  flush(): Promise<void>
}

/** Entries chained, or filed, at a time. */
const BATCH = 1000

/**
 * @param deps.directory `audit/` below REPOS_DIR
 * @param deps.key as `openAuditKey` returns it
 * @param deps.mayFile whether this process is the one that writes the files (the leader)
 */
export function createAuditLog(deps: {
  db: Db
  clock: Clock
  directory: string
  key: string
  checkpoint: Checkpoint
  mayFile: () => boolean
  onError: (error: unknown) => void
}): AuditLog {
  const { db, clock, directory, key, checkpoint } = deps
  /** The files as this process left them; if a size differs, somebody else wrote to the file. */
  const left = new Map<string, { size: number; lastSeq: number }>()

  async function begin(): Promise<void> {
    if (await db.selectFrom('audit_chain').select('id').executeTakeFirst()) return
    const end = await endOnDisk(directory)
    const start = { id: 1, ...end, day: '', began_seq: end.seq }
    await db
      .insertInto('audit_chain')
      .values(start)
      .onConflict((c) => c.doNothing())
      .execute()
  }

  /** @returns how many entries were chained */
  async function chain(): Promise<number> {
    return transaction(db, async (tx) => {
      const head = await tx
        .selectFrom('audit_chain')
        .selectAll()
        .where('id', '=', 1)
        .forUpdate()
        .executeTakeFirstOrThrow()
      const rows = await tx
        .selectFrom('audit')
        .selectAll()
        .where('seq', 'is', null)
        .orderBy('id')
        .limit(BATCH)
        .execute()
      if (rows.length === 0) return 0
      const chained: { id: number; seq: number; prev_hash: string; hash: string; mac: string; day: string }[] = []
      let { seq, hash, day } = head
      for (const row of rows) {
        const today = row.at.toISOString().slice(0, 10)
        if (today > day) day = today
        const prev_hash = hash
        hash = chainHash({ ...entryOf(row), prev_hash })
        seq++
        chained.push({ id: row.id, seq, prev_hash, hash, mac: entryMac(key, seq, hash), day })
      }
      await sql`update audit set seq = c.seq, prev_hash = c.prev_hash, hash = c.hash, mac = c.mac, day = c.day
        from unnest(${chained.map((c) => c.id)}::bigint[], ${chained.map((c) => c.seq)}::bigint[],
          ${chained.map((c) => c.prev_hash)}::text[], ${chained.map((c) => c.hash)}::text[],
          ${chained.map((c) => c.mac)}::text[], ${chained.map((c) => c.day)}::text[])
          as c (id, seq, prev_hash, hash, mac, day) where audit.id = c.id`.execute(tx)
      await tx.updateTable('audit_chain').set({ seq, hash, day }).where('id', '=', 1).execute()
      return rows.length
    })
  }

  /** @returns how many entries were filed */
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
      const lastSeq = await examined(path, day)
      const fresh = rows.filter((row) => row.day === day && (row.seq as number) > lastSeq)
      if (fresh.length === 0) continue
      const handle = await open(path, 'a', 0o600)
      try {
        await handle.writeFile(fresh.map(lineOf).join(''))
        await handle.sync()
        left.set(path, { size: (await handle.stat()).size, lastSeq: fresh.at(-1)?.seq ?? lastSeq })
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

  /** @returns the last entry in the day's file; a changed file is restored first */
  async function examined(path: string, day: string): Promise<number> {
    const known = left.get(path)
    if (known && known.size === (await sizeOf(path))) return known.lastSeq
    const { lastSeq, repaired } = await examineDayFile(db, path, day, clock.now())
    left.set(path, { size: await sizeOf(path), lastSeq })
    if (repaired) {
      const kept = repaired.aside ? `; the changed file is kept as ${repaired.aside}` : ''
      await insert(db, {
        action: 'INTEGRITY_ALERT',
        result: 'FAILURE',
        user: 'system',
        outcome: 'audit_file_changed',
        detail: `audit/${day}.jsonl was changed by somebody else: ${repaired.fault}; it was written again from the database${kept}`,
      })
    }
    return lastSeq
  }

  async function insert(within: Db, events: AuditEvent | readonly AuditEvent[]): Promise<void> {
    const at = clock.now()
    await within
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
  }

  const flush = createShared(async () => {
    await begin()
    while ((await chain()) === BATCH);
    if (!deps.mayFile()) return
    await ensureDirectory(directory, 0o700)
    try {
      // Alerts that filing causes are filed as well.
      do while ((await file()) === BATCH);
      while ((await chain()) > 0)
    } catch (error) {
      // Part of a line may have reached the file: the next attempt examines the file.
      left.clear()
      throw error
    }
  })

  return {
    async record(events, within) {
      await insert(within ?? db, events)
      if (!within) void flush().catch(deps.onError)
    },
    flush,
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(ifMissing(null)))?.size ?? 0
}

/** Where the chain of an empty database continues: after the last valid entry of the existing files. */
async function endOnDisk(directory: string): Promise<ChainStart> {
  const names = await readdir(directory).catch(() => [] as string[])
  const note = noteOf(await readFile(join(directory, REMOVAL_NOTE), 'utf8').catch(() => ''))
  const { seq: removed_seq, day: removed_day, hash } = note ?? { seq: 0, day: null, hash: GENESIS }
  const end = { seq: removed_seq, hash, removed_seq, removed_day }
  const isKept = (day: string | undefined) => day !== undefined && day > (removed_day ?? '')
  for (const name of names.filter((name) => isKept(DAY_FILE.exec(name)?.[1])).sort()) {
    for await (const line of linesOf(join(directory, name))) {
      const { entry } = checkLine(line.bytes)
      if (!entry) continue
      end.seq = entry.seq ?? end.seq + 1
      end.hash = entry.hash
    }
  }
  return end
}

interface ChainStart {
  seq: number
  hash: string
  removed_seq: number
  removed_day: string | null
}
