// Reads the head and the table of contents of a custom-format archive, and finds the data of each entry.
//
// The format has no checksum, so every value is checked against what pg_dump can write. The data is compressed by zlib,
// which has a checksum. archive-format.ts links the source of the format.
import { CUSTOM_FORMAT, MAGIC, PLACE, TABLE_BLOCK, VERSION } from './archive-format.ts'
import { DumpError } from './dump-error.ts'
import type { FileReader } from './file-reader.ts'

/** More than any database of the service needs. */
const MAX_ENTRIES = 100_000
const MAX_TEXT_BYTES = 16 << 20
const MAX_CONTENTS_BYTES = 128 << 20

export interface Archive {
  /** such as 1.16 */
  version: string
  compressed: boolean
  /** size of a number */
  intBytes: number
  serverVersion: string
  entries: Entry[]
  /** the data of an entry, by its id */
  blocks: Map<number, Block>
}

export interface Entry {
  id: number
  hasData: boolean
  tag: string
  kind: string
  definition: string
  copyStatement: string
  namespace: string
  position: number | null
}

/** Position of the pieces of an entry's data: each piece is a length and that many bytes; a length of 0 ends them. */
export interface Block {
  start: number
  end: number
}

/** @throws DumpError for anything that is not a whole archive */
export async function readArchive(file: FileReader): Promise<Archive> {
  const magic = (await file.take(MAGIC.length)).toString('latin1')
  if (magic !== MAGIC) throw new DumpError('the file is not a dump of pg_dump in its custom format')
  const [major = 0, minor = 0, , intBytes = 0, offsetBytes = 0, format = 0] = await file.take(6)
  const version = `${major}.${minor}`
  if (major !== 1 || minor < VERSION.oldest || minor > VERSION.newest)
    throw new DumpError(
      `the dump has format version ${version}; versions 1.${VERSION.oldest} to 1.${VERSION.newest} can be read`,
    )
  if (![4, 8].includes(intBytes) || ![4, 8].includes(offsetBytes))
    throw damaged('sizes of numbers', `${intBytes}, ${offsetBytes}`)
  if (format !== CUSTOM_FORMAT) throw new DumpError(`the dump is not in the custom format (1) but in format ${format}`)
  const values = createValues(file, intBytes, offsetBytes)

  const compressed = await readCompression(file, values, minor)
  // Second, minute, hour, day, month, year since 1900, daylight saving time.
  for (const [from, to] of [
    [0, 61],
    [0, 59],
    [0, 23],
    [1, 31],
    [0, 11],
    [0, 1000],
    [-1, 1],
  ] as const)
    await values.int('a part of the time', from, to)
  await values.text()
  const serverVersion = (await values.text()) ?? ''
  await values.text()
  const count = await values.int('the number of entries', 0, MAX_ENTRIES)
  const entries: Entry[] = []
  for (let n = 0; n < count; n++) entries.push(await readEntry(values, minor))
  const blocks = await findBlocks(file, values, new Map(entries.map((entry) => [entry.id, entry])))
  if (new Set(entries.map(({ id }) => id)).size !== count) throw damaged('the table of contents', 'an id twice')
  const missing = entries.find((entry) => entry.hasData && !blocks.has(entry.id))
  if (missing) throw new DumpError(`the dump ends before the data of ${missing.tag}`)
  return { version, compressed, intBytes, serverVersion, entries, blocks }
}

async function readCompression(file: FileReader, values: Values, minor: number): Promise<boolean> {
  if (minor < VERSION.compressionName) return (await values.int('the compression level', -1, 9)) !== 0
  const [algorithm = 0] = await file.take(1)
  const name = ['none', 'gzip', 'lz4', 'zstd'][algorithm]
  if (name === undefined) throw damaged('the compression', String(algorithm))
  if (algorithm > 1) throw new DumpError(`the dump is compressed by ${name}; gzip and none can be read`)
  return algorithm === 1
}

async function readEntry(values: Values, minor: number): Promise<Entry> {
  const id = await values.int('the id of an entry', 1, 2 ** 31)
  const hasData = (await values.int('the data mark of an entry', 0, 1)) === 1
  for (const _ of ['table', 'row']) values.digits(await values.text())
  const tag = (await values.text()) ?? ''
  const kind = (await values.text()) ?? ''
  if (!/^[A-Z][A-Z ]*$/.test(kind)) throw damaged('the kind of an entry', kind)
  await values.int('the section of an entry', 1, 4)
  const definition = (await values.text()) ?? ''
  await values.text() // statement that drops it
  const copyStatement = (await values.text()) ?? ''
  const namespace = (await values.text()) ?? ''
  await values.text() // tablespace
  if (minor >= VERSION.accessMethod) await values.text()
  if (minor >= VERSION.relationKind) await values.int('the kind of a relation', 0, 127)
  await values.text() // owner
  const identified = await values.text()
  if (identified !== 'false') throw damaged('the row identifiers of an entry', String(identified))
  for (;;) {
    const dependency = await values.text()
    if (dependency === null) break
    values.digits(dependency)
  }
  return { id, hasData, tag, kind, definition, copyStatement, namespace, position: await values.place() }
}

/** Walks over all blocks up to the end of the file, without reading their content. */
async function findBlocks(
  file: FileReader,
  values: Values,
  entries: ReadonlyMap<number, Entry>,
): Promise<Map<number, Block>> {
  const blocks = new Map<number, Block>()
  while (file.position() < file.size) {
    const begin = file.position()
    const [kind] = await file.take(1)
    if (kind !== TABLE_BLOCK) throw damaged('the kind of a block', String(kind))
    const id = await values.int('the id of a block', 1, 2 ** 31)
    const entry = entries.get(id)
    if (!entry?.hasData || blocks.has(id)) throw damaged('the order of the data', `a block of entry ${id}`)
    if (entry.position !== null && entry.position !== begin)
      throw damaged('the position of data', String(entry.position))
    const start = file.position()
    for (;;) {
      const length = await values.int('the length of a piece', 0, 1 << 30)
      if (length === 0) break
      file.skip(length)
    }
    blocks.set(id, { start, end: file.position() })
  }
  return blocks
}

/** The pieces of a block, as they are stored. */
export async function* piecesOf(file: FileReader, block: Block, intBytes: number): AsyncGenerator<Buffer> {
  const values = createValues(file, intBytes, 8)
  file.seek(block.start)
  while (file.position() < block.end) {
    const length = await values.int('the length of a piece', 0, 1 << 30)
    for (let left = length; left > 0;) {
      const piece = await file.take(Math.min(left, 1 << 20))
      left -= piece.length
      yield piece
    }
  }
}

type Values = ReturnType<typeof createValues>

function createValues(file: FileReader, intBytes: number, offsetBytes: number) {
  let textBytes = 0

  async function int(what: string, from: number, to: number): Promise<number> {
    const [sign, ...bytes] = await file.take(1 + intBytes)
    const value = bytes.reduceRight((sum, byte) => sum * 256 + byte, 0) * (sign === 0 ? 1 : -1)
    if (sign === undefined || sign > 1 || !(value >= from && value <= to)) throw damaged(what, String(value))
    return value + 0
  }

  return {
    int,
    async text(): Promise<string | null> {
      const length = await int('the length of a text', -1, MAX_TEXT_BYTES)
      if (length === -1) return null
      textBytes += length
      if (textBytes > MAX_CONTENTS_BYTES)
        throw damaged('the size of the table of contents', `more than ${MAX_CONTENTS_BYTES} bytes`)
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.take(length))
      } catch (error) {
        if (error instanceof DumpError) throw error
        throw damaged('a text', 'bytes that are not UTF-8')
      }
    },
    digits(value: string | null) {
      if (value === null || !/^\d{1,10}$/.test(value)) throw damaged('a number', String(value))
    },
    /** @returns where data begins, or null when the writer could not store it */
    async place(): Promise<number | null> {
      const [kind, ...bytes] = await file.take(1 + offsetBytes)
      const position = bytes.reduceRight((sum, byte) => sum * 256 + byte, 0)
      if (kind === PLACE.known) {
        if (position > file.size) throw damaged('the position of data', String(position))
        return position
      }
      if (kind !== PLACE.none && kind !== PLACE.unknown) throw damaged('the mark of a position', String(kind))
      if (position !== 0) throw damaged('the position of no data', String(position))
      return null
    },
  }
}

function damaged(what: string, came: string): DumpError {
  return new DumpError(`the dump is damaged: ${what} cannot be "${came.slice(0, 100)}"`)
}
