// Reads the older cpio archives from a stream: "odc" (POSIX.1-1988, octal digits) and the binary form of both byte orders.
import { createByteReader, type ByteReader } from './byte-reader.ts'
import { createEntryContent, expectZeros } from './entry-content.ts'
import { invalid } from './limits.ts'

export interface OldCpioEntry {
  name: string
  sizeBytes: number
  /** Read it before the next step of the loop, which skips the rest. */
  content: AsyncIterable<Uint8Array>
}

const BINARY_BYTES = 26
const ODC_BYTES = 76
const LONGEST_NAME = 64 * 1024
/** PATH_MAX: with a longer name in the first entry, the bytes are probably not an archive. */
const LIKELY_NAME = 4096

type Form = 'odc' | 'little' | 'big'

/**
 * Whether these first bytes begin such an archive. The binary magic has only two bytes, so the name must be plausible as well.
 * @param head 512 bytes, or all of a shorter file
 */
export function beginsAsOldCpio(head: Uint8Array): boolean {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length)
  const form = formOf(bytes)
  if (form === null || form === 'odc') return form === 'odc'
  if (bytes.length < BINARY_BYTES) return false
  const nameBytes = word(bytes, 20, form)
  if (nameBytes === 0 || nameBytes > LIKELY_NAME) return false
  const last = BINARY_BYTES + nameBytes - 1
  return last >= bytes.length ? bytes.length >= 512 : bytes[last] === 0
}

/**
 * The entries up to the trailer; only zero bytes may follow it.
 * @throws Problem('invalid_package') for a damaged or truncated archive
 */
export async function* readOldCpio(source: AsyncIterable<Uint8Array>): AsyncGenerator<OldCpioEntry, void, undefined> {
  const reader = createByteReader(source, 'cpio archive')
  try {
    for (;;) {
      const { name, sizeBytes, align } = await readHeader(reader)
      if (name === 'TRAILER!!!') break
      const { content, finish } = createEntryContent(reader, sizeBytes, 'cpio archive')
      yield { name, sizeBytes, content }
      await finish(sizeBytes % align)
    }
    await expectZeros(reader, 'cpio archive')
  } finally {
    await reader.close()
  }
}

/** cpio(5) of libarchive describes both. @returns also the multiple of bytes at which names and contents end */
async function readHeader(reader: ByteReader): Promise<{ name: string; sizeBytes: number; align: 1 | 2 }> {
  const first = Buffer.from(await reader.read(6))
  const form = formOf(first)
  if (form === null) throw invalid('the cpio archive is damaged')
  const rest = await reader.read((form === 'odc' ? ODC_BYTES : BINARY_BYTES) - first.length)
  const header = Buffer.concat([first, rest])
  const align = form === 'odc' ? 1 : 2
  const nameBytes = form === 'odc' ? octal(header, 59, 6) : word(header, 20, form)
  // The upper half of a long number is first in both byte orders.
  const sizeBytes = form === 'odc' ? octal(header, 65, 11) : word(header, 22, form) * 65_536 + word(header, 24, form)
  if (nameBytes === 0 || nameBytes > LONGEST_NAME) throw invalid('the cpio archive is damaged')
  const raw = Buffer.from(await reader.read(nameBytes))
  await reader.skip(nameBytes % align)
  const end = raw.indexOf(0)
  if (end === -1) throw invalid('the cpio archive is damaged')
  return { name: raw.toString('utf8', 0, end), sizeBytes, align }
}

function formOf(bytes: Buffer): Form | null {
  if (bytes.toString('latin1', 0, 6) === '070707') return 'odc'
  if (bytes[0] === 0xc7 && bytes[1] === 0x71) return 'little'
  if (bytes[0] === 0x71 && bytes[1] === 0xc7) return 'big'
  return null
}

const word = (bytes: Buffer, at: number, form: Form): number =>
  form === 'big' ? bytes.readUInt16BE(at) : bytes.readUInt16LE(at)

function octal(bytes: Buffer, at: number, length: number): number {
  const text = bytes.toString('latin1', at, at + length)
  if (!/^[0-7]+$/.test(text)) throw invalid('the cpio archive is damaged')
  return parseInt(text, 8)
}
