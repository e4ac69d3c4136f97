// Damages bytes like accidents and attackers. The same seed gives the same damage.

/** Numbers in [0, 1) from a seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

type Damage = (bytes: Buffer, below: (n: number) => number, other: Buffer) => Buffer

const EXTREMES = [0, 1, 0x7f, 0x80, 0xff]
const NUMBERS = ['0', '-1', '9999999999', '4294967295', '18446744073709551616', '1e9', ' ', '7777777']

const DAMAGES: Damage[] = [
  // one bit
  (bytes, below) => edited(bytes, below(bytes.length), (byte) => byte ^ (1 << below(8))),
  // one byte, set to a random or an extreme value
  (bytes, below) => edited(bytes, below(bytes.length), () => below(256)),
  (bytes, below) => edited(bytes, below(bytes.length), () => EXTREMES[below(EXTREMES.length)] as number),
  // one byte near the beginning, where headers are
  (bytes, below) => edited(bytes, below(Math.min(512, bytes.length)), () => below(256)),
  // truncated
  (bytes, below) => bytes.subarray(0, below(bytes.length)),
  // a piece removed, repeated, moved, taken from another file, or filled with one value
  (bytes, below) =>
    ((from, length) => Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + length)]))(
      below(bytes.length),
      below(64),
    ),
  (bytes, below) =>
    ((from, length) => Buffer.concat([bytes.subarray(0, from + length), bytes.subarray(from)]))(
      below(bytes.length),
      below(600),
    ),
  (bytes, below) =>
    ((from, to) => Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, from + 100), bytes.subarray(to)]))(
      below(bytes.length),
      below(bytes.length),
    ),
  (bytes, below, other) => Buffer.concat([bytes.subarray(0, below(bytes.length)), other.subarray(below(other.length))]),
  (bytes, below) => filled(bytes, below(bytes.length), below(64), EXTREMES[below(EXTREMES.length)] as number),
  // a 32-bit number, as in binary headers
  (bytes, below) =>
    ((copy) => (
      copy.length >= 4 && copy.writeUInt32BE((2 ** below(33) - below(2)) >>> 0, below(copy.length - 3)),
      copy
    ))(Buffer.from(bytes)),
  // a decimal or octal number, as in ar and tar headers
  (bytes, below) =>
    ((at) => (at === -1 ? bytes : replaced(bytes, at, Buffer.from(NUMBERS[below(NUMBERS.length)] as string))))(
      findDigit(bytes, below(bytes.length)),
    ),
  // bytes appended
  (bytes, below, other) => Buffer.concat([bytes, other.subarray(0, below(2000))]),
]

/** Usually makes one mutation, and at most four, because a file with too much damage is refused at its first bytes. */
export function mutate(bytes: Buffer, other: Buffer, random: () => number): Buffer {
  const below = (n: number) => Math.floor(random() * Math.max(1, n))
  let damaged = bytes
  for (let left = 1 + below(2) * below(4); left > 0; left--)
    damaged = (DAMAGES[below(DAMAGES.length)] as Damage)(damaged, below, other)
  return damaged
}

function edited(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(bytes)
  if (at < copy.length) copy[at] = change(copy[at] as number)
  return copy
}

function filled(bytes: Buffer, from: number, length: number, value: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.fill(value, from, Math.min(copy.length, from + length))
  return copy
}

function replaced(bytes: Buffer, at: number, text: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  text.copy(copy, at)
  return copy
}

function findDigit(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++)
    if ((bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) return at
  return -1
}
