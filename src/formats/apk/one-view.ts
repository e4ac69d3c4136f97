// Refuses tar archives that apk and POSIX readers unpack differently: the installed files must be the scanned files.
import { invalid } from '../archive/limits.ts'
import { BLOCK_BYTES, parseTarHeader } from '../archive/tar-header.ts'
import { parsePax } from '../archive/tar-pax.ts'

const MOST_PAX_BYTES = 1024 * 1024
// apk-tools 2 counts a file's bytes in 32 bits.
const MOST_FILE_BYTES = 2 ** 32 - 1

/**
 * Passes the archive through unchanged. apk reads sizes from the ustar header only and ignores global pax headers, so a
 * file could be hidden from apk or from POSIX readers (seen with apk-tools 2.14.10, 2026-11).
 * @throws Problem('invalid_package')
 */
export async function* oneView(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const view = createView()
  for await (const piece of source) {
    view.take(piece)
    yield piece
  }
}

function createView(): { take(piece: Uint8Array): void } {
  let header: Uint8Array[] = []
  let headerBytes = 0
  /** of the entry's content and its padding */
  let left = 0
  let pax: { global: boolean; sizeBytes: number; parts: Uint8Array[] } | null = null
  let ended = false

  function takeHeader(piece: Uint8Array): void {
    header.push(piece)
    headerBytes += piece.length
    if (headerBytes < BLOCK_BYTES) return
    const parsed = parseTarHeader(Buffer.concat(header))
    header = []
    headerBytes = 0
    if (!parsed) {
      ended = true
      return
    }
    const { type, sizeBytes } = parsed
    if (sizeBytes > MOST_FILE_BYTES) throw invalid('there is a file larger than apk can take')
    left = Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES
    if ((type !== 'pax' && type !== 'pax-global') || sizeBytes === 0) return
    if (sizeBytes > MOST_PAX_BYTES) throw invalid('there is a pax header larger than is allowed')
    pax = { global: type === 'pax-global', sizeBytes, parts: [] }
  }

  function takeContent(piece: Uint8Array): void {
    left -= piece.length
    pax?.parts.push(piece)
    if (!pax || left > 0) return
    const records = parsePax(Buffer.concat(pax.parts).subarray(0, pax.sizeBytes))
    const refused = pax.global ? ['path', 'linkpath', 'size'] : ['size']
    if (refused.some((key) => records.has(key))) throw invalid('there is a pax header that apk does not read')
    pax = null
  }

  return {
    take(piece) {
      // The tar reader checks the bytes after the end.
      for (let at = 0; at < piece.length && !ended;) {
        const rest = piece.subarray(at)
        const part = rest.subarray(0, left > 0 ? left : BLOCK_BYTES - headerBytes)
        if (left > 0) takeContent(part)
        else takeHeader(part)
        at += part.length
      }
    },
  }
}
