// Writes an archive of the embedded database that pg_restore of PostgreSQL 12 and later can restore.
//
// PGlite's own pg_dump (pglite-tools 0.4.8) is not used. It keeps the whole archive in memory, writes INSERT statements instead
// of COPY text, returns the archive as text up to the first zero byte (7 bytes of any database), and writes a format that
// pg_restore 15 refuses. For a table of 58 MB it blocks its thread for 8.4 s without a pause and takes 99 MB (here 3.5 s in
// pieces, in constant memory). A database of PostgreSQL is dumped by its own pg_dump (pg-dump.ts).
import { open, type FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createDeflate } from 'node:zlib'
import type { CopyLease } from '../../../store/lease.ts'
import { contents, int, SECTION, TABLE_BLOCK, type NewEntry } from './archive-format.ts'
import { sequencesOf, tablesOf, type Sequence, type Table } from './catalog.ts'
import { MIGRATION_TABLE } from './read-dump.ts'
import { schemaEntries } from './schema-entries.ts'

/** Stored bytes of a table that are read at a time. Compressed values are larger in the dump. */
const READ_BYTES = 2 << 20
const PIECE_BYTES = 256 * 1024

/** @param lease in a transaction that sees one moment */
export async function writeArchive(lease: CopyLease, path: string, signal: AbortSignal | undefined): Promise<void> {
  const tables = (await tablesOf(lease)).filter(({ isLogged }) => isLogged)
  const { entries, tableOf } = await entriesOf(lease, tables)
  const { rows } = await lease.query(
    `select current_database() as database, current_setting('server_version') as version`,
    [],
  )
  const server = { database: String(rows[0]?.['database']), serverVersion: String(rows[0]?.['version']) }
  const head = { createdAt: new Date(), ...server, writer: '15.0' }
  const positions = new Map<number, number>()
  const file = await open(path, 'wx', 0o600)
  try {
    let size = 0
    const append = async (bytes: Uint8Array) => {
      await writeAll(file, bytes, size)
      size += bytes.length
    }
    await append(contents(head, entries, positions))
    for (const [id, table] of tableOf) {
      positions.set(id, size)
      await append(Buffer.concat([Buffer.from([TABLE_BLOCK]), int(id)]))
      for await (const piece of compressed(textOf(lease, table, signal))) {
        await append(int(piece.length))
        await append(piece)
      }
      await append(int(0))
    }
    await writeAll(file, contents(head, entries, positions), 0)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten
}

async function entriesOf(
  lease: CopyLease,
  tables: readonly Table[],
): Promise<{ entries: NewEntry[]; tableOf: Map<number, Table> }> {
  const { rows } = await lease.query(`select name from ${MIGRATION_TABLE} order by name`, [])
  const { before, after } = await schemaEntries(rows.map(({ name }) => String(name)))
  const list: Omit<NewEntry, 'id'>[] = [
    entry({
      kind: 'ENCODING',
      tag: 'ENCODING',
      definition: `SET client_encoding = 'UTF8';\n`,
      section: SECTION.before,
      namespace: '',
    }),
    entry({
      kind: 'STDSTRINGS',
      tag: 'STDSTRINGS',
      definition: `SET standard_conforming_strings = 'on';\n`,
      section: SECTION.before,
      namespace: '',
    }),
    ...before.map((one) => entry({ ...one, section: SECTION.before })),
    ...tables.map(({ name, quoted, quotedColumns }) =>
      entry({
        kind: 'TABLE DATA',
        tag: name,
        copyStatement: `COPY public.${quoted} (${quotedColumns.join(', ')}) FROM stdin;\n`,
        section: SECTION.data,
        hasData: true,
      }),
    ),
    ...(await sequencesOf(lease)).map((sequence) =>
      entry({ kind: 'SEQUENCE SET', tag: sequence.name, definition: setval(sequence), section: SECTION.data }),
    ),
    ...after.map((one) => entry({ ...one, section: SECTION.after })),
  ]
  const entries = list.map((one, at) => ({ ...one, id: at + 1 }))
  const byName = new Map(tables.map((table) => [table.name, table]))
  const tableOf = new Map(entries.flatMap(({ id, hasData, tag }) => (hasData ? [[id, byName.get(tag)!] as const] : [])))
  return { entries, tableOf }
}

function entry(given: Partial<NewEntry> & Pick<NewEntry, 'kind' | 'tag' | 'section'>): Omit<NewEntry, 'id'> {
  return { definition: '', copyStatement: '', namespace: 'public', dependencies: [], hasData: false, ...given }
}

function setval({ quoted, lastValue, firstValue }: Sequence): string {
  return `SELECT pg_catalog.setval('${quoted}', ${lastValue ?? firstValue}, ${lastValue !== null});\n`
}

/** The rows in the order in which they are stored, a range of pages at a time. */
async function* textOf(lease: CopyLease, table: Table, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const step = Math.max(1, Math.floor(READ_BYTES / Math.max(1, table.bytes / Math.max(1, table.pages))))
  const columns = table.quotedColumns.join(', ')
  for (let page = 0; page < table.pages; page += step) {
    signal?.throwIfAborted()
    const range = `ctid >= '(${page},0)'::tid and ctid < '(${page + step},0)'::tid`
    const text = await lease.copyOut(`(select ${columns} from ${table.quoted} where ${range})`)
    for (let at = 0; at < text.length; at += PIECE_BYTES) yield text.subarray(at, at + PIECE_BYTES)
  }
  yield Buffer.from('\\.\n\n\n')
}

async function* compressed(parts: AsyncGenerator<Uint8Array>): AsyncGenerator<Buffer> {
  const source = Readable.from(parts, { objectMode: false })
  const deflate = createDeflate({ chunkSize: PIECE_BYTES })
  source.on('error', (error) => deflate.destroy(error))
  try {
    yield* source.pipe(deflate) as AsyncIterable<Buffer>
  } finally {
    source.destroy()
    deflate.destroy()
  }
}
