// Signs an rpm: writes a new signature header before the unchanged main header and payload.
import { open, type FileHandle } from 'node:fs/promises'
import { fileRange } from '../archive/file-range.ts'
import type { Signers } from '../intake-format.ts'
import { coversPayload } from './digests.ts'
import { INTRO_BYTES, TYPE, type Header, type HeaderEntry } from './header.ts'
import { aligned, formatOf, LEAD_BYTES, readRpmLayout, type RpmLayout } from './open.ts'
import { parseSignaturePacket } from './signature-packet.ts'
import { REGION, SIGNATURE_TAG } from './tags.ts'

/** Tags of older signatures, and of the space that rpmbuild reserves for one. */
const REPLACED: readonly number[] = [
  SIGNATURE_TAG.DSA,
  SIGNATURE_TAG.RSA,
  SIGNATURE_TAG.OPENPGP,
  SIGNATURE_TAG.PGP,
  SIGNATURE_TAG.GPG,
  SIGNATURE_TAG.RESERVEDSPACE,
  SIGNATURE_TAG.RESERVED,
]
const { BIN, STRING_ARRAY } = TYPE
const INDEX_BYTES = 16
const ALIGNMENT: Readonly<Record<number, number>> = { 3: 2, 4: 4, 5: 8 }
const RSA_ALGORITHMS = [1, 3]

/**
 * Writes a copy of `path` to `to`, which must not exist; the caller flushes it. The signature is over the main header,
 * which states the payload's digest. Headers of rpm before 4.14 do not state it: clients accept such a package only with
 * a second signature, over header and payload (https://rpm.org/docs/4.20.x/manual/signatures_digests.html).
 * @throws Problem('invalid_package')
 */
export async function signRpm(path: string, to: string, signers: Signers, at: Date): Promise<void> {
  const layout = await readRpmLayout(path)
  const signatures = await makeSignatures(path, layout, (content) => signers.openpgp.detachBinary(content, at))
  const target = await open(to, 'wx', 0o644)
  try {
    for await (const piece of fileRange(path, 0, LEAD_BYTES)) await writeAll(target, piece)
    await writeAll(target, renderSignatureHeader(layout.signature, signatures))
    for await (const piece of fileRange(path, layout.headerStart)) await writeAll(target, piece)
  } finally {
    await target.close()
  }
}

type Sign = (content: Uint8Array | AsyncIterable<Uint8Array>) => Promise<Uint8Array>

async function makeSignatures(path: string, { header, headerStart }: RpmLayout, sign: Sign): Promise<NewEntry[]> {
  const overHeader = Buffer.from(await sign(header.bytes))
  const isRsa = RSA_ALGORITHMS.includes(parseSignaturePacket(overHeader)?.keyAlgorithm ?? 0)
  const entry = (tag: number, packet: Uint8Array) => ({ tag, type: BIN, count: packet.length, data: packet })
  const made: NewEntry[] = [entry(isRsa ? SIGNATURE_TAG.RSA : SIGNATURE_TAG.DSA, overHeader)]
  // rpm 6 reads the list of signatures of its own format, rpm 4.14 to 4.20 the older tags (rpmsign(1), `--rpmv4`).
  if (formatOf(header) >= 6) {
    const text = Buffer.from(`${overHeader.toString('base64')}\0`)
    made.push({ tag: SIGNATURE_TAG.OPENPGP, type: STRING_ARRAY, count: 1, data: text })
  }
  if (!coversPayload(header)) {
    const overAll = await sign(fileRange(path, headerStart))
    made.push(entry(isRsa ? SIGNATURE_TAG.PGP : SIGNATURE_TAG.GPG, overAll))
  }
  return made
}

interface NewEntry extends Pick<HeaderEntry, 'tag' | 'type' | 'count'> {
  data: Uint8Array
}

/** The signature header with our signatures, padded with zeros because the main header begins at a multiple of 8. */
function renderSignatureHeader(old: Header, signatures: readonly NewEntry[]): Buffer {
  const kept = old.entries
    .filter((entry) => !REPLACED.includes(entry.tag))
    .map((entry): NewEntry => ({ ...entry, data: old.bytes.subarray(entry.start, entry.end) }))
  const entries = [...kept, ...signatures].sort((a, b) => a.tag - b.tag)

  const data: Uint8Array[] = []
  let size = 0
  const index = entries.map(({ tag, type, count, data: bytes }) => {
    const padding = -size & ((ALIGNMENT[type] ?? 1) - 1)
    data.push(Buffer.alloc(padding), bytes)
    const offset = size + padding
    size = offset + bytes.length
    return indexEntry(tag, type, offset, count)
  })
  const covered = INDEX_BYTES * (index.length + 1)
  const intro = Buffer.alloc(INTRO_BYTES)
  old.bytes.copy(intro, 0, 0, 8)
  intro.writeUInt32BE(index.length + 1, 8)
  intro.writeUInt32BE(size + INDEX_BYTES, 12)
  const length = INTRO_BYTES + covered + size + INDEX_BYTES
  return Buffer.concat([
    intro,
    indexEntry(REGION.signatures, BIN, size, INDEX_BYTES),
    ...index,
    ...data,
    indexEntry(REGION.signatures, BIN, -covered, INDEX_BYTES),
    Buffer.alloc(aligned(LEAD_BYTES + length) - LEAD_BYTES - length),
  ])
}

function indexEntry(tag: number, type: number, offset: number, count: number): Buffer {
  const bytes = Buffer.alloc(INDEX_BYTES)
  bytes.writeUInt32BE(tag, 0)
  bytes.writeUInt32BE(type, 4)
  bytes.writeInt32BE(offset, 8)
  bytes.writeUInt32BE(count, 12)
  return bytes
}

async function writeAll(target: FileHandle, piece: Uint8Array): Promise<void> {
  for (let done = 0; done < piece.length;) done += (await target.write(piece, done)).bytesWritten
}
