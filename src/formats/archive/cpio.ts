// Reads a cpio archive of the "newc" family from a stream.
import { createByteReader, type ByteReader } from './byte-reader.ts'
import { createEntryContent, expectZeros } from './entry-content.ts'
import { invalid, tooLarge } from './limits.ts'

export interface CpioEntry {
  /** As written, without NUL; bytes that are not UTF-8 become U+FFFD. Empty if rpm stripped it. */
  name: string
  /** POSIX mode with the file type bits; 0 if rpm stripped it */
  mode: number
  inode: number
  links: number
  modifiedAt: number
  sizeBytes: number
  /** Index into the rpm header's file list, for rpm's stripped entries (`07070X`), else null. */
  fileIndex: number | null
  /** Read it before the next step of the loop, which skips the rest. */
  content: AsyncIterable<Uint8Array>
}

export interface CpioOptions {
  mostEntries?: number
  /** total of all entries; checked against the declared sizes before anything is unpacked */
  mostBytes?: number
  /**
   * Sizes of the files of an rpm header by index. A stripped entry carries no size of its own
   * (https://rpm.org/docs/latest/manual/format_payload.html).
   */
  strippedSize?: (fileIndex: number) => number | undefined
}

const HEADER_BYTES = 110
const LONGEST_NAME = 64 * 1024

/**
 * The entries up to the trailer; only zero bytes may follow it. Formats 070701, 070702 and rpm's 07070X.
 * @throws Problem('invalid_package') for an archive that is damaged, truncated or beyond the limits
 */
export async function* readCpio(
  source: AsyncIterable<Uint8Array>,
  { mostEntries = 1_000_000, mostBytes = Infinity, strippedSize }: CpioOptions = {},
): AsyncGenerator<CpioEntry, void, undefined> {
  const reader = createByteReader(source, 'cpio archive')
  try {
    for (let count = 0, bytes = 0; ; count++) {
      const magic = ascii(await reader.read(6))
      const stripped = magic === '07070X'
      if (!stripped && magic !== '070701' && magic !== '070702') throw invalid('the cpio archive is damaged')
      const entry = stripped ? await readStripped(reader, strippedSize) : await readHeader(reader)
      if (entry.name === 'TRAILER!!!' && !stripped) break
      if (count === mostEntries) throw invalid('the cpio archive has too many entries')
      if ((bytes += entry.sizeBytes) > mostBytes) throw tooLarge(mostBytes)
      const { content, finish } = createEntryContent(reader, entry.sizeBytes, 'cpio archive')
      yield { ...entry, content }
      await finish(padding(entry.sizeBytes))
    }
    await expectZeros(reader, 'cpio archive')
  } finally {
    await reader.close()
  }
}

type Header = Omit<CpioEntry, 'content'>

async function readHeader(reader: ByteReader): Promise<Header> {
  const text = ascii(await reader.read(HEADER_BYTES - 6))
  // inode mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
  const fields = Array.from({ length: 13 }, (_, index) => hex(text.slice(index * 8, index * 8 + 8)))
  const nameBytes = fields[11]!
  if (nameBytes === 0 || nameBytes > LONGEST_NAME) throw invalid('the cpio archive is damaged')
  const raw = await reader.read(nameBytes)
  await reader.skip(padding(HEADER_BYTES + nameBytes))
  const cut = raw.indexOf(0)
  if (cut === -1) throw invalid('the cpio archive is damaged')
  return {
    name: Buffer.from(raw.subarray(0, cut)).toString('utf8'),
    inode: fields[0]!,
    mode: fields[1]!,
    links: fields[4]!,
    modifiedAt: fields[5]!,
    sizeBytes: fields[6]!,
    fileIndex: null,
  }
}

async function readStripped(reader: ByteReader, sizeOf: CpioOptions['strippedSize']): Promise<Header> {
  const fileIndex = hex(ascii(await reader.read(8)))
  // The header has 14 bytes, and is padded to a multiple of 4 like every other.
  await reader.skip(2)
  const sizeBytes = sizeOf?.(fileIndex)
  if (sizeBytes === undefined || !Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
    throw invalid('the cpio archive is damaged')
  return { name: '', inode: 0, mode: 0, links: 1, modifiedAt: 0, sizeBytes, fileIndex }
}

const padding = (length: number): number => (4 - (length % 4)) % 4
const ascii = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

function hex(text: string): number {
  if (!/^[0-9a-fA-F]{8}$/.test(text)) throw invalid('the cpio archive is damaged')
  return parseInt(text, 16)
}
