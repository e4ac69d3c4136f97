// Refuses zips that programs unpack differently: from the front or from the directory, by one header or the other.
import {
  END64_LOCATOR,
  headersOf,
  readDirectory,
  windowOn,
  type Header,
  type Reach,
  type ZipLimits,
  type ZipSource,
} from './zip.ts'

const LOCAL_BYTES = 30
const END_BYTES = 22
const END64_BYTES = 56 + 20
const HAS_DESCRIPTOR = 8
const IS_UTF8 = 0x800
const FULL = 0xffffffff
/** Extra fields: sizes of 64 bits; a name in Unicode, which some readers prefer to the name. */
const ZIP64 = 1
const UNICODE_NAME = 0x7075

/**
 * Files follow each other without gaps, and their own headers say what the directory says. No name is there twice, leads out, or is a
 * link. Content is stored or deflated.
 * @throws Error with a sentence
 */
export async function requireOneView(source: ZipSource, limits: ZipLimits): Promise<void> {
  const directory = await readDirectory(source, limits)
  await requireEnd(source, directory)
  const reach = windowOn(source)
  const names = new Set<string>()
  const places: { from: number; to: number }[] = []
  let at = 0
  for (const header of headersOf(directory)) {
    const central = directory.bytes.subarray(at, header.end)
    at = header.end
    requireName(header, central, names)
    places.push({ from: header.offset, to: await endOf(reach, source, header, central) })
  }
  places.sort((a, b) => a.from - b.from)
  let next = 0
  for (const { from, to } of places) {
    if (from !== next) throw new Error('it has bytes between its files, or files that overlap')
    next = to
  }
  if (next !== directory.start) throw new Error('it has bytes between its files and its directory')
}

type Directory = Awaited<ReturnType<typeof readDirectory>>

async function requireEnd(source: ZipSource, { bytes, count, shift, start, end }: Directory): Promise<void> {
  if (shift !== 0) throw new Error('it has bytes before its first file')
  if (end + END_BYTES !== source.sizeBytes) throw new Error('it has a comment, or bytes after its end')
  const gap = end - start - bytes.length
  const has64 = gap === END64_BYTES && (await source.read(end - 20, 4)).readUInt32LE(0) === END64_LOCATOR
  if (gap !== 0 && !has64) throw new Error('it has bytes after its directory')
  const record = await source.read(end, END_BYTES)
  const agrees = (value: number, said: number, full: number) => said === value || (has64 && said === full)
  if (
    record.readUInt32LE(4) !== 0 ||
    !agrees(count, record.readUInt16LE(8), 0xffff) ||
    !agrees(count, record.readUInt16LE(10), 0xffff) ||
    !agrees(bytes.length, record.readUInt32LE(12), FULL) ||
    !agrees(start, record.readUInt32LE(16), FULL)
  )
    throw new Error('its two end records differ')
}

function requireName({ name, flags, method }: Header, central: Buffer, names: Set<string>): void {
  const path = name.replace(/\/$/, '')
  if (/[\x00-\x1f\x7f\\]|^[A-Za-z]:/.test(path) || path.split('/').some((part) => ['', '.', '..'].includes(part)))
    throw new Error(`${JSON.stringify(name.slice(0, 80))} is no path inside of it`)
  if (/[^\x00-\x7f]/.test(name) && (flags & IS_UTF8) === 0) throw new Error('it has a name in an unknown encoding')
  if (names.has(path)) throw new Error(`${name} is in it twice`)
  names.add(path)
  // The upper half of the external attributes is the mode of Unix.
  const type = (central.readUInt32LE(38) >>> 28) & 0xf
  if (type !== 0 && type !== 8 && type !== 4) throw new Error(`${name} is neither a file nor a directory`)
  if (method !== 0 && method !== 8) throw new Error(`${name} is compressed in a way that not every program knows`)
}

/** Where the file ends. @throws Error when its own header says something else than the directory */
async function endOf(reach: Reach, source: ZipSource, header: Header, central: Buffer): Promise<number> {
  const { offset, name, packedBytes, sizeBytes, crc } = header
  const differs = () => new Error(`${name} is not what the directory says`)
  const fixed = Buffer.from(await reach(offset, LOCAL_BYTES))
  const nameBytes = fixed.readUInt16LE(26)
  const extraBytes = fixed.readUInt16LE(28)
  const rest = Buffer.from(await reach(offset + LOCAL_BYTES, nameBytes + extraBytes))
  const extra = extrasOf(rest.subarray(nameBytes))
  const centralName = central.subarray(46, 46 + central.readUInt16LE(28))
  const centralExtra = central.subarray(46 + centralName.length).subarray(0, central.readUInt16LE(30))
  if (!rest.subarray(0, nameBytes).equals(centralName)) throw differs()
  if (fixed.readUInt16LE(6) !== header.flags || fixed.readUInt16LE(8) !== header.method) throw differs()
  if (extra.has(UNICODE_NAME) || extrasOf(centralExtra).has(UNICODE_NAME)) throw new Error(`${name} has two names`)
  const local = localSizes(fixed, extra.get(ZIP64))
  const isOpen = (header.flags & HAS_DESCRIPTOR) !== 0
  const agrees = (value: number, said: number) => said === value || (isOpen && said === 0)
  if (!agrees(crc, local.crc) || !agrees(packedBytes, local.packed) || !agrees(sizeBytes, local.size)) throw differs()
  const end = offset + LOCAL_BYTES + nameBytes + extraBytes + packedBytes
  if (!isOpen) return end
  const length = descriptorLength(await source.read(end, Math.min(24, source.sizeBytes - end)), header)
  if (length === null) throw differs()
  return end + length
}

function localSizes(fixed: Buffer, wide: Buffer | undefined) {
  const sizes = { crc: fixed.readUInt32LE(14), packed: fixed.readUInt32LE(18), size: fixed.readUInt32LE(22) }
  if (!wide || wide.length < 16 || (sizes.packed !== FULL && sizes.size !== FULL)) return sizes
  return { ...sizes, size: Number(wide.readBigUInt64LE(0)), packed: Number(wide.readBigUInt64LE(8)) }
}

function extrasOf(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>()
  for (let at = 0; at + 4 <= bytes.length; at += 4 + bytes.readUInt16LE(at + 2))
    found.set(bytes.readUInt16LE(at), bytes.subarray(at + 4, at + 4 + bytes.readUInt16LE(at + 2)))
  return found
}

/** APPNOTE.TXT 4.3.9: with or without a signature, with sizes of 32 or 64 bits. */
function descriptorLength(bytes: Buffer, { crc, packedBytes, sizeBytes }: Header): number | null {
  const number = (value: number, wide: boolean) => {
    const buffer = Buffer.alloc(8)
    buffer.writeBigUInt64LE(BigInt(value))
    return wide ? buffer : buffer.subarray(0, 4)
  }
  for (const start of [Buffer.from('PK\x07\x08'), Buffer.alloc(0)])
    for (const wide of [false, true]) {
      const wanted = Buffer.concat([start, number(crc, false), number(packedBytes, wide), number(sizeBytes, wide)])
      if (bytes.subarray(0, wanted.length).equals(wanted)) return wanted.length
    }
  return null
}
