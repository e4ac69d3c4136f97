// Reads zip and zip64 files entry by entry, and checks every size and checksum.
//
// Not yauzl 3.4: it verifies no checksums, does not open a zip after a script, refuses one with bytes after its end, accepts one
// with more files than it states, and unpacks only deflate: a scanner would miss files that others unpack. 20,000 entries in
// memory took 12 times the processor time.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
import { open, type FileHandle } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { crc32, createInflateRaw, inflateRaw, inflateRawSync } from 'node:zlib'
import { unbzip2 } from './bzip2.ts'
import { unlzma } from './lzma.ts'
import { unzstd } from './zstd.ts'

const inflate = promisify(inflateRaw)

/** Up to this size, handing an entry to another thread costs more than inflating it. */
const SMALL = 64 * 1024
/** Entries are mostly in the order of the directory, so many are read at a time. */
const READ_AHEAD = 512 * 1024

export const END = 0x06054b50
export const END64_LOCATOR = 0x07064b50
const END64 = 0x06064b50
const CENTRAL = 0x02014b50
export const LOCAL = 0x04034b50

/** The comment after the end record has a 16-bit length. */
export const LONGEST_END = 22 + 0xffff
const LARGEST_DIRECTORY = 256 * 2 ** 20

export interface ZipEntry {
  /** as written in the archive: not a safe path */
  name: string
  /** decompressed, as the directory says */
  sizeBytes: number
  /** the whole content, one entry at a time; throws when size or checksum differ from the directory's */
  read(): Promise<Buffer>
  /** compression method, APPNOTE.TXT 4.4.5 */
  method: number
  /** the offsets in the archive do not count the bytes before it */
  isShifted: boolean
  /** the same as `read`, piece by piece; also LZMA, bzip2, zstd and xz entries */
  content(): AsyncIterable<Uint8Array>
  /** the stored content as a source, unchecked; null for a compressed entry */
  inside(): Promise<ZipSource | null>
}

/** Bytes that can be read at any offset. */
export interface ZipSource {
  sizeBytes: number
  /** exactly `length` bytes; throws beyond the end */
  read(position: number, length: number): Promise<Buffer>
}

export interface ZipLimits {
  mostEntries: number
  mostDirectoryBytes: number
}

/**
 * The entries in the order of the directory, directories left out.
 * @param largestBytes an entry with a larger stated size ends the reading
 * @throws Error with a sentence when the file is truncated or broken
 */
export async function* zipEntries(path: string, largestBytes: number): AsyncGenerator<ZipEntry> {
  const file = await open(path)
  try {
    for await (const entry of zipEntriesOf(await fileSource(file), {
      mostEntries: Infinity,
      mostDirectoryBytes: LARGEST_DIRECTORY,
    })) {
      if (entry.sizeBytes > largestBytes) throw new Error(`${entry.name} is larger than ${largestBytes} bytes`)
      yield entry
    }
  } finally {
    await file.close()
  }
}

/** The same for any source; the caller checks the sizes that entries state. */
export async function* zipEntriesOf(source: ZipSource, limits: ZipLimits): AsyncGenerator<ZipEntry> {
  const directory = await readDirectory(source, limits)
  const reach = windowOn(source)
  for (const header of headersOf(directory)) {
    if (header.name.endsWith('/') && header.sizeBytes === 0) continue
    yield {
      name: header.name,
      sizeBytes: header.sizeBytes,
      read: () => readEntry(reach, header),
      method: header.method,
      isShifted: directory.shift > 0,
      content: () => contentOf(source, reach, header),
      inside: () => insideOf(source, reach, header),
    }
  }
}

interface Directory {
  bytes: Buffer
  count: number
  /** bytes before the archive, which its offsets do not count */
  shift: number
  /** where the directory begins, and where the end record does */
  start: number
  end: number
}

export function* headersOf({ bytes, count, shift }: Directory): Generator<Header> {
  let at = 0
  for (let n = 0; n < count; n++) {
    const header = centralHeader(bytes, at)
    at = header.end
    header.offset += shift
    yield header
  }
  if (at !== bytes.length) throw new Error('the directory does not hold as many files as it says')
}

export async function fileSource(file: FileHandle): Promise<ZipSource> {
  const { size } = await file.stat()
  return { sizeBytes: size, read: (position, length) => readAt(file, position, length) }
}

export function bufferSource(bytes: Buffer): ZipSource {
  return {
    sizeBytes: bytes.length,
    async read(position, length) {
      if (position < 0 || position + length > bytes.length) throw new Error('the archive is cut short')
      return bytes.subarray(position, position + length)
    },
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  const { bytesRead } = await file.read(buffer, 0, length, position)
  if (bytesRead !== length) throw new Error('the archive is cut short')
  return buffer
}

export async function readDirectory(source: ZipSource, limits: ZipLimits): Promise<Directory> {
  const size = source.sizeBytes
  const tail = await source.read(Math.max(0, size - LONGEST_END), Math.min(size, LONGEST_END))
  let end = tail.length - 22
  while (end >= 0 && tail.readUInt32LE(end) !== END) end--
  if (end < 0) throw new Error('not a zip archive, or cut short')
  let count = tail.readUInt16LE(end + 10)
  let length = tail.readUInt32LE(end + 12)
  let offset = tail.readUInt32LE(end + 16)
  // An executable jar begins with a shell script: its offsets count from the end of the script.
  let shift = Math.max(0, size - tail.length + end - length - offset)
  if (end >= 20 && tail.readUInt32LE(end - 20) === END64_LOCATOR) {
    shift = 0
    const record = await source.read(exact(tail, end - 20 + 8), 56)
    if (record.readUInt32LE(0) !== END64) throw new Error('its zip64 end record is broken')
    count = exact(record, 32)
    length = exact(record, 40)
    offset = exact(record, 48)
  }
  if (count > limits.mostEntries)
    throw new Error(`it holds ${count} files, more than ${limits.mostEntries} are not read`)
  if (length > limits.mostDirectoryBytes) throw new Error('its directory is too large')
  // A zip that begins with its directory (omni.ja of Firefox) looks the same; as in unzip, that place is tried second.
  if (shift > 0 && !(await isCentral(source, offset + shift)) && (await isCentral(source, offset))) shift = 0
  const start = offset + shift
  const bytes = await source.read(start, length)
  return { bytes, count, shift, start, end: size - tail.length + end }
}

export async function isCentral(source: ZipSource, at: number): Promise<boolean> {
  return at >= 0 && at + 4 <= source.sizeBytes && (await source.read(at, 4)).readUInt32LE(0) === CENTRAL
}

function exact(buffer: Buffer, at: number): number {
  const value = buffer.readBigUInt64LE(at)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error('a size in it is impossible')
  return Number(value)
}

export interface Header {
  name: string
  flags: number
  method: number
  crc: number
  packedBytes: number
  sizeBytes: number
  offset: number
  end: number
}

function centralHeader(bytes: Buffer, at: number): Header {
  if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== CENTRAL) throw new Error('its directory is broken')
  const nameEnd = at + 46 + bytes.readUInt16LE(at + 28)
  const extraEnd = nameEnd + bytes.readUInt16LE(at + 30)
  const end = extraEnd + bytes.readUInt16LE(at + 32)
  if (end > bytes.length) throw new Error('its directory is broken')
  const name = bytes.toString('utf8', at + 46, nameEnd)
  if (bytes.readUInt16LE(at + 8) & 1) throw new Error(`${name} is encrypted`)
  const header = {
    name,
    flags: bytes.readUInt16LE(at + 8),
    method: bytes.readUInt16LE(at + 10),
    crc: bytes.readUInt32LE(at + 16),
    packedBytes: bytes.readUInt32LE(at + 20),
    sizeBytes: bytes.readUInt32LE(at + 24),
    offset: bytes.readUInt32LE(at + 42),
    end,
  }
  return widen(header, bytes.subarray(nameEnd, extraEnd))
}

/** 4.5.3: an extra field has the 64-bit values of those 32-bit fields that are full, in this order. */
function widen(header: Header, extra: Buffer): Header {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue
    const field = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2))
    let next = 0
    for (const key of ['sizeBytes', 'packedBytes', 'offset'] as const) {
      if (header[key] !== 0xffffffff || next + 8 > field.length) continue
      header[key] = exact(field, next)
      next += 8
    }
  }
  return header
}

/** The bytes of a range of the file; valid until the next call. */
export type Reach = (position: number, length: number) => Promise<Buffer>

export function windowOn(source: ZipSource): Reach {
  const size = source.sizeBytes
  let from = 0
  let bytes: Buffer = Buffer.alloc(0)
  return async (position, length) => {
    if (position < from || position + length > from + bytes.length) {
      if (position + length > size) throw new Error('the archive is cut short')
      bytes = await source.read(position, Math.min(size - position, Math.max(length, READ_AHEAD)))
      from = position
    }
    return bytes.subarray(position - from, position - from + length)
  }
}

export async function startOf(reach: Reach, header: Header): Promise<number> {
  const local = await reach(header.offset, 30)
  if (local.readUInt32LE(0) !== LOCAL) throw new Error(`${header.name} is not where the directory says`)
  // The local extra field may have another length than the directory's.
  return header.offset + 30 + local.readUInt16LE(26) + local.readUInt16LE(28)
}

async function insideOf(source: ZipSource, reach: Reach, header: Header): Promise<ZipSource | null> {
  if (header.method !== 0) return null
  const start = await startOf(reach, header)
  if (header.packedBytes !== header.sizeBytes || start + header.sizeBytes > source.sizeBytes)
    throw new Error(`${header.name} has an impossible size`)
  return {
    sizeBytes: header.sizeBytes,
    async read(position, length) {
      if (position < 0 || position + length > header.sizeBytes) throw new Error('the archive is cut short')
      return source.read(start + position, length)
    },
  }
}

async function readEntry(reach: Reach, header: Header): Promise<Buffer> {
  const start = await startOf(reach, header)
  if (header.method !== 0 && header.method !== 8) throw new Error(`${header.name} is compressed in an unknown way`)
  if (header.packedBytes > header.sizeBytes * 2 + 1024) throw new Error(`${header.name} has an impossible size`)
  const packed = await reach(start, header.packedBytes)
  const content = header.method === 8 ? await unpack(packed, header) : Buffer.from(packed)
  if (content.length !== header.sizeBytes || crc32(content) !== header.crc) throw new Error(`${header.name} is damaged`)
  return content
}

async function unpack(packed: Buffer, { name, sizeBytes }: Header): Promise<Buffer> {
  const options = { maxOutputLength: Math.max(1, sizeBytes) }
  try {
    return sizeBytes <= SMALL ? inflateRawSync(packed, options) : await inflate(packed, options)
  } catch (cause) {
    throw new Error(`${name} cannot be decompressed`, { cause })
  }
}

const PIECE_BYTES = 64 * 1024

export async function* contentOf(source: ZipSource, reach: Reach, header: Header): AsyncGenerator<Uint8Array> {
  // Creating a decompressor costs more than inflating most classes of a jar.
  if (header.sizeBytes <= SMALL && (header.method === 0 || header.method === 8)) {
    yield await readEntry(reach, header)
    return
  }
  const start = await startOf(reach, header)
  let size = 0
  let checksum = 0
  for await (const piece of unpackPieces(piecesOf(source, start, header.packedBytes), header)) {
    size += piece.length
    if (size > header.sizeBytes) break
    checksum = crc32(piece, checksum)
    yield piece
  }
  if (size !== header.sizeBytes || checksum !== header.crc) throw new Error(`${header.name} is damaged`)
}

async function* piecesOf(source: ZipSource, start: number, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < length; at += PIECE_BYTES)
    yield await source.read(start + at, Math.min(PIECE_BYTES, length - at))
}

function unpackPieces(packed: AsyncIterable<Uint8Array>, header: Header): AsyncIterable<Uint8Array> {
  switch (header.method) {
    case 0:
      return packed
    case 8:
      return inflatePieces(packed)
    case 12:
      return unbzip2(packed)
    case 14:
      return unlzma(lzmaAlone(packed, header), 'lzma')
    case 93:
      return unzstd(packed)
    case 95:
      return unlzma(packed, 'xz')
    default:
      throw new Error(`${header.name} is compressed in an unknown way`)
  }
}

async function* inflatePieces(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflater = createInflateRaw({ chunkSize: PIECE_BYTES })
  // The loop below receives the errors of both sides.
  pipeline(Readable.from(packed, { objectMode: false }), inflater, () => {})
  try {
    for await (const piece of inflater as AsyncIterable<Buffer>) yield piece
  } finally {
    inflater.destroy()
  }
}

/** APPNOTE.TXT 5.8.8: four bytes of version and length, five of properties, then the stream, without the .lzma header. */
async function* lzmaAlone(packed: AsyncIterable<Uint8Array>, header: Header): AsyncGenerator<Uint8Array> {
  let first = true
  for await (const piece of packed) {
    if (!first) {
      yield piece
      continue
    }
    first = false
    const bytes = Buffer.from(piece)
    if (bytes.length < 9 || bytes.readUInt16LE(2) !== 5) throw new Error(`${header.name} cannot be decompressed`)
    const size = Buffer.alloc(8)
    // Bit 1 of the flags says that the stream ends with a marker instead of at a known size.
    size.writeBigUInt64LE(header.flags & 2 ? 0xffff_ffff_ffff_ffffn : BigInt(header.sizeBytes))
    yield Buffer.concat([bytes.subarray(4, 9), size, bytes.subarray(9)])
  }
}
