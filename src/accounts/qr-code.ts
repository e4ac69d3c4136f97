// Draws a QR code as a PNG image.
import { crc32, deflateSync } from 'node:zlib'
import { encode } from 'uqr'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
/** Pixels of one module: large enough to be scanned from a screen. */
const SCALE = 6
/** ISO/IEC 18004, section 5.3.8: the quiet zone around the code, in modules. */
const BORDER = 4

/** @returns a PNG with one bit per pixel (ISO/IEC 15948), below 2 KB for texts of 200 characters */
export function qrCodePng(text: string): Buffer {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER })
  const side = size * SCALE
  const bytesPerRow = Math.ceil(side / 8)
  const rows = data.flatMap((modules) => {
    // The first byte of a row names its filter: none. Black is 0.
    const row = Buffer.alloc(1 + bytesPerRow)
    for (let x = 0; x < side; x++) {
      if (!modules[Math.floor(x / SCALE)]) row[1 + (x >> 3)]! |= 0x80 >> (x & 7)
    }
    return Array<Buffer>(SCALE).fill(row)
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  // One bit, grey. Compression, filter and interlacing have their only or simplest value.
  header.set([1, 0, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
