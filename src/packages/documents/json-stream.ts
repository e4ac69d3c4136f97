// Writes JSON piece by piece and ends it with an id computed from the content. Knows no document format.
import { createHash } from 'node:crypto'
import { createPacer } from '../../kernel/pacer.ts'

/** Smaller pieces would each cost a system call. */
const CHUNK_CHARS = 64 * 1024

/** A key with a value, or with list items that are never all in memory at the same time. */
export type Part = { key: string; value: unknown } | { key: string; items: AsyncIterable<unknown> }

const valuesOf = (values: Record<string, unknown>): Part[] =>
  Object.entries(values).map(([key, value]) => ({ key, value }))

/**
 * @param head values written first
 * @param lists written in order
 * @param tail called after everything else was written, with a UUID that is the same for the same bytes
 */
export async function* jsonObject(
  head: Record<string, unknown>,
  lists: Record<string, AsyncIterable<unknown>>,
  tail: (uuid: string) => Record<string, unknown>,
): AsyncGenerator<string, void, void> {
  const hash = createHash('sha256')
  yield '{'
  for await (const piece of members(
    [...valuesOf(head), ...Object.entries(lists).map(([key, items]) => ({ key, items }))],
    '\n',
  )) {
    hash.update(piece)
    yield piece
  }
  yield* members(valuesOf(tail(nameUuid(hash.digest('hex')))), ',\n')
  yield '\n}\n'
}

/** Undefined values are left out. */
async function* members(parts: readonly Part[], before: string): AsyncGenerator<string, void, void> {
  let separator = before
  for (const part of parts) {
    if ('value' in part && part.value === undefined) continue
    yield `${separator}${JSON.stringify(part.key)}:`
    separator = ',\n'
    if ('items' in part) yield* jsonList(part.items)
    else yield JSON.stringify(part.value)
  }
}

export async function* jsonList(items: AsyncIterable<unknown>): AsyncGenerator<string, void, void> {
  let separator = '[\n'
  for await (const item of items) {
    yield separator + JSON.stringify(item)
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]' : ']'
}

export async function* mapped<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncGenerator<U, void, void> {
  for await (const item of items) yield map(item)
}

/** Joins pieces into chunks of at least `CHUNK_CHARS`. */
export async function* batched(pieces: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  let text = ''
  // Without pauses, a list in memory would be written to its end in one turn of the event loop.
  const pace = createPacer()
  for await (const piece of pieces) {
    await pace()
    text += piece
    if (text.length < CHUNK_CHARS) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

/** A random constant for the documents of this service. */
const NAMESPACE = Buffer.from('8f1d3b5647a24c3e9b0e2d6c5a7f1e94', 'hex')

/** A version 5 UUID (RFC 9562, section 5.5). */
function nameUuid(name: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
