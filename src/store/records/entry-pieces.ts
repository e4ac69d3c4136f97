// Rendered index entries of offers: small ones as rows, the long ones of packages with long file lists in pieces.
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** A stream of the format and the bytes that the package adds to it. */
export type StreamEntry = [stream: string, bytes: Uint8Array]

export interface StoredEntries {
  id: number
  entries: readonly StreamEntry[]
}

/**
 * If the entries of one package together exceed this, they are in pieces: reading 1,000 packages at a time takes 128 MiB at most.
 */
const LARGE_BYTES = 128 * 1024
/** Limit of one value, and of one statement: the embedded database's thread makes hexadecimal text of it, and several copies. */
const PIECE_BYTES = 1024 * 1024

const sizeOf = (entries: readonly StreamEntry[]) => entries.reduce((sum, [, bytes]) => sum + bytes.byteLength, 0)

/** Stores the entries of these packages' new offers. No statement has more than about 1 MiB. */
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

/** Identifies an offer: at one revision, a package is offered once. */
export interface OfferKey {
  id: number
  /** the revision that first offered it */
  position: number
}

/** The same statement finds the offer, because an offer may end between two statements. */
const ofOffer = sql`e.package_id = o.package_id and e.until_revision is not distinct from o.until_revision`

/** @returns by package: the entries that are not in pieces, by stream. A package with pieces or without entries is missing. */
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

/** Reads the pieces of one offer one after the other and joins them. @returns by stream; empty when it has none */
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
      // The offer was pruned between two reads.
      if (!row || at + row.bytes.byteLength > size) return new Map()
      joined.set(row.bytes, at)
      at += row.bytes.byteLength
    }
    if (at !== size) return new Map()
    found.set(stream, joined)
  }
  return found
}
