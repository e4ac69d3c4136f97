// Removes old days of the audit log: files and rows. A signed note replaces them, so that the rest can still be verified.
//
// Order: the database stores what will be removed, then the note is written, then files and rows are deleted. After a crash at
// any line the next run continues: it removes what a note covers, and nothing else.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { fsyncPath, removeFile, replaceFile } from '../kernel/files.ts'
import { checkLine, DAY_FILE, GENESIS } from './chain.ts'
import { CHECKPOINT_FILE, type AuditCheckpoints } from './checkpoints.ts'
import { examineDayFile } from './file.ts'
import { linesOf } from './lines.ts'
import type { AuditLog } from './log.ts'
import { readRemovalNote, REMOVAL_NOTE, signedRemoval, type RemovalNote } from './removal-note.ts'
import { verifyDirectory } from './verify.ts'
import type { Db } from '../store/db.ts'

/** Rows deleted in one statement: 30 ms. */
const BATCH = 1000

export interface AuditRemoval {
  /** Counts what `removeBefore` would remove. @param day `YYYY-MM-DD`, the first to keep */
  count(day: string): Promise<{ entries: number; files: number }>
  /**
   * Removes the days before this one, except entries that a channel has still to send, and the last day with entries.
   * A beginning of the log that was tampered with is kept, and an INTEGRITY_ALERT recorded.
   * @param day `YYYY-MM-DD`, the first to keep
   */
  removeBefore(day: string, signal: AbortSignal): Promise<Removed>
}

export interface Removed {
  entries: number
  files: number
  /** why nothing more was removed; null when all old days were removed */
  refused: string | null
}

export interface AuditRemovalDeps {
  db: Db
  clock: Clock
  directory: string
  audit: Pick<AuditLog, 'record'>
  checkpoints: Pick<AuditCheckpoints, 'write'>
  /** as `openAuditKey` returns it */
  key: string
  /** makes a binary OpenPGP signature */
  sign(content: Uint8Array, at: Date): Promise<Uint8Array>
  isSigned(text: string, signature: Uint8Array): Promise<boolean>
}

export function createAuditRemoval(deps: AuditRemovalDeps): AuditRemoval {
  const { db, clock, directory, isSigned } = deps

  /** The first day that stays. */
  async function boundOf(wanted: string): Promise<string> {
    const { rows } = await sql<{ bound: string | null }>`select least(${wanted}::text,
      (select nullif(day, '') from audit_chain),
      (select day from audit where seq > (select min(seq) from notify_cursor) order by seq limit 1),
      (select min(day) from audit where not filed and seq is not null)) as bound`.execute(db)
    return rows[0]?.bound ?? wanted
  }

  /** Days before this one that have entries, in order. */
  async function daysBefore(bound: string): Promise<string[]> {
    const { rows } = await sql<{ day: string }>`select distinct day from audit where day < ${bound}`.execute(db)
    const filed = (await readdir(directory)).map((name) => DAY_FILE.exec(name)?.[1])
    const days = new Set([...rows.map(({ day }) => day), ...filed.filter((day) => day !== undefined && day < bound)])
    return [...days].sort() as string[]
  }

  async function alert(outcome: string, detail: string): Promise<void> {
    await deps.audit.record({
      action: 'INTEGRITY_ALERT',
      result: 'FAILURE',
      user: 'system',
      outcome,
      detail,
    })
  }

  /** Writes changed files again from the rows, as filing does, so that the note is signed for what was recorded. */
  async function restoreFiles(days: readonly string[], signal: AbortSignal): Promise<void> {
    for (const day of days) {
      signal.throwIfAborted()
      if (!(await db.selectFrom('audit').select('id').where('day', '=', day).limit(1).executeTakeFirst())) continue
      const { repaired } = await examineDayFile(db, join(directory, `${day}.jsonl`), day, clock.now())
      if (!repaired) continue
      const kept = repaired.aside ? `; the changed file is kept as ${repaired.aside}` : ''
      await alert(
        'audit_file_changed',
        `audit/${day}.jsonl was changed by somebody else: ${repaired.fault}; it was written again from the database${kept}`,
      )
    }
  }

  /** @returns the unsigned note for the days up to this one, or what is wrong with these days */
  async function noteFor(day: string, before: RemovalNote | null): Promise<RemovalNote | string> {
    const chain = await db.selectFrom('audit_chain').select('removed_seq').executeTakeFirstOrThrow()
    const options = { key: deps.key, isSigned, through: day, removedSeq: chain.removed_seq }
    const { faults, head, lastCheckpoint } = await verifyDirectory(directory, options)
    const [fault] = faults
    if (fault) return `${fault.where} ${fault.what}`
    if (!head) return `there are no entries up to ${day}`
    const next = await nextEntry(day)
    if (next?.prev_hash !== head.hash) return `the entry after ${head.seq} does not follow it`
    const row = await db
      .selectFrom('audit')
      .select('prev_hash')
      .where('seq', '=', head.seq + 1)
      .executeTakeFirst()
    if (row && row.prev_hash !== head.hash) return `entry ${head.seq} is not the one that the database names`
    const previous = lastCheckpoint ?? before?.previous ?? GENESIS
    return { at: isoTime(clock.now()), day, ...head, previous, signature: '' }
  }

  /** The first entry in the files after a day. */
  async function nextEntry(day: string) {
    const days = (await readdir(directory)).flatMap((name) => DAY_FILE.exec(name)?.[1] ?? []).sort()
    const next = days.find((one) => one > day)
    if (next === undefined) return null
    for await (const { bytes } of linesOf(join(directory, `${next}.jsonl`))) return checkLine(bytes).entry
    return null
  }

  async function writeNote(note: RemovalNote): Promise<void> {
    const { seq: removed_seq, day: removed_day } = note
    await db.updateTable('audit_chain').set({ removed_seq, removed_day }).execute()
    const signature = await deps.sign(Buffer.from(signedRemoval(note)), clock.now())
    const signed = { ...note, signature: Buffer.from(signature).toString('base64') }
    await replaceFile(join(directory, REMOVAL_NOTE), `${JSON.stringify(signed)}\n`, 0o600)
  }

  /** Removes what the note covers, if it is older than the bound. */
  async function remove({ day, seq }: RemovalNote, bound: string, signal: AbortSignal) {
    const isCovered = (name: string) => {
      const of = (DAY_FILE.exec(name) ?? CHECKPOINT_FILE.exec(name))?.[1]
      return of !== undefined && of <= day && of < bound
    }
    const names = (await readdir(directory)).filter(isCovered)
    for (const name of names) await removeFile(join(directory, name))
    if (names.length > 0) await fsyncPath(directory)
    let entries = 0
    for (let n = BATCH; n === BATCH; entries += n) {
      signal.throwIfAborted()
      const { numAffectedRows } = await sql`delete from audit where id in (
        select id from audit where seq <= ${seq} and day <= ${day} and day < ${bound} order by seq limit ${BATCH})`.execute(
        db,
      )
      n = Number(numAffectedRows ?? 0)
    }
    return { entries, files: names.length }
  }

  const refuse = async (detail: string): Promise<Removed> => {
    await alert('audit_log_changed', `old days of the audit log are kept, because they were changed: ${detail}`)
    return { entries: 0, files: 0, refused: detail }
  }

  return {
    async count(wanted) {
      const bound = await boundOf(wanted)
      const { rows } = await sql<{
        n: number
      }>`select count(*)::int as n from audit where day < ${bound}`.execute(db)
      const names = await readdir(directory)
      const files = names.filter((name) => {
        const day = (DAY_FILE.exec(name) ?? CHECKPOINT_FILE.exec(name))?.[1]
        return day !== undefined && day < bound
      })
      return { entries: rows[0]?.n ?? 0, files: files.length }
    },
    async removeBefore(wanted, signal) {
      await deps.checkpoints.write()
      const bound = await boundOf(wanted)
      const before = await readRemovalNote(directory, isSigned)
      if (before === 'forged') return refuse(`audit/${REMOVAL_NOTE} was altered: its signature does not fit`)
      const days = (await daysBefore(bound)).filter((day) => before === null || day > before.day)
      const last = days.at(-1)
      let note = before
      if (last !== undefined) {
        await restoreFiles(days, signal)
        const next = await noteFor(last, before)
        if (typeof next === 'string') return refuse(next)
        if (await isHeld(db)) return { entries: 0, files: 0, refused: 'a backup is reading the files' }
        await writeNote(next)
        note = next
      }
      return note ? { ...(await remove(note, bound, signal)), refused: null } : { entries: 0, files: 0, refused: null }
    },
  }
}

/** A running backup needs the files as they were at its dump. */
async function isHeld(db: Db): Promise<boolean> {
  const { rows } = await sql`select id from removal_holds where until > now() limit 1`.execute(db)
  return rows.length > 0
}
