// Reads an ar archive from a stream, for archives inside other files.
import { createByteReader } from './byte-reader.ts'
import { createEntryContent } from './entry-content.ts'
import { AR_MAGIC } from './ar.ts'
import { invalid } from './limits.ts'

export interface ArStreamEntry {
  /** as written, without blanks and the closing slash of GNU ar */
  name: string
  sizeBytes: number
  /** Read it before the next step of the loop, which skips the rest. */
  content: AsyncIterable<Uint8Array>
}

const HEADER_BYTES = 60

/** @throws Problem('invalid_package') for a damaged or truncated archive */
export async function* readArStream(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArStreamEntry> {
  const reader = createByteReader(source, 'ar archive')
  try {
    const magic = Buffer.from(await reader.read(AR_MAGIC.length)).toString('latin1')
    if (magic !== AR_MAGIC) throw invalid('the ar archive is damaged')
    for (;;) {
      const header = Buffer.from(await reader.readUpTo(HEADER_BYTES)).toString('latin1')
      if (header.length === 0) return
      const size = /^[0-9]+ *$/.exec(header.slice(48, 58))
      if (header.length < HEADER_BYTES || !size || header.slice(58) !== '`\n')
        throw invalid('the ar archive is damaged')
      const sizeBytes = Number(size[0])
      const { content, finish } = createEntryContent(reader, sizeBytes, 'ar archive')
      yield {
        name: header
          .slice(0, 16)
          .trimEnd()
          .replace(/(.)\/$/, '$1'),
        sizeBytes,
        content,
      }
      await finish(0)
      // Entries begin at even offsets; some writers omit the last padding byte.
      if (sizeBytes % 2 === 1) await reader.readUpTo(1)
    }
  } finally {
    await reader.close()
  }
}
