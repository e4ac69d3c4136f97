// Picks values out of JSON while it arrives. The rest is skipped, so a body of any size takes only what was picked.
import { invalidField } from '../domain/problem.ts'

/** `whole`: the value; `pieces`: the text of a string as it arrives; `inside`: what is in it is asked for */
export type Wanted = 'whole' | 'pieces' | 'inside' | 'nothing'

export type Picked = { path: string[]; value: unknown } | { path: string[]; piece: Buffer }

interface Level {
  isArray: boolean
  /** of the member that is being read */
  key: string
  index: number
  isWanted: boolean
}

type State = 'value' | 'key' | 'colon' | 'after' | 'text' | 'word' | 'done'

const MOST_DEPTH = 64
const LONGEST_KEY = 4096
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * @param want asked for each value with the keys that lead to it; indexes of arrays are keys too
 * @param mostBytes of all values that are picked as a whole
 * @throws Problem('validation_error') for text that is not JSON, and beyond the limits; skipped words are not checked
 */
export async function* pickJson(
  source: AsyncIterable<Uint8Array>,
  want: (path: readonly string[]) => Wanted,
  mostBytes: number,
): AsyncGenerator<Picked, void, undefined> {
  const machine = createMachine(want, mostBytes)
  for await (const piece of source) yield* machine.take(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
  yield* machine.end()
}

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
const isWord = (byte: number) =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  byte === 0x2d ||
  byte === 0x2b ||
  byte === 0x2e ||
  byte === 0x45
const broken = () => invalidField('body', 'is not valid JSON')

function createMachine(want: (path: readonly string[]) => Wanted, mostBytes: number) {
  const levels: Level[] = []
  let state: State = 'value'
  /** whether the end of the list or object may come instead */
  let mayClose = false
  let isEscaped = false
  let role: 'key' | 'pieces' | 'nothing' = 'nothing'
  let keyParts: Buffer[] = []
  /** the value that is picked as a whole, and how deep it is */
  let whole: { depth: number; path: string[]; parts: Buffer[]; from: number } | null = null
  let kept = 0

  const path = () => levels.map(({ isArray, key, index }) => (isArray ? String(index) : key))

  function keep(part: Buffer): Buffer {
    if ((kept += part.length) > mostBytes) throw invalidField('body', `has more than ${mostBytes} bytes besides files`)
    return part
  }

  /** Called at the first byte of a value. */
  function begin(byte: number, at: number): void {
    const isAsked = whole === null && levels.every(({ isWanted }) => isWanted)
    const wanted = isAsked ? (levels.length === 0 ? 'inside' : want(path())) : 'nothing'
    if (wanted === 'whole') whole = { depth: levels.length, path: path(), parts: [], from: at }
    if (byte === OPEN || byte === OPEN_LIST) {
      if (levels.length === MOST_DEPTH) throw invalidField('body', `is nested deeper than ${MOST_DEPTH} levels`)
      levels.push({ isArray: byte === OPEN_LIST, key: '', index: 0, isWanted: wanted === 'inside' })
      state = byte === OPEN ? 'key' : 'value'
      mayClose = true
    } else if (byte === QUOTE) {
      state = 'text'
      role = wanted === 'pieces' ? 'pieces' : 'nothing'
    } else if (isWord(byte)) state = 'word'
    else throw broken()
  }

  /** @param at after its last byte */
  function* ended(chunk: Buffer, at: number): Generator<Picked> {
    state = levels.length === 0 ? 'done' : 'after'
    if (whole?.depth !== levels.length) return
    const { path, parts, from } = whole
    whole = null
    let value: unknown
    try {
      value = JSON.parse(Buffer.concat([...parts, keep(chunk.subarray(from, at))]).toString())
    } catch (error) {
      throw error instanceof SyntaxError ? broken() : error
    }
    yield { path, value }
  }

  /** Reads the text up to its end, or up to the end of the chunk. */
  function* text(chunk: Buffer, from: number): Generator<Picked, number> {
    let at = from
    let end = -1
    while (at < chunk.length) {
      if (isEscaped) {
        isEscaped = false
        at++
        continue
      }
      const quote = chunk.indexOf(QUOTE, at)
      const slash = chunk.subarray(at, quote === -1 ? chunk.length : quote).indexOf(BACKSLASH)
      if (slash !== -1) {
        isEscaped = true
        at += slash + 1
      } else {
        end = quote
        at = quote === -1 ? chunk.length : quote
        break
      }
    }
    const part = chunk.subarray(from, at)
    if (role === 'pieces' && part.length > 0) yield { path: path(), piece: part }
    if (role === 'key') {
      keyParts.push(part)
      if (keyParts.reduce((sum, { length }) => sum + length, 0) > LONGEST_KEY)
        throw invalidField('body', 'has a long key')
    }
    if (end === -1) return chunk.length
    if (role === 'key') endKey()
    else yield* ended(chunk, end + 1)
    return end + 1
  }

  function endKey(): void {
    try {
      levels.at(-1)!.key = JSON.parse(`"${Buffer.concat(keyParts).toString()}"`) as string
    } catch {
      throw broken()
    }
    state = 'colon'
  }

  function* close(byte: number, chunk: Buffer, at: number): Generator<Picked> {
    const level = levels.pop()
    if (!level || level.isArray !== (byte === CLOSE_LIST)) throw broken()
    yield* ended(chunk, at + 1)
  }

  /** One byte outside of texts and words. */
  function* step(byte: number, chunk: Buffer, at: number): Generator<Picked> {
    const closes = byte === CLOSE || byte === CLOSE_LIST
    if (closes && (state === 'after' || (mayClose && (state === 'key' || state === 'value'))))
      yield* close(byte, chunk, at)
    else if (state === 'value') {
      mayClose = false
      begin(byte, at)
    } else if (state === 'key' && byte === QUOTE) {
      ;[state, role, keyParts, mayClose] = ['text', 'key', [], false]
    } else if (state === 'colon' && byte === COLON) state = 'value'
    else if (state === 'after' && byte === COMMA) {
      const level = levels.at(-1)!
      level.index++
      state = level.isArray ? 'value' : 'key'
    } else throw broken()
  }

  return {
    *take(chunk: Buffer): Generator<Picked> {
      if (whole) whole.from = 0
      for (let at = 0; at < chunk.length;) {
        const byte = chunk[at]!
        if (state === 'text') at = yield* text(chunk, at)
        else if (state === 'word' && isWord(byte)) at++
        else if (state === 'word') yield* ended(chunk, at)
        else {
          if (!isSpace(byte)) yield* step(byte, chunk, at)
          at++
        }
      }
      if (whole) whole.parts.push(keep(chunk.subarray(whole.from)))
    },
    *end(): Generator<Picked> {
      if (state === 'word') yield* ended(Buffer.alloc(0), 0)
      if (state !== 'done') throw broken()
    },
  }
}
