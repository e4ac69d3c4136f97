// A gzip file of several members (RFC 1952, section 2.2), of which each is compressed with its own level.
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/**
 * Every reader of gzip takes the members for one file. Changing the level of one stream instead is not safe while it compresses.
 * @param levelNow of the bytes that come next; some that came before may get it too
 */
export async function* gzipMembers(chunks: AsyncIterable<Buffer>, levelNow: () => number): AsyncGenerator<Buffer> {
  const iterator = chunks[Symbol.asyncIterator]()
  let next = await iterator.next()
  while (!next.done) {
    const level = levelNow()
    const gzip = createGzip({ level })
    const member = async function* () {
      // At least one chunk: whoever reads an archive takes an empty member for something that was added to it.
      do {
        yield next.value as Buffer
        next = await iterator.next()
      } while (!next.done && levelNow() === level)
    }
    const compressing = pipeline(member(), gzip)
    // Its error is that of `gzip`, which is read first.
    compressing.catch(() => {})
    yield* gzip as AsyncIterable<Buffer>
    await compressing
  }
}
