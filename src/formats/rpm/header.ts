// One rpm header structure, an index of tags and their data, checked as a whole before it is read.
import { isUtf8 } from 'node:buffer'
import { invalid } from '../archive/limits.ts'

/** https://rpm.org/docs/4.20.x/manual/format_header.html */
export const TYPE = {
  CHAR: 1,
  INT8: 2,
  INT16: 3,
  INT32: 4,
  INT64: 5,
  STRING: 6,
  BIN: 7,
  STRING_ARRAY: 8,
  I18NSTRING: 9,
} as const

export const INTRO_BYTES = 16
const INDEX_BYTES = 16
const MAGIC = Buffer.from([0x8e, 0xad, 0xe8, 0x01, 0, 0, 0, 0])
/** Bytes of one item, which is also its alignment; texts have none of their own. */
const WIDTHS: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 1, 9: 1 }
// rpm's own limit of the index.
const MOST_ENTRIES = 65_535
const FIRST_TAG = 100

export interface HeaderEntry {
  tag: number
  type: number
  count: number
  /** within the header's bytes */
  start: number
  end: number
}

/** A checked header. Values are decoded when read. */
export interface Header {
  /** the whole header, from the magic to the end of the data */
  readonly bytes: Buffer
  /** in the order of the index, without the region */
  readonly entries: readonly HeaderEntry[]
  has(tag: number): boolean
  /** A text, or the first of several (the untranslated one); null if the tag is missing. */
  text(tag: number): string | null
  /** @param most items that are accepted; with more the header is refused */
  texts(tag: number, most: number): string[]
  number(tag: number): number | null
  numbers(tag: number, most: number): number[]
  data(tag: number): Buffer | null
  /** how many items a tag has */
  count(tag: number): number
  /** some texts of an array, counted from its beginning */
  textsBetween(tag: number, from: number, to: number): string[]
}

/** Total length of the header. @throws Problem('invalid_package') */
export function headerLength(intro: Uint8Array, mostBytes: number): number {
  const bytes = Buffer.from(intro.buffer, intro.byteOffset, intro.byteLength)
  if (bytes.length < INTRO_BYTES || !bytes.subarray(0, 8).equals(MAGIC)) throw invalid('the package has no rpm header')
  const entries = bytes.readUInt32BE(8)
  const length = INTRO_BYTES + INDEX_BYTES * entries + bytes.readUInt32BE(12)
  if (entries === 0 || entries > MOST_ENTRIES || length > mostBytes) throw invalid('the rpm header is too large')
  return length
}

/**
 * Checks the index as rpm does: types, alignment, entries that neither overlap nor leave the data.
 * @param region tag of the region, which must cover everything if `whole` is true: no signature and no digest covers the
 *   bytes outside
 * @throws Problem('invalid_package')
 */
export function parseHeader(bytes: Buffer, region: number, whole: boolean): Header {
  const count = bytes.readUInt32BE(8)
  const dataStart = INTRO_BYTES + INDEX_BYTES * count
  const hasRegion = bytes.readUInt32BE(INTRO_BYTES) === region
  if (!hasRegion && whole) throw damaged()
  const dataEnd = hasRegion ? checkRegion(bytes, dataStart, whole) : bytes.length

  const entries: HeaderEntry[] = []
  const byTag = new Map<number, HeaderEntry>()
  let free = dataStart
  for (let index = hasRegion ? 1 : 0; index < count; index++) {
    const at = INTRO_BYTES + INDEX_BYTES * index
    const tag = bytes.readUInt32BE(at)
    const type = bytes.readUInt32BE(at + 4)
    const start = dataStart + bytes.readUInt32BE(at + 8)
    const items = bytes.readUInt32BE(at + 12)
    const width = WIDTHS[type]
    if (tag < FIRST_TAG || width === undefined || (start - dataStart) % width !== 0) throw damaged()
    if (start < free || items === 0 || (type === TYPE.STRING && items !== 1)) throw damaged()
    if (byTag.has(tag)) throw invalid('the rpm header has a tag twice')
    const end = isText(type) ? endOfTexts(bytes, start, items, dataEnd) : start + width * items
    if (end > dataEnd) throw damaged()
    free = end
    const entry = { tag, type, count: items, start, end }
    entries.push(entry)
    byTag.set(tag, entry)
  }
  return createHeader(bytes, entries, byTag)
}

/**
 * The region's data is its trailer, a copy of its index entry whose offset is minus the size of the index covered.
 * @returns where the data of ordinary tags must end
 */
function checkRegion(bytes: Buffer, dataStart: number, whole: boolean): number {
  const type = bytes.readUInt32BE(INTRO_BYTES + 4)
  const offset = bytes.readUInt32BE(INTRO_BYTES + 8)
  const count = bytes.readUInt32BE(INTRO_BYTES + 12)
  const trailer = dataStart + offset
  if (type !== TYPE.BIN || count !== INDEX_BYTES || trailer + INDEX_BYTES > bytes.length) throw damaged()
  const covered = -bytes.readInt32BE(trailer + 8)
  if (bytes.readUInt32BE(trailer + 4) !== TYPE.BIN || bytes.readUInt32BE(trailer + 12) !== INDEX_BYTES) throw damaged()
  if (covered <= 0 || covered % INDEX_BYTES !== 0 || covered > dataStart - INTRO_BYTES) throw damaged()
  if (!whole) return bytes.length
  if (bytes.readUInt32BE(trailer) !== bytes.readUInt32BE(INTRO_BYTES)) throw damaged()
  if (covered !== dataStart - INTRO_BYTES || trailer + INDEX_BYTES !== bytes.length) throw damaged()
  return trailer
}

function createHeader(bytes: Buffer, entries: HeaderEntry[], byTag: ReadonlyMap<number, HeaderEntry>): Header {
  function find(tag: number, kinds: (type: number) => boolean): HeaderEntry | null {
    const entry = byTag.get(tag)
    if (entry && !kinds(entry.type)) throw invalid('the rpm header has a tag of a wrong type')
    return entry ?? null
  }

  function textsBetween(tag: number, from: number, to: number): string[] {
    const entry = find(tag, isText)
    if (!entry) return []
    if (from === 0 && to >= entry.count) return decodeAll(bytes.subarray(entry.start, entry.end))
    const found: string[] = []
    let at = entry.start
    for (let index = 0; index < Math.min(to, entry.count); index++) {
      const end = bytes.indexOf(0, at)
      if (index >= from) found.push(decode(bytes.subarray(at, end)))
      at = end + 1
    }
    return found
  }

  function numbers(tag: number, most: number): number[] {
    const entry = find(tag, isNumber)
    if (!entry) return []
    if (entry.count > most) throw tooMany()
    const found = new Array<number>(entry.count)
    for (let index = 0; index < entry.count; index++) found[index] = numberAt(bytes, entry, index)
    return found
  }

  return {
    bytes,
    entries,
    has: (tag) => byTag.has(tag),
    count: (tag) => byTag.get(tag)?.count ?? 0,
    text: (tag) => textsBetween(tag, 0, 1)[0] ?? null,
    texts(tag, most) {
      const count = byTag.get(tag)?.count ?? 0
      if (count > most) throw tooMany()
      return textsBetween(tag, 0, count)
    },
    textsBetween,
    number(tag) {
      const entry = find(tag, isNumber)
      return entry ? numberAt(bytes, entry, 0) : null
    },
    numbers,
    data(tag) {
      const entry = find(tag, (type) => type === TYPE.BIN)
      return entry ? bytes.subarray(entry.start, entry.end) : null
    },
  }
}

function numberAt(bytes: Buffer, { type, start }: HeaderEntry, index: number): number {
  switch (type) {
    case TYPE.INT16:
      return bytes.readUInt16BE(start + 2 * index)
    case TYPE.INT32:
      return bytes.readUInt32BE(start + 4 * index)
    case TYPE.INT64:
      return Number(bytes.readBigUInt64BE(start + 8 * index))
    default:
      return bytes[start + index]!
  }
}

/** The offset after the last NUL of `count` texts; beyond `limit` if there are fewer. */
function endOfTexts(bytes: Buffer, start: number, count: number, limit: number): number {
  let left = count
  let at = start
  while (left > 0 && at < limit) if (bytes[at++] === 0) left--
  return left === 0 ? at : limit + 1
}

const isText = (type: number): boolean => type === TYPE.STRING || type === TYPE.STRING_ARRAY || type === TYPE.I18NSTRING
const isNumber = (type: number): boolean => type >= TYPE.CHAR && type <= TYPE.INT64
const damaged = () => invalid('the rpm header is damaged')
const tooLong = () => invalid('the rpm header has a text that is too long')
const tooMany = () => invalid('the rpm header has too many items in a list')

// Far above any real description.
const LONGEST_TEXT = 1024 * 1024

/** UTF-8 or, in old packages, Latin-1. */
function decode(bytes: Buffer): string {
  if (bytes.length > LONGEST_TEXT) throw tooLong()
  return isUtf8(bytes) ? bytes.toString('utf8') : bytes.toString('latin1')
}

/** Texts that each end in NUL. If all are UTF-8, they are decoded at once, which is ten times as fast for long lists. */
function decodeAll(bytes: Buffer): string[] {
  const whole = isUtf8(bytes)
  // Latin-1 keeps every byte, so that each text can be decoded again.
  const texts = bytes.toString(whole ? 'utf8' : 'latin1', 0, bytes.length - 1).split('\0')
  if (texts.some((text) => text.length > LONGEST_TEXT)) throw tooLong()
  return whole ? texts : texts.map((text) => decode(Buffer.from(text, 'latin1')))
}
