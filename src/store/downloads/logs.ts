// How far each access log was read, and which kind of log counts at what time.
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { transaction } from '../transaction.ts'
import type { CountedLogs, DownloadLogKind } from '../tables.ts'

export interface KnownLog {
  id: number
  /** unpacked bytes that were read */
  position: number
}

export interface LogBeginning {
  path: string
  kind: DownloadLogKind
  firstLine: Buffer
  /** the whole lines at its beginning */
  whole: Buffer
}

/**
 * Allows one writer at a time, until the end of the transaction: two processes that read logs can neither deadlock nor add a
 * log twice.
 */
export const lockDownloads = (tx: Db) => sql`select pg_advisory_xact_lock(715015)`.execute(tx)

/** How far the time at which a log was last seen may lag. */
const SEEN_MS = 3_600_000

/**
 * Finds a log by its beginning, or adds it. Two logs with the same first line are distinguished as soon as one of the next
 * lines differs.
 */
export async function knownLog(db: Db, { path, kind, firstLine, whole }: LogBeginning, now: Date): Promise<KnownLog> {
  return transaction(db, async (tx) => {
    await lockDownloads(tx)
    const rows = await tx
      .selectFrom('download_logs')
      .select(['id', 'position', 'head_bytes', 'head_digest', 'path', 'seen_at'])
      .where('first_line', '=', digest(firstLine))
      .where('kind', '=', kind)
      .execute()
    const known = rows
      .filter((row) => row.head_bytes <= whole.length && row.head_digest === digest(whole.subarray(0, row.head_bytes)))
      .sort((a, b) => b.head_bytes - a.head_bytes)[0]
    const head = { head_bytes: whole.length, head_digest: digest(whole), path, seen_at: now }
    if (!known)
      return tx
        .insertInto('download_logs')
        .values({ ...head, first_line: digest(firstLine), kind })
        .returning(['id', 'position'])
        .executeTakeFirstOrThrow()
    const isFresh = now.getTime() - known.seen_at.getTime() < SEEN_MS
    if (known.head_bytes < whole.length || known.path !== path || !isFresh)
      await tx.updateTable('download_logs').set(head).where('id', '=', known.id).execute()
    return { id: known.id, position: known.position }
  })
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

export interface Progress {
  log: KnownLog
  /** the new position */
  end: number
  lines: number
  unreadable: number
  unknown: number
}

/**
 * Runs the work in one transaction with the new position, unless another process has read the same lines meanwhile.
 * @returns whether they were counted
 */
export async function advance(db: Db, progress: Progress, work: (tx: Db) => Promise<void>): Promise<boolean> {
  return transaction(db, async (tx) => {
    await lockDownloads(tx)
    const { log, end, lines, unreadable, unknown } = progress
    const moved = await tx
      .updateTable('download_logs')
      .set((eb) => ({
        position: end,
        lines: eb('lines', '+', lines),
        unreadable: eb('unreadable', '+', unreadable),
        unknown: eb('unknown', '+', unknown),
      }))
      .where('id', '=', log.id)
      .where('position', '=', log.position)
      .returning('id')
      .executeTakeFirst()
    if (moved) await work(tx)
    return moved !== undefined
  })
}

/** Which logs count, each choice from a time on in seconds since 1970, the earliest first. */
export type LogChoices = readonly { since: number; kind: CountedLogs }[]

/** The choices so far. A kind other than the last choice counts from now on. The first choice counts for all time before. */
export async function logChoices(db: Db, kind: CountedLogs, now: Date): Promise<LogChoices> {
  return transaction(db, async (tx) => {
    await lockDownloads(tx)
    const choices = await tx.selectFrom('download_log_choices').selectAll().orderBy('since').execute()
    if (choices.at(-1)?.kind === kind) return choices
    const since = choices.length === 0 ? 0 : Math.max(Math.floor(now.getTime() / 1000), choices.at(-1)!.since + 1)
    await tx.insertInto('download_log_choices').values({ since, kind }).execute()
    return [...choices, { since, kind }]
  })
}

/** Whether a line of this kind of log counts at this second. */
export function countsAt(choices: LogChoices, kind: DownloadLogKind, at: number): boolean {
  const choice = choices.findLast(({ since }) => since <= at) ?? choices[0]
  return choice?.kind === kind || choice?.kind === 'both'
}
