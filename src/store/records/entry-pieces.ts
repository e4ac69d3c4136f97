// Rendered index entries of offers: small ones as rows, those of a package with long file lists in pieces.
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

/** Stores the entries of the offers that begin for these packages. No statement has more than about 1 MiB. */
export async function storeEntries(tx: Db, records: readonly StoredEntries[]): Promise<void> {
  let rows: { package_id: number; stream: string; bytes: Uint8Array }[] = []
  let size = 0
  const flush = async () => {
    if (rows.length > 0) await tx.insertInto('offer_entries').values(rows).execute()
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
        .insertInto('offer_entry_pieces')
        .values({ package_id: id, stream, piece, bytes: bytes.subarray(at, at + PIECE_BYTES) })
        .execute()
}

/** Which offer: what a revision offers has a package once. */
export interface OfferKey {
  id: number
  /** the revision that first offered it */
  position: number
}

/** Found by the offer in the same statement, because an offer may end between two. */
const ofOffer = sql`e.package_id = o.package_id and e.until_revision is not distinct from o.until_revision`

/** @returns by package: the entries that are no pieces, by stream. A package is missing when it has pieces, or none. */
export async function readEntries(db: Db, offers: readonly OfferKey[]): Promise<Map<number, Map<string, Uint8Array>>> {
  const { rows } = await sql<{ package_id: number; stream: string; bytes: Uint8Array }>`
    select e.package_id, e.stream, e.bytes
    from unnest(${offers.map(({ id }) => id)}::bigint[], ${offers.map(({ position }) => position)}::bigint[]) as wanted (id, position)
    join offers o on o.package_id = wanted.id and o.from_revision = wanted.position
    join offer_entries e on ${ofOffer}`.execute(db)
  const found = new Map<number, Map<string, Uint8Array>>()
  for (const { package_id: id, stream, bytes } of rows) {
    const entries = found.get(id)
    if (entries) entries.set(stream, bytes)
    else found.set(id, new Map([[stream, bytes]]))
  }
  return found
}

/** Joins the pieces of one offer, which are read one after the other. @returns by stream; empty when it has none */
export async function readPieces(db: Db, { id, position }: OfferKey): Promise<Map<string, Uint8Array>> {
  const pieces = sql`offer_entry_pieces e join offers o on ${ofOffer}
    where o.package_id = ${id} and o.from_revision = ${position}`
  const { rows: streams } = await sql<{ stream: string; count: number; size: number }>`
    select e.stream, count(*)::int as count, sum(octet_length(e.bytes))::int as size from ${pieces} group by e.stream`.execute(
    db,
  )
  const found = new Map<string, Uint8Array>()
  for (const { stream, count, size } of streams) {
    const joined = new Uint8Array(size)
    let at = 0
    for (let piece = 0; piece < count; piece++) {
      const { rows } = await sql<{ bytes: Uint8Array }>`
        select e.bytes from ${pieces} and e.stream = ${stream} and e.piece = ${piece}`.execute(db)
      const [row] = rows
      // Pruned between two reads.
      if (!row || at + row.bytes.byteLength > size) return new Map()
      joined.set(row.bytes, at)
      at += row.bytes.byteLength
    }
    if (at !== size) return new Map()
    found.set(stream, joined)
  }
  return found
}
