// Names of packages by a file of theirs: its name, also as the end of a path, or its SHA-256.
import { sql, type RawBuilder } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../db.ts'

/** Shorter beginnings of a digest are words that names and descriptions have. */
const DIGEST = /^(?:sha256:)?([0-9a-f]{8,64})$/i
const MOST = 1_000

export interface StoredName {
  name: string
  format: FormatId
}

/** @returns null when no file is called so, and none has such a digest */
export async function storedAs(db: Db, text: string): Promise<StoredName[] | null> {
  const digest = DIGEST.exec(text.trim())?.[1]?.toLowerCase()
  const found = await read(db, digest === undefined ? named(text.trim()) : digested(digest))
  return found.length === 0 ? null : found
}

/** Whether a row of `artifacts` is one of these. */
export function isAmong(stored: readonly StoredName[]): RawBuilder<boolean> {
  const [names, formats] = [stored.map(({ name }) => name), stored.map(({ format }) => format)]
  return sql`(artifacts.name, artifacts.format) in (select * from unnest(${names}::text[], ${formats}::text[]))`
}

async function read(db: Db, records: RawBuilder<unknown>): Promise<StoredName[]> {
  const { rows } = await sql<StoredName>`select distinct name, format from (${records}) found limit ${MOST}`.execute(db)
  return rows
}

/** As a range, which an index answers under every collation: `g` follows all digits. */
export function digested(start: string): RawBuilder<unknown> {
  const within = (column: string) => sql`${sql.ref(column)} >= ${start} and ${sql.ref(column)} < ${start}::text || 'g'`
  return sql`select name, format from packages where ${within('sha256')}
    union select name, format from packages where received_sha256 <> sha256 and ${within('received_sha256')}`
}

/** Addresses may have the name escaped once more. */
export function named(path: string): RawBuilder<unknown> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return sql`select p.name, p.format from blobs b join packages p on p.sha256 = b.sha256
    where b.filename in (${name}, ${unescaped(name)})`
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
