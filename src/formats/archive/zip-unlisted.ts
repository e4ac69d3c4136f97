// Finds files of a zip that its directory does not list: programs that read it from the front unpack them nevertheless.
import {
  contentOf,
  headersOf,
  LOCAL,
  readDirectory,
  startOf,
  windowOn,
  type Header,
  type Reach,
  type ZipLimits,
  type ZipSource,
} from './zip.ts'

const PIECE_BYTES = 512 * 1024
const LOCAL_BYTES = 30
/** APPNOTE.TXT 4.4.5: all methods ever defined. Checked because bytes of a program may look like a header by chance. */
const isMethod = (method: number) => method <= 20 || (method >= 92 && method <= 99)

export interface UnlistedEntry {
  name: string
  sizeBytes: number
  method: number
  content(): AsyncIterable<Uint8Array>
}

/**
 * The files before and between those that the directory lists.
 * @throws Error with a sentence when one cannot be opened, and when a listed file differs from its own header
 */
export async function* unlistedEntries(source: ZipSource, limits: ZipLimits): AsyncGenerator<UnlistedEntry> {
  const reach = windowOn(source)
  for (const { from, to } of await gapsOf(source, reach, limits)) {
    for (let at = from; at + LOCAL_BYTES <= to;) {
      const piece = await source.read(at, Math.min(PIECE_BYTES, to - at))
      const found = firstHeader(piece, { at, to, sizeBytes: source.sizeBytes })
      if (!found) {
        at += piece.length - LOCAL_BYTES + 1
        continue
      }
      const header = await named(source, found)
      yield {
        name: header.name,
        sizeBytes: header.sizeBytes,
        method: header.method,
        content: () => contentOf(source, reach, header),
      }
      at = Math.max(found.offset + LOCAL_BYTES, found.end)
    }
  }
}

interface Range {
  from: number
  to: number
}

async function gapsOf(source: ZipSource, reach: Reach, limits: ZipLimits): Promise<Range[]> {
  const directory = await readDirectory(source, limits)
  const most = Math.min(directory.count, Math.floor(directory.bytes.length / 46)) + 1
  // Two numbers for each file: a million objects would be 60 MB.
  const froms = new Float64Array(most)
  const tos = new Float64Array(most)
  froms[0] = directory.start
  tos[0] = directory.start + directory.bytes.length
  let count = 1
  for (const header of headersOf(directory)) {
    const start = await startOf(reach, header)
    await requireSame(reach, header)
    froms[count] = header.offset
    tos[count] = start + header.packedBytes
    count++
  }
  const order = Uint32Array.from({ length: count }, (_, n) => n)
  order.sort((a, b) => froms[a]! - froms[b]!)
  const gaps: Range[] = []
  let at = 0
  for (const n of order) {
    if (froms[n]! - at >= LOCAL_BYTES) gaps.push({ from: at, to: froms[n]! })
    at = Math.max(at, tos[n]!)
  }
  if (directory.end - at >= LOCAL_BYTES) gaps.push({ from: at, to: directory.end })
  return gaps
}

/** Checks that a reader from the front would unpack the file as the directory describes it. */
async function requireSame(reach: Reach, header: Header): Promise<void> {
  const local = await reach(header.offset, LOCAL_BYTES)
  const packedBytes = local.readUInt32LE(18)
  // Bit 3 of the flags: the sizes follow the content. Some writers leave them out without it.
  const isKnown = (local.readUInt16LE(6) & 8) === 0 && packedBytes !== 0 && packedBytes !== 0xffffffff
  if (local.readUInt16LE(8) !== header.method || (isKnown && packedBytes !== header.packedBytes))
    throw new Error(`${header.name} is not what the directory says`)
}

type Unnamed = Omit<Header, 'name'> & { nameBytes: number }

/** The first local header in a piece of a gap; other bytes may look like its magic. */
function firstHeader(piece: Buffer, gap: { at: number; to: number; sizeBytes: number }): Unnamed | null {
  const magic = Buffer.alloc(4)
  magic.writeUInt32LE(LOCAL)
  for (let at = piece.indexOf(magic); at >= 0 && at + LOCAL_BYTES <= piece.length; at = piece.indexOf(magic, at + 1)) {
    const [flags, method] = [piece.readUInt16LE(at + 6), piece.readUInt16LE(at + 8)]
    const [packedBytes, sizeBytes] = [piece.readUInt32LE(at + 18), piece.readUInt32LE(at + 22)]
    const nameBytes = piece.readUInt16LE(at + 26)
    const offset = gap.at + at
    const start = offset + LOCAL_BYTES + nameBytes + piece.readUInt16LE(at + 28)
    if (!isMethod(method) || nameBytes === 0 || start > gap.to) continue
    const end = start + (isOpenEnded({ flags, packedBytes }) ? 0 : packedBytes)
    if (end > gap.sizeBytes) continue
    return { flags, method, crc: piece.readUInt32LE(at + 14), packedBytes, sizeBytes, offset, end, nameBytes }
  }
  return null
}

/** Its end is known only after unpacking, or from a field that readers interpret differently. */
const isOpenEnded = ({ flags, packedBytes }: Pick<Header, 'flags' | 'packedBytes'>) =>
  (flags & 8) !== 0 || packedBytes === 0xffffffff

/** @throws Error when its content cannot be opened */
async function named(source: ZipSource, { nameBytes, ...header }: Unnamed): Promise<Header> {
  const name = (await source.read(header.offset + LOCAL_BYTES, nameBytes)).toString('utf8')
  if (header.flags & 1) throw new Error(`${name} is encrypted`)
  if (isOpenEnded(header)) throw new Error(`${name} is in it and not in its directory`)
  return { ...header, name }
}
