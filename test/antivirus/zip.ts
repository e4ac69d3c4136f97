// Zip files whose scan takes long: many entries, or a few long ones of one repeated byte.
import { randomBytes } from 'node:crypto'
import { crc32, deflateRawSync } from 'node:zlib'

/**
 * A zip of `count` entries of `bytes` bytes each. Every call makes different content, because clamd remembers files that it
 * reported as clean. See APPNOTE.TXT 4.3 for the two headers.
 */
export function zipOf(count: number, bytes = 0): Buffer {
  const salt = randomBytes(8).toString('hex')
  const entries: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (let n = 0; n < count; n++) {
    const name = Buffer.from(`f${n}`)
    const content = Buffer.alloc(bytes + 32)
    content.write(`${salt}${n}`)
    const packed = deflateRawSync(content)
    const fixed = Buffer.alloc(26)
    fixed.writeUInt16LE(20, 0)
    fixed.writeUInt16LE(8, 4)
    fixed.writeUInt32LE(crc32(content), 10)
    fixed.writeUInt32LE(packed.length, 14)
    fixed.writeUInt32LE(content.length, 18)
    fixed.writeUInt16LE(name.length, 22)
    const entry = Buffer.concat([Buffer.from('PK\x03\x04'), fixed, name, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fixed, tail, name]))
    entries.push(entry)
    offset += entry.length
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...entries, index, Buffer.from('PK\x05\x06'), end])
}
