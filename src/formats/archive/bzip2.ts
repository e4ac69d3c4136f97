// A bzip2 decoder that holds one block and gives its output in pieces.
import { setImmediate } from 'node:timers/promises'
import { Bits, readSymbol, readTable } from './bzip2-codes.ts'
import { createByteReader } from './byte-reader.ts'
import { invalid } from './limits.ts'

// Not unbzip2-stream: it collects a block's output byte by byte in an array, so a file of 50 bytes takes 1.1 GB (39 MB here,
// November 2026).

// More than any block can take: 2 + 900,000/50 groups of 50 symbols of 20 bits, selectors of 6 bits, tables.
const MOST_BLOCK_BYTES = 2_400_000
const BLOCK_MAGIC = 0x314159265359
const END_MAGIC = 0x177245385090
const GROUP_SIZE = 50
const OUT_BYTES = 128 * 1024

/**
 * All streams of a bzip2 file, checksums verified. The randomised blocks of bzip2 0.9 are refused.
 * @throws Problem('invalid_package') for damaged, truncated and trailing bytes
 */
export async function* unbzip2(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = createByteReader(source, 'bzip2 data')
  const bits = new Bits()
  // Large, so that a file of tiny blocks does not copy the rest for each of them.
  const refill = async () => {
    if (bits.bytesLeft() < MOST_BLOCK_BYTES) bits.append(await reader.readUpTo(4 * MOST_BLOCK_BYTES - bits.bytesLeft()))
  }
  // The largest block; shared by all streams, of which a file may have millions.
  const block = new Uint32Array(9 * 100_000)
  try {
    do {
      await refill()
      yield* stream(bits, block, refill)
      bits.align()
      await refill()
    } while (bits.bytesLeft() > 0)
  } finally {
    await reader.close()
  }
}

async function* stream(bits: Bits, largest: Uint32Array, refill: () => Promise<void>): AsyncGenerator<Uint8Array> {
  const header = [bits.read(8), bits.read(8), bits.read(8)]
  const level = bits.read(8) - 0x30
  if (String.fromCharCode(...header) !== 'BZh' || level < 1 || level > 9) throw invalid('the bzip2 data is damaged')
  const block = largest.subarray(0, level * 100_000)
  let combined = 0
  for (;;) {
    await refill()
    const magic = bits.read(24) * 0x1000000 + bits.read(24)
    const crc = bits.read32()
    if (magic === END_MAGIC) {
      if (crc !== combined) throw invalid('the bzip2 data is damaged')
      return
    }
    if (magic !== BLOCK_MAGIC) throw invalid('the bzip2 data is damaged')
    const { length, origin } = readBlock(bits, block)
    await setImmediate()
    const found = yield* unwind(block, length, origin)
    if (found !== crc) throw invalid('the bzip2 data is damaged')
    combined = (((combined << 1) | (combined >>> 31)) ^ found) >>> 0
  }
}

/** Huffman, move-to-front and run lengths of one block; leaves the transformed bytes in `block`. */
function readBlock(bits: Bits, block: Uint32Array): { length: number; origin: number } {
  if (bits.read(1) !== 0) throw invalid('the bzip2 data uses an obsolete form')
  const origin = bits.read(24)
  const symbols = readSymbols(bits)
  const endOfBlock = symbols.length + 1
  const tableCount = bits.read(3)
  const selectorCount = bits.read(15)
  if (symbols.length === 0 || tableCount < 2 || tableCount > 6 || selectorCount === 0)
    throw invalid('the bzip2 data is damaged')
  const selectors = readSelectors(bits, selectorCount, tableCount)
  const tables = Array.from({ length: tableCount }, () => readTable(bits, endOfBlock + 1))

  const recent = Uint8Array.from(symbols)
  let length = 0
  let run = 0
  let runUnit = 1
  for (let group = 0; group < selectorCount; group++) {
    const table = tables[selectors[group]!]!
    for (let n = 0; n < GROUP_SIZE; n++) {
      const symbol = readSymbol(bits, table)
      if (symbol <= 1) {
        // RUNA and RUNB: the run's length in bijective base 2. Checked each time, so that it cannot overflow.
        run += runUnit << symbol
        runUnit <<= 1
        if (run > block.length - length) throw invalid('the bzip2 data is damaged')
        continue
      }
      if (run > 0) {
        block.fill(recent[0]!, length, length + run)
        length += run
        run = 0
        runUnit = 1
      }
      if (symbol === endOfBlock) {
        if (origin >= length) throw invalid('the bzip2 data is damaged')
        return { length, origin }
      }
      if (length >= block.length) throw invalid('the bzip2 data is damaged')
      const byte = recent[symbol - 1]!
      recent.copyWithin(1, 0, symbol - 1)
      recent[0] = byte
      block[length++] = byte
    }
  }
  throw invalid('the bzip2 data is damaged')
}

function readSymbols(bits: Bits): number[] {
  const symbols: number[] = []
  const ranges = bits.read(16)
  for (let range = 0; range < 16; range++) {
    if (!(ranges & (0x8000 >> range))) continue
    const used = bits.read(16)
    for (let n = 0; n < 16; n++) if (used & (0x8000 >> n)) symbols.push(range * 16 + n)
  }
  return symbols
}

function readSelectors(bits: Bits, count: number, tableCount: number): Uint8Array {
  const order = Array.from({ length: tableCount }, (_, index) => index)
  return Uint8Array.from({ length: count }, () => {
    let rank = 0
    while (bits.read(1)) if (++rank >= tableCount) throw invalid('the bzip2 data is damaged')
    const [table] = order.splice(rank, 1)
    order.unshift(table!)
    return table!
  })
}

/** Undoes the Burrows-Wheeler transform and the first run-length code. @returns the block's CRC */
function* unwind(block: Uint32Array, length: number, origin: number): Generator<Uint8Array, number> {
  const starts = new Uint32Array(256)
  for (let n = 0; n < length; n++) starts[block[n]! & 0xff]!++
  for (let byte = 0, sum = 0; byte < 256; byte++) {
    const count = starts[byte]!
    starts[byte] = sum
    sum += count
  }
  for (let n = 0; n < length; n++) block[starts[block[n]! & 0xff]!++]! |= n << 8

  let crc = 0xffffffff
  let out = new Uint8Array(OUT_BYTES)
  let filled = 0
  let link = block[origin]! >>> 8
  let previous = -1
  let same = 0
  for (let n = 0; n < length; n++) {
    const entry = block[link]!
    const byte = entry & 0xff
    link = entry >>> 8
    let copies = 1
    let value = byte
    if (same === 4) {
      // After four equal bytes, the next byte says how often they repeat.
      copies = byte
      value = previous
      same = 0
      previous = -1
    } else {
      same = byte === previous ? same + 1 : 1
      previous = byte
    }
    for (let copy = 0; copy < copies; copy++) {
      crc = ((crc << 8) ^ CRC_TABLE[((crc >>> 24) ^ value) & 0xff]!) | 0
      out[filled++] = value
      if (filled === OUT_BYTES) {
        yield out
        out = new Uint8Array(OUT_BYTES)
        filled = 0
      }
    }
  }
  if (filled > 0) yield out.subarray(0, filled)
  return ~crc >>> 0
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  return crc
})
