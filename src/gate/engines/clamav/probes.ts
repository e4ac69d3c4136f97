// Builds the archives that `limits.ts` sends to clamd. Pure.
import { crc32, deflateRawSync } from 'node:zlib'

export interface ProbeFile {
  name: string
  content: Buffer
}

/** The EICAR test file, assembled here so that no file of the program is detected as one (https://www.eicar.org). */
export function eicarFile(): ProbeFile {
  const text = 'X5O!P%@AP[4\\PZX54(P^)7CC)7}$' + 'EICAR-STANDARD-' + 'ANTIVIRUS-TEST-FILE!$H+H*'
  return { name: 'eicar.com', content: Buffer.from(text) }
}

/** APPNOTE.TXT 4.3. Equal contents are compressed once. */
export function zipOf(files: readonly ProbeFile[], options: { encrypted?: boolean } = {}): Buffer {
  const packedOf = new Map<Buffer, { packed: Buffer; crc: number }>()
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content } of files) {
    const { packed, crc } = packedOf.get(content) ?? {
      packed: deflateRawSync(content, { level: 1 }),
      crc: crc32(content),
    }
    packedOf.set(content, { packed, crc })
    const fixed = Buffer.alloc(26)
    fixed.writeUInt16LE(20, 0)
    fixed.writeUInt16LE(options.encrypted ? 1 : 0, 2)
    fixed.writeUInt16LE(8, 4)
    fixed.writeUInt32LE(crc, 10)
    fixed.writeUInt32LE(packed.length, 14)
    fixed.writeUInt32LE(content.length, 18)
    fixed.writeUInt16LE(name.length, 22)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fixed, tail, Buffer.from(name)]))
    const entry = [Buffer.from('PK\x03\x04'), fixed, Buffer.from(name), packed]
    parts.push(...entry)
    offset += entry.reduce((sum, part) => sum + part.length, 0)
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, index, Buffer.from('PK\x05\x06'), end])
}

/** A zip of one file that is marked as encrypted; its content is noise. */
export function encryptedZip(): Buffer {
  return zipOf([{ name: 'secret', content: Buffer.alloc(64, 'noise') }], { encrypted: true })
}

/** A ustar header of a regular file. */
export function tarHeader(name: string, sizeBytes: number): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${sizeBytes.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        0', 148)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
