// The custom format of pg_dump: how numbers, texts and the table of contents are written.
//
// An archive is a head, a table of contents (TOC), and one block of data for each TOC entry that has data. The format is
// described by the programs that write it:
// https://github.com/postgres/postgres/blob/master/src/bin/pg_dump/pg_backup_archiver.c (WriteHead, WriteToc, WriteInt)
// https://github.com/postgres/postgres/blob/master/src/bin/pg_dump/pg_backup_custom.c (_WriteExtraToc, _StartData)

export const MAGIC = 'PGDMP'
export const CUSTOM_FORMAT = 1
/** Kind of a block with the data of a table. Large objects have another kind; the service has none. */
export const TABLE_BLOCK = 1

/** Precedes the position of an entry's data. */
export const PLACE = { unknown: 1, known: 2, none: 3 } as const

/** Sections that pg_restore restores in this order. */
export const SECTION = { none: 1, before: 2, data: 3, after: 4 } as const

/** Minor versions of the format: 1.12 to 1.16 are read, as PostgreSQL 9.6 to 18 write them. 1.14 is written. */
export const VERSION = {
  oldest: 12,
  accessMethod: 14,
  compressionName: 15,
  relationKind: 16,
  newest: 16,
  written: 14,
} as const

/** An entry as it is written: PostgreSQL 12 and every later version can restore it. */
export interface NewEntry {
  id: number
  tag: string
  /** kind of the entry, such as TABLE or TABLE DATA */
  kind: string
  section: number
  definition: string
  copyStatement: string
  namespace: string
  dependencies: readonly number[]
  hasData: boolean
}

const INT_BYTES = 4
const OFFSET_BYTES = 8

/** Sign, then the bytes of the number, lowest first. */
export function int(value: number): Buffer {
  const bytes = Buffer.alloc(1 + INT_BYTES)
  bytes[0] = value < 0 ? 1 : 0
  bytes.writeUInt32LE(Math.abs(value), 1)
  return bytes
}

/** Length in bytes, then UTF-8. A missing text has the length -1. */
function text(value: string | null): Buffer {
  return value === null ? int(-1) : Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)])
}

function place(position: number | null | undefined): Buffer {
  const bytes = Buffer.alloc(1 + OFFSET_BYTES)
  bytes[0] = position === null ? PLACE.none : position === undefined ? PLACE.unknown : PLACE.known
  bytes.writeBigUInt64LE(BigInt(position ?? 0), 1)
  return bytes
}

export interface Head {
  createdAt: Date
  database: string
  serverVersion: string
  writer: string
}

/**
 * Head and table of contents. They have the same length with known and unknown positions.
 * @param positions where the data of an entry begins, by its id
 */
export function contents(head: Head, entries: readonly NewEntry[], positions: ReadonlyMap<number, number>): Buffer {
  const at = head.createdAt
  const time = [
    at.getUTCSeconds(),
    at.getUTCMinutes(),
    at.getUTCHours(),
    at.getUTCDate(),
    at.getUTCMonth(),
    at.getUTCFullYear() - 1900,
    0, // no daylight saving time
  ]
  return Buffer.concat([
    Buffer.from(MAGIC),
    Buffer.from([1, VERSION.written, 0, INT_BYTES, OFFSET_BYTES, CUSTOM_FORMAT]),
    int(-1), // compressed by zlib at its usual level
    ...time.map(int),
    ...[head.database, head.serverVersion, head.writer].map(text),
    int(entries.length),
    ...entries.map((entry) => encodeEntry(entry, entry.hasData ? positions.get(entry.id) : null)),
  ])
}

function encodeEntry(entry: NewEntry, position: number | null | undefined): Buffer {
  return Buffer.concat([
    int(entry.id),
    int(entry.hasData ? 1 : 0),
    text('0'), // numbers of the catalog's table and row: only parallel dumps use them
    text('0'),
    text(entry.tag),
    text(entry.kind),
    int(entry.section),
    text(entry.definition),
    text(''), // statement that drops it
    text(entry.copyStatement),
    text(entry.namespace),
    text(''), // tablespace
    text(null), // table access method: the usual one
    text(''), // owner: the role that restores
    text('false'), // with row identifiers: never since PostgreSQL 12
    ...entry.dependencies.map((id) => text(String(id))),
    text(null),
    place(position),
  ])
}
