// Opens an .rpm: lead, signature header and main header, whose digests are verified (rpm v4 and v6).
import { open, type FileHandle } from 'node:fs/promises'
import { invalid } from '../archive/limits.ts'
import { verifyHeaderDigests } from './digests.ts'
import { headerLength, INTRO_BYTES, parseHeader, type Header } from './header.ts'
import { REGION, TAG } from './tags.ts'

export interface RpmLayout {
  signature: Header
  header: Header
  /** offsets in the file: of the main header, and of the payload after it */
  headerStart: number
  payloadStart: number
  sizeBytes: number
}

export const LEAD_BYTES = 96
/** first bytes of the lead */
export const LEAD_MAGIC = Buffer.from([0xed, 0xab, 0xee, 0xdb])

// The largest known ones have signatures of single files; rpm itself stops at 64 MB and 256 MB.
const MOST_SIGNATURE_BYTES = 32 * 1024 ** 2
const MOST_HEADER_BYTES = 64 * 1024 ** 2
/** rpm 4.14 and later install this format (https://rpm.org/roadmap); seen with 4.18. */
export const NEWEST_FORMAT = 6

/**
 * https://rpm.org/docs/4.20.x/manual/format_v4.html, https://rpm.org/docs/6.0.x/manual/format_v6.html
 * @throws Problem('invalid_package'), for source packages too
 */
export async function readRpmLayout(path: string): Promise<RpmLayout> {
  const handle = await open(path, 'r')
  try {
    checkLead(await readExactly(handle, 0, LEAD_BYTES))
    const signatureBytes = await readHeaderBytes(handle, LEAD_BYTES, MOST_SIGNATURE_BYTES)
    const signature = parseHeader(signatureBytes, REGION.signatures, false)
    const headerStart = aligned(LEAD_BYTES + signatureBytes.length)
    const headerBytes = await readHeaderBytes(handle, headerStart, MOST_HEADER_BYTES)
    const header = parseHeader(headerBytes, REGION.immutable, true)
    checkKind(header)
    verifyHeaderDigests(signature, header)
    const { size: sizeBytes } = await handle.stat()
    return { signature, header, headerStart, payloadStart: headerStart + headerBytes.length, sizeBytes }
  } finally {
    await handle.close()
  }
}

/** The headers at the beginning of a file's content. Reads nothing after them. @throws Problem('invalid_package') */
export async function readRpmHeaders(
  content: AsyncIterable<Uint8Array>,
): Promise<Pick<RpmLayout, 'signature' | 'header'>> {
  const pieces: AsyncIterator<Uint8Array, unknown> = content[Symbol.asyncIterator]()
  let bytes = Buffer.alloc(0)
  /** The first `length` bytes. */
  async function upTo(length: number): Promise<Buffer> {
    const more = [bytes]
    for (let have = bytes.length; have < length;) {
      const next = await pieces.next()
      if (next.done) throw truncated()
      more.push(Buffer.from(next.value))
      have += next.value.length
    }
    if (more.length > 1) bytes = Buffer.concat(more)
    return bytes
  }
  async function headerAt(start: number, mostBytes: number): Promise<Buffer> {
    const length = headerLength((await upTo(start + INTRO_BYTES)).subarray(start), mostBytes)
    return (await upTo(start + length)).subarray(start, start + length)
  }
  try {
    checkLead(await upTo(LEAD_BYTES))
    const signature = parseHeader(await headerAt(LEAD_BYTES, MOST_SIGNATURE_BYTES), REGION.signatures, false)
    const headerStart = aligned(LEAD_BYTES + signature.bytes.length)
    return { signature, header: parseHeader(await headerAt(headerStart, MOST_HEADER_BYTES), REGION.immutable, true) }
  } finally {
    await pieces.return?.()
  }
}

/** The signature header is padded so that the next begins at a multiple of 8. */
export function aligned(offset: number): number {
  return Math.ceil(offset / 8) * 8
}

function checkLead(lead: Buffer): void {
  if (!lead.subarray(0, 4).equals(LEAD_MAGIC)) throw invalid('the file is no rpm package')
  const major = lead[4]
  const kind = lead.readUInt16BE(6)
  const signatureKind = lead.readUInt16BE(78)
  if (major !== 3 && major !== 4) throw invalid('the rpm package has an unknown format version')
  if (kind === 1) throw sourcePackage()
  if (kind !== 0 || signatureKind !== 5) throw invalid('the rpm package has a lead that cannot be read')
}

/** The format of the package: 4, or 6, the default of rpm 6. */
export function formatOf(header: Header): number {
  return header.number(TAG.RPMFORMAT) ?? 4
}

function checkKind(header: Header): void {
  const format = formatOf(header)
  if (format > NEWEST_FORMAT)
    throw invalid(`the package has the rpm format version ${format}; versions up to ${NEWEST_FORMAT} are known`)
  // rpm and dnf treat a package without a source as a source package.
  if (header.has(TAG.SOURCEPACKAGE) || !header.has(TAG.SOURCERPM)) throw sourcePackage()
}

const sourcePackage = () => invalid('the file is a source package (src.rpm); only binary packages are taken')

async function readHeaderBytes(handle: FileHandle, at: number, mostBytes: number): Promise<Buffer> {
  const length = headerLength(await readExactly(handle, at, INTRO_BYTES), mostBytes)
  const { size } = await handle.stat()
  // A hostile length must not allocate memory.
  if (at + length > size) throw truncated()
  return readExactly(handle, at, length)
}

async function readExactly(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length)
  for (let have = 0; have < length;) {
    const { bytesRead } = await handle.read(bytes, have, length - have, at + have)
    if (bytesRead === 0) throw truncated()
    have += bytesRead
  }
  return bytes
}

const truncated = () => invalid('the rpm package is truncated')
