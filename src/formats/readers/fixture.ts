// Readers for tests: the real one, and scripts under the same restrictions.
import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createReaderPool, type PoolOptions, type ReaderPool } from './pool.ts'

const READER = new URL('../../run-reader.ts', import.meta.url)

/** Readers of packages in a directory. */
export const realReaders = (readable: string, options: Partial<PoolOptions> = {}): ReaderPool =>
  createReaderPool({ entry: READER, readable, ...options })

/**
 * Readers that run a script of the test instead. It has `send` (a message), `channel` (the socket), and answers requests in
 * the function `answer`.
 * @param answer the body of `async (request) => {}`
 */
export function scriptedReaders(answer: string, options: Partial<PoolOptions> = {}): ReaderPool {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'reader-')))
  const path = join(directory, 'reader.mjs')
  writeFileSync(
    path,
    `import { Socket } from 'node:net'
    import v8 from 'node:v8'
    const channel = new Socket({ fd: 3, readable: true, writable: true })
    channel.on('end', () => process.exit())
    channel.on('error', () => process.exit())
    class Writer extends v8.Serializer {
      arrays = []
      constructor() { super(); this._setTreatArrayBufferViewsAsHostObjects(true) }
      _writeHostObject(view) { this.arrays.push(view); this.writeUint32(view.byteLength) }
    }
    function send(message) {
      const writer = new Writer()
      writer.writeHeader(); writer.writeValue(message)
      const head = writer.releaseBuffer()
      const lengths = Buffer.alloc(8)
      lengths.writeUInt32LE(head.length, 0)
      lengths.writeUInt32LE(writer.arrays.reduce((sum, { length }) => sum + length, 0), 4)
      return channel.write(Buffer.concat([lengths, head, ...writer.arrays]))
    }
    function parse(frame) {
      class Reader extends v8.Deserializer { _readHostObject() { return this.readUint32() } }
      const reader = new Reader(frame.subarray(8, 8 + frame.readUInt32LE(0)))
      reader.readHeader()
      return reader.readValue()
    }
    const answer = async (request) => { ${answer} }
    let bytes = Buffer.alloc(0)
    channel.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      while (bytes.length >= 8) {
        const length = 8 + bytes.readUInt32LE(0) + bytes.readUInt32LE(4)
        if (bytes.length < length) return
        answer(parse(bytes))
        bytes = bytes.subarray(length)
      }
    })`,
  )
  return createReaderPool({ entry: pathToFileURL(path), readable: directory, mostReaders: 1, ...options })
}
