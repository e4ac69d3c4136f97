// Compares the files of the audit log with their rows: the chain proves the files, so it proves the rows.
import { sql } from 'kysely'
import { isLineOf } from './file.ts'
import type { Db } from '../store/db.ts'

/** Rows read at a time. */
const BATCH = 200

/** @returns `compare` of `verifyDirectory`, which calls it in the order of the chain */
export async function createRowComparison(db: Db) {
  const began = await beganAfter(db)
  let rows: Awaited<ReturnType<typeof rowsFrom>> = []
  let at = 0

  const rowsFrom = (seq: number) =>
    db.selectFrom('audit').selectAll().where('seq', '>=', seq).orderBy('seq').limit(BATCH).execute()

  return async (seq: number, bytes: Buffer): Promise<string | null> => {
    if (seq <= began) return null
    while ((rows[at]?.seq ?? seq) < seq) at++
    if (at === rows.length) [rows, at] = [await rowsFrom(seq), 0]
    const row = rows[at]
    if (row?.seq !== seq) return `is entry ${seq}, whose row in the database is gone`
    return isLineOf({ bytes }, row) ? null : `is entry ${seq}, whose row in the database was changed`
  }
}

/** The last entry that an earlier database wrote. Without a note of it, from an older build, only the first row tells. */
async function beganAfter(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select coalesce(began_seq, (select min(seq) - 1 from audit), seq)::bigint as n from audit_chain`.execute(db)
  return rows[0]?.n ?? 0
}
