// A gzip file of several members (RFC 1952, section 2.2), each compressed with its own level.
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/**
 * Every reader of gzip reads the members as one file. Changing the level of one stream is not safe while it compresses.
 * @param levelNow level of the next bytes; some earlier bytes may get it too
 */
export async function* gzipMembers(chunks: AsyncIterable<Buffer>, levelNow: () => number): AsyncGenerator<Buffer> {
  const iterator = chunks[Symbol.asyncIterator]()
  let next = await iterator.next()
  while (!next.done) {
    const level = levelNow()
    const gzip = createGzip({ level })
    const member = async function* () {
      // At least one chunk: the reader of an archive regards an empty member as added by somebody else.
      do {
        yield next.value as Buffer
        next = await iterator.next()
      } while (!next.done && levelNow() === level)
    }
    const compressing = pipeline(member(), gzip)
    // It fails with the error of `gzip`, which is read first.
    compressing.catch(() => {})
    yield* gzip as AsyncIterable<Buffer>
    await compressing
  }
}
