// Compares the audit file of one day with its rows, and writes it again if it was changed.
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, stat, truncate } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fsyncPath, isMissing } from '../kernel/files.ts'
import type { Db } from '../store/db.ts'
import { checkLine, lineOf } from './chain.ts'
import { linesOf, type FileLine } from './lines.ts'

/** Rows read at a time. */
const BATCH = 500

export interface Examined {
  /** the last entry that the file holds; 0 for none */
  lastSeq: number
  /** how somebody else changed the file, and the name that the changed file got; null when it was not changed */
  repaired: { fault: string; aside: string | null } | null
}

/**
 * Makes sure that a day's file holds what the database filed, in order, and nothing else. Half a line that a crash left
 * is removed. A file with another difference is set aside as `<day>.jsonl.damaged-<time>` and written again from the rows.
 * Entries of an earlier database, which have no rows, are kept as far as their chain is intact.
 * @param path `<day>.jsonl`
 */
export async function examineDayFile(db: Db, path: string, day: string, now: Date): Promise<Examined> {
  const found = await compare(db, path, day)
  if (found.fault === null) return { lastSeq: found.lastSeq, repaired: null }
  return repair(db, path, day, now, found.fault, found.earlierEnd)
}

type Comparison = { fault: null; lastSeq: number } | { fault: string; earlierEnd: number }

async function compare(db: Db, path: string, day: string): Promise<Comparison> {
  const rows = rowsOf(db, day)
  let row = (await rows.next()).value
  const first = row
  let lastSeq = 0
  let earlierEnd = 0
  let earlierHash: string | null = null
  let wholeEnd = 0
  let inRows = false
  for await (const line of linesOrNone(path)) {
    if (row && line.whole && isLineOf(line, row)) {
      if (!inRows && earlierHash !== null && earlierHash !== first?.prev_hash)
        return { fault: 'lines before the first known entry do not lead to it', earlierEnd }
      inRows = true
      lastSeq = row.seq ?? lastSeq
      row = (await rows.next()).value
    } else if (!line.whole && row && !row.filed && isBeginningOf(line.bytes, lineOf(row))) {
      await truncate(path, wholeEnd)
      await fsyncPath(path)
      break
    } else {
      const { fault, entry } = checkLine(line.bytes)
      const follows = earlierHash === null || entry?.prev_hash === earlierHash
      const hasRow = Boolean(first && (entry?.seq ?? 0) >= (first.seq ?? 0))
      if (inRows || fault !== null || !line.whole || !follows || hasRow)
        return {
          fault: fault === null ? 'a line is not the entry that was filed there' : `a line ${fault}`,
          earlierEnd,
        }
      earlierHash = entry.hash
      earlierEnd = line.end
    }
    wholeEnd = line.end
  }
  if (row?.filed) return { fault: `entry ${row.seq} and what followed it are gone`, earlierEnd }
  return { fault: null, lastSeq }
}

async function repair(
  db: Db,
  path: string,
  day: string,
  now: Date,
  fault: string,
  earlierEnd: number,
): Promise<Examined> {
  const aside = `${path}.damaged-${now.toISOString().replace(/[-:.]/g, '')}`
  const made = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`)
  const present = await stat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false
      throw error
    },
  )
  let lastSeq = 0
  async function* content() {
    if (earlierEnd > 0) yield* createReadStream(path, { end: earlierEnd - 1 }) as AsyncIterable<Buffer>
    for await (const row of rowsOf(db, day)) {
      lastSeq = row.seq ?? lastSeq
      yield lineOf(row)
    }
  }
  await pipeline(content, createWriteStream(made, { mode: 0o600 }))
  await fsyncPath(made)
  if (present) await rename(path, aside)
  await rename(made, path)
  await fsyncPath(dirname(path))
  return { lastSeq, repaired: { fault, aside: present ? basename(aside) : null } }
}

async function* rowsOf(db: Db, day: string) {
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom('audit')
      .selectAll()
      .where('day', '=', day)
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(BATCH)
      .execute()
    yield* rows
    if (rows.length < BATCH) return
    after = rows.at(-1)?.seq ?? after
  }
}

export function isLineOf(line: Pick<FileLine, 'bytes'>, row: Parameters<typeof lineOf>[0]): boolean {
  return Buffer.from(lineOf(row).trimEnd()).equals(line.bytes)
}

const isBeginningOf = (bytes: Buffer, line: string) => Buffer.from(line).subarray(0, bytes.length).equals(bytes)

async function* linesOrNone(path: string): AsyncGenerator<FileLine> {
  try {
    yield* linesOf(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
