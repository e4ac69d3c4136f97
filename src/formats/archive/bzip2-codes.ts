// The bits of a bzip2 stream and the Huffman codes in them.
import { invalid } from './limits.ts'

const MAX_CODE_BITS = 20

/** A queue of bits: bytes are appended, bits are read from the front. */
export class Bits {
  private bytes: Uint8Array = new Uint8Array(0)
  private at = 0
  private pool = 0
  private pooled = 0

  append(more: Uint8Array): void {
    if (more.length === 0) return
    this.bytes = this.at === this.bytes.length ? more : Buffer.concat([this.bytes.subarray(this.at), more])
    this.at = 0
  }

  bytesLeft(): number {
    return this.bytes.length - this.at
  }

  /** The next `count` bits, at most 24, without taking them. */
  peek(count: number): number {
    while (this.pooled < count) {
      if (this.at === this.bytes.length) throw invalid('the bzip2 data is truncated')
      this.pool = (this.pool << 8) | this.bytes[this.at++]!
      this.pooled += 8
    }
    return (this.pool >>> (this.pooled - count)) & ((1 << count) - 1)
  }

  drop(count: number): void {
    this.pooled -= count
  }

  /** Takes `count` bits, at most 24. */
  read(count: number): number {
    const value = this.peek(count)
    this.pooled -= count
    return value
  }

  read32(): number {
    return this.read(16) * 0x10000 + this.read(16)
  }

  /** Drops the rest of a byte; whole bytes that were peeked at are returned. */
  align(): void {
    this.at -= this.pooled >> 3
    this.pooled = 0
  }
}

export interface CodeTable {
  /** by the next FAST_BITS bits: `symbol << 5 | length of its code`, 0 where the code is longer */
  fast: Uint16Array
  /** per length: one more than its last code, aligned to MAX_CODE_BITS */
  limit: Int32Array
  /** per length: what added to a code gives its index in `byCode` */
  offset: Int32Array
  byCode: Uint16Array
}

const FAST_BITS = 10

export function readTable(bits: Bits, size: number): CodeTable {
  const lengths = new Uint8Array(size)
  let length = bits.read(5)
  for (let symbol = 0; symbol < size; symbol++) {
    for (;;) {
      if (length < 1 || length > MAX_CODE_BITS) throw invalid('the bzip2 data is damaged')
      if (!bits.read(1)) break
      length += bits.read(1) ? -1 : 1
    }
    lengths[symbol] = length
  }

  // Canonical codes: those of one length are consecutive, and begin at twice the end of the previous length.
  const byCode = new Uint16Array(size)
  const fast = new Uint16Array(1 << FAST_BITS)
  const limit = new Int32Array(MAX_CODE_BITS + 1)
  const offset = new Int32Array(MAX_CODE_BITS + 1)
  let code = 0
  let index = 0
  for (let bitCount = 1; bitCount <= MAX_CODE_BITS; bitCount++) {
    code *= 2
    offset[bitCount] = index - code
    for (let symbol = 0; symbol < size; symbol++) {
      if (lengths[symbol] !== bitCount) continue
      byCode[index++] = symbol
      const spread = FAST_BITS - bitCount
      if (spread >= 0) fast.fill((symbol << 5) | bitCount, code << spread, (code + 1) << spread)
      code++
    }
    // More codes than bit patterns: impossible lengths.
    if (code > 2 ** bitCount) throw invalid('the bzip2 data is damaged')
    limit[bitCount] = code * 2 ** (MAX_CODE_BITS - bitCount)
  }
  return { fast, limit, offset, byCode }
}

export function readSymbol(bits: Bits, table: CodeTable): number {
  const ahead = bits.peek(MAX_CODE_BITS)
  const short = table.fast[ahead >>> (MAX_CODE_BITS - FAST_BITS)]!
  if (short !== 0) {
    bits.drop(short & 31)
    return short >>> 5
  }
  for (let length = FAST_BITS + 1; length <= MAX_CODE_BITS; length++) {
    if (ahead >= table.limit[length]!) continue
    bits.drop(length)
    return table.byCode[(ahead >>> (MAX_CODE_BITS - length)) + table.offset[length]!]!
  }
  throw invalid('the bzip2 data is damaged')
}
