// Looks at the beginning of content that can be read only once.
import { HEAD_BYTES } from './kinds.ts'

/** @returns the first `HEAD_BYTES` of the content, and the whole content; `close` for content that is not read */
export async function peek(
  source: AsyncIterable<Uint8Array>,
): Promise<{ head: Uint8Array; content: AsyncGenerator<Uint8Array>; close(): Promise<void> }> {
  const iterator = source[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let size = 0
  let ended = false
  while (size < HEAD_BYTES && !ended) {
    const next = await iterator.next()
    if (next.done) ended = true
    else {
      pieces.push(Buffer.from(next.value))
      size += next.value.length
    }
  }
  const head = Buffer.concat(pieces).subarray(0, HEAD_BYTES)
  return {
    head,
    async close() {
      await iterator.return?.()
    },
    content: (async function* () {
      try {
        yield* pieces
        if (ended) return
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
      } finally {
        await iterator.return?.()
      }
    })(),
  }
}
