// Rendered index entries: small ones as rows, those of a package with long file lists in pieces.
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** A stream of the format and the bytes that the package adds to it. */
export type StreamEntry = [stream: string, bytes: Uint8Array]

export interface StoredEntries {
  id: number
  entries: readonly StreamEntry[]
}

/**
 * Entries of one package above this, together, are in pieces: whoever reads 1,000 packages at a time has 128 MiB at most.
 */
const LARGE_BYTES = 128 * 1024
/** Of one value, and of one statement: the thread of the embedded database makes hexadecimal text of it, and several copies. */
const PIECE_BYTES = 1024 * 1024

const sizeOf = (entries: readonly StreamEntry[]) => entries.reduce((sum, [, bytes]) => sum + bytes.byteLength, 0)

/** Stores entries of packages that have none. No statement has more than about 1 MiB. */
export async function storeEntries(tx: Db, records: readonly StoredEntries[]): Promise<void> {
  let rows: { package_id: number; stream: string; bytes: Uint8Array }[] = []
  let size = 0
  const flush = async () => {
    if (rows.length > 0) await tx.insertInto('entries').values(rows).execute()
    rows = []
    size = 0
  }
  for (const { id, entries } of records) {
    const own = sizeOf(entries)
    if (own > LARGE_BYTES) {
      await storePieces(tx, id, entries)
      continue
    }
    if (size + own > PIECE_BYTES) await flush()
    size += own
    for (const [stream, bytes] of entries) rows.push({ package_id: id, stream, bytes })
  }
  await flush()
}

async function storePieces(tx: Db, id: number, entries: readonly StreamEntry[]): Promise<void> {
  for (const [stream, bytes] of entries)
    // An empty entry is one piece.
    for (let at = 0, piece = 0; at === 0 || at < bytes.byteLength; at += PIECE_BYTES, piece++)
      await tx
        .insertInto('entry_pieces')
        .values({ package_id: id, stream, piece, bytes: bytes.subarray(at, at + PIECE_BYTES) })
        .execute()
}

export async function dropEntries(tx: Db, id: number): Promise<void> {
  await tx.deleteFrom('entries').where('package_id', '=', id).execute()
  await tx.deleteFrom('entry_pieces').where('package_id', '=', id).execute()
}

/** @returns by package: the entries that are no pieces, by stream. A package is missing when it has pieces, or none. */
export async function readEntries(db: Db, ids: readonly number[]): Promise<Map<number, Map<string, Uint8Array>>> {
  const { rows } = await sql<{ package_id: number; stream: string; bytes: Uint8Array }>`
    select package_id, stream, bytes from entries where package_id = any(${ids}::bigint[])`.execute(db)
  const found = new Map<number, Map<string, Uint8Array>>()
  for (const { package_id: id, stream, bytes } of rows) {
    const entries = found.get(id)
    if (entries) entries.set(stream, bytes)
    else found.set(id, new Map([[stream, bytes]]))
  }
  return found
}

/** Joins the pieces of one package, which are read one after the other. @returns by stream; empty when it has none */
export async function readPieces(db: Db, id: number): Promise<Map<string, Uint8Array>> {
  const streams = await db
    .selectFrom('entry_pieces')
    .select(['stream', sql<number>`count(*)::int`.as('pieces'), sql<number>`sum(octet_length(bytes))::int`.as('size')])
    .where('package_id', '=', id)
    .groupBy('stream')
    .execute()
  const found = new Map<string, Uint8Array>()
  for (const { stream, pieces, size } of streams) {
    const joined = new Uint8Array(size)
    let at = 0
    for (let piece = 0; piece < pieces; piece++) {
      const row = await db
        .selectFrom('entry_pieces')
        .select('bytes')
        .where('package_id', '=', id)
        .where('stream', '=', stream)
        .where('piece', '=', piece)
        .executeTakeFirst()
      // Removed between two reads, as a package without entries is.
      if (!row || at + row.bytes.byteLength > size) return new Map()
      joined.set(row.bytes, at)
      at += row.bytes.byteLength
    }
    if (at !== size) return new Map()
    found.set(stream, joined)
  }
  return found
}
