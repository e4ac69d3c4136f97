// Wheels of any size that are made while they are sent.
import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const MIB = 1024 * 1024

export interface LargeWheel {
  filename: string
  sizeBytes: number
  sha256: string
  /** the same bytes each time */
  pieces(): Iterable<Buffer>
}

interface Entry {
  name: string
  sizeBytes: number
  crc: number
  pieces(): Iterable<Buffer>
}

/** @param mebibytes of the file that fills it */
export function largeWheel(name: string, mebibytes: number): LargeWheel {
  const noise = randomBytes(MIB)
  const entries = [repeated(`${name}/weights.bin`, noise, mebibytes)]
  const stem = `${name}-1.0.dist-info`
  const texts = {
    METADATA: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n\n`,
    WHEEL: 'Wheel-Version: 1.0\nGenerator: sample\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  }
  for (const [file, text] of Object.entries(texts)) entries.push(repeated(`${stem}/${file}`, Buffer.from(text), 1))
  const recorded = entries.map(
    (entry) => `${entry.name},sha256=${hashOf(entry.pieces(), 'base64url')},${entry.sizeBytes}`,
  )
  entries.push(repeated(`${stem}/RECORD`, Buffer.from([...recorded, `${stem}/RECORD,,`, ''].join('\n')), 1))
  const pieces = () => zipOf(entries)
  let sizeBytes = 0
  for (const piece of pieces()) sizeBytes += piece.length
  return { filename: `${name}-1.0-py3-none-any.whl`, sizeBytes, sha256: hashOf(pieces(), 'hex'), pieces }
}

function repeated(name: string, piece: Buffer, times: number): Entry {
  let crc = 0
  for (let n = 0; n < times; n++) crc = crc32(piece, crc)
  function* pieces() {
    for (let n = 0; n < times; n++) yield piece
  }
  return { name, sizeBytes: piece.length * times, crc, pieces }
}

function hashOf(pieces: Iterable<Buffer>, encoding: 'hex' | 'base64url'): string {
  const digest = createHash('sha256')
  for (const piece of pieces) digest.update(piece)
  return digest.digest(encoding)
}

/** Without compression; see APPNOTE.TXT 4.3 for the headers. */
function* zipOf(entries: readonly Entry[]): Generator<Buffer> {
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, sizeBytes, crc, pieces } of entries) {
    const label = Buffer.from(name)
    const fixed = Buffer.alloc(26)
    fixed.writeUInt16LE(20, 0)
    fixed.writeUInt32LE(crc, 10)
    fixed.writeUInt32LE(sizeBytes, 14)
    fixed.writeUInt32LE(sizeBytes, 18)
    fixed.writeUInt16LE(label.length, 22)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fixed, tail, label]))
    yield Buffer.concat([Buffer.from('PK\x03\x04'), fixed, label])
    yield* pieces()
    offset += 30 + label.length + sizeBytes
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  yield Buffer.concat([index, Buffer.from('PK\x05\x06'), end])
}
