// Reads a dump: its tables, their rows as COPY text, and the values of its sequences.
import { Readable } from 'node:stream'
import { createInflate } from 'node:zlib'
import { DumpError } from './dump-error.ts'
import { createFileReader, openForReading } from './file-reader.ts'
import { piecesOf, readArchive, type Entry } from './read-archive.ts'

/** Table in which Kysely lists the migrations that ran. */
export const MIGRATION_TABLE = 'kysely_migration'
const BATCH_BYTES = 1 << 20
/** PostgreSQL stores no value larger than 1 GiB, the service none larger than some MiB. */
const MAX_ROW_BYTES = 256 << 20

export interface Dump {
  /** version of the archive format, such as 1.14 */
  version: string
  /** version of the PostgreSQL that was dumped */
  serverVersion: string
  /** names of the migrations that its schema had, in order */
  migrations: readonly string[]
  /** tables of the schema with our migrations */
  tables: readonly DumpTable[]
  sequences: readonly DumpSequence[]
  close(): Promise<void>
}

export interface DumpTable {
  name: string
  columns: readonly string[]
  /**
   * Rows in COPY's text format, in pieces of whole lines of about 1 MiB. One table is read at a time.
   * @throws DumpError when the data is damaged
   */
  rows(): AsyncIterable<Buffer>
}

export interface DumpSequence {
  name: string
  value: bigint
  /** false: `lastValue` is still to be returned next */
  isCalled: boolean
}

/**
 * Opens a dump in pg_dump's custom format and checks that it is whole. The data itself is checked while it is read.
 * @throws DumpError for anything but a dump of this service
 */
export async function readDump(path: string): Promise<Dump> {
  const { handle, size } = await openForReading(path)
  try {
    const { version, serverVersion, compressed, entries, blocks, intBytes } = await readArchive(
      createFileReader(handle, size),
    )
    checkEncoding(entries)
    const namespace = entries.find(({ kind, tag }) => kind === 'TABLE DATA' && tag === MIGRATION_TABLE)?.namespace
    if (namespace === undefined)
      throw new DumpError(`the dump is not one of Gatehouse: it has no table ${MIGRATION_TABLE}`)
    const own = entries.filter((entry) => entry.namespace === namespace)
    const tables = own
      .filter(({ kind }) => kind === 'TABLE DATA')
      .map((entry): DumpTable => {
        const block = blocks.get(entry.id)
        if (!block) throw new DumpError(`the dump is damaged: table ${entry.tag} has no data`)
        return {
          ...tableOf(entry),
          rows() {
            const pieces = piecesOf(createFileReader(handle, size), block, intBytes)
            return wholeLines(compressed ? inflated(pieces, entry.tag) : pieces, entry.tag)
          },
        }
      })
    if (new Set(tables.map(({ name }) => name)).size !== tables.length)
      throw new DumpError('the dump has a table twice')
    const sequences = own.filter(({ kind }) => kind === 'SEQUENCE SET').map(sequenceOf)
    const migrations = await migrationsOf(tables)
    return { version, serverVersion, migrations, tables, sequences, close: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function checkEncoding(entries: readonly Entry[]): void {
  const encoding = entries.find(({ kind }) => kind === 'ENCODING')?.definition
  if (!encoding || !/^SET client_encoding = 'UTF8';\s*$/.test(encoding))
    throw new DumpError(`the dump is not in UTF-8: its encoding is "${encoding?.slice(0, 100) ?? 'missing'}"`)
}

const NAME = `(?:[a-z_][a-z0-9_$]*|"(?:[^"]|"")+")`
const COPY = new RegExp(`^COPY ${NAME}\\.(${NAME}) \\((${NAME}(?:, ${NAME})*)\\) FROM stdin;\\s*$`)

/** The statement is read for the names of the columns. It is never executed. */
function tableOf({ tag, copyStatement }: Entry): { name: string; columns: string[] } {
  const [, table = '', list = ''] = COPY.exec(copyStatement) ?? []
  if (table === '')
    throw new DumpError(`the dump has no COPY text of table ${tag}, but "${copyStatement.slice(0, 100)}"`)
  if (nameOf(table) !== tag) throw new DumpError(`the dump is damaged: table ${tag} has the data of ${nameOf(table)}`)
  return { name: tag, columns: (list.match(new RegExp(NAME, 'g')) ?? []).map(nameOf) }
}

const nameOf = (quoted: string) => (quoted.startsWith('"') ? quoted.slice(1, -1).replaceAll('""', '"') : quoted)

const SETVAL = /^SELECT pg_catalog\.setval\('(?:[^']|'')+', (-?\d{1,19}), (true|false)\);\s*$/

function sequenceOf({ tag, definition }: Entry): DumpSequence {
  const [, value, isCalled] = SETVAL.exec(definition) ?? []
  if (value === undefined)
    throw new DumpError(`the dump is damaged: sequence ${tag} is set by "${definition.slice(0, 100)}"`)
  return { name: tag, value: BigInt(value), isCalled: isCalled === 'true' }
}

async function migrationsOf(tables: readonly DumpTable[]): Promise<string[]> {
  const table = tables.find(({ name }) => name === MIGRATION_TABLE)
  const column = table?.columns.indexOf('name') ?? -1
  if (!table || column === -1) throw new DumpError(`the dump is damaged: ${MIGRATION_TABLE} has no names`)
  const names: string[] = []
  for await (const lines of table.rows())
    for (const line of lines.toString('utf8').split('\n').slice(0, -1)) names.push(line.split('\t')[column] ?? '')
  return names.sort()
}

async function* inflated(pieces: AsyncGenerator<Buffer>, table: string): AsyncGenerator<Buffer> {
  let given = 0
  async function* counted() {
    for await (const piece of pieces) {
      given += piece.length
      yield piece
    }
  }
  const source = Readable.from(counted(), { objectMode: false, highWaterMark: BATCH_BYTES })
  const inflate = createInflate({ chunkSize: BATCH_BYTES })
  source.on('error', (error) => inflate.destroy(error))
  try {
    yield* source.pipe(inflate) as AsyncIterable<Buffer>
  } catch (error) {
    if (error instanceof DumpError) throw error
    throw new DumpError(`the dump is damaged: the data of ${table}: ${(error as Error).message}`)
  } finally {
    source.destroy()
    inflate.destroy()
  }
  if (inflate.bytesWritten !== given) throw new DumpError(`the dump is damaged: something follows the data of ${table}`)
}

const NEWLINE = 10
const END = Buffer.from('\\.\n')

/** Cuts at the ends of lines, up to the line that ends COPY's text. Only empty lines may follow. */
async function* wholeLines(parts: AsyncIterable<Buffer>, table: string): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let size = 0
  const state = { ended: false }

  function* cut(isLast: boolean): Generator<Buffer> {
    const all = Buffer.concat(waiting)
    const length = isLast ? all.length : all.lastIndexOf(NEWLINE) + 1
    if (length === 0 && size > MAX_ROW_BYTES)
      throw new DumpError(`the dump has a row of ${table} with more than ${MAX_ROW_BYTES} bytes`)
    waiting = [all.subarray(length)]
    size = all.length - length
    const lines = all.subarray(0, length)
    let rest = lines
    if (!state.ended) {
      const end = lines.subarray(0, END.length).equals(END) ? 0 : lines.indexOf(`\n${END.toString()}`) + 1
      state.ended = end > 0 || lines.subarray(0, END.length).equals(END)
      if (!state.ended) rest = lines.subarray(lines.length)
      else rest = lines.subarray(end + END.length)
      const rows = state.ended ? lines.subarray(0, end) : lines
      if (rows.length > 0) yield rows
    }
    if (rest.some((byte) => byte !== NEWLINE))
      throw new DumpError(`the dump is damaged: something follows the rows of ${table}`)
  }

  let next = BATCH_BYTES
  for await (const part of parts) {
    waiting.push(part)
    size += part.length
    if (size < next) continue
    yield* cut(false)
    // A row longer than the batch is searched again only when the size has doubled.
    next = Math.max(BATCH_BYTES, size * 2)
  }
  yield* cut(true)
  if (!state.ended) throw new DumpError(`the dump is damaged: the rows of ${table} have no end`)
}
