// The unpacked content of an index file, bounded by what its repository states.
import { createReadStream } from 'node:fs'
import { decompress, detectCompression, MAGIC_BYTES } from './archive/compression.ts'
import { readPiece } from './archive/file-range.ts'
import { isProblem } from '../domain/problem.ts'
import { refused, type RepositoryIndex, type StagedFile } from './catalog.ts'

/** The largest index of Debian 12 unpacks to 48 MB, of Fedora to 250 MB. */
const MOST_OPEN_BYTES = 2 * 1024 ** 3
const PIECE_BYTES = 128 * 1024

/**
 * Compression is recognised by the first bytes. A file that unpacks to more bytes than are listed, or to implausibly many for
 * its size, is refused while it is read.
 * @throws Problem('upstream_error')
 */
export async function* indexContent(
  { path }: StagedFile,
  { name, openSizeBytes }: Pick<RepositoryIndex, 'name' | 'openSizeBytes'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const maxOutputBytes = Math.min(openSizeBytes ?? MOST_OPEN_BYTES, MOST_OPEN_BYTES)
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES })
  let bytes = 0
  try {
    for await (const piece of decompress(file, detectCompression(await readPiece(path, 0, MAGIC_BYTES)))) {
      bytes += piece.length
      if (bytes > maxOutputBytes) throw refused('too_large', `${name} unpacks to more than ${maxOutputBytes} bytes`)
      yield piece
    }
  } catch (error) {
    throw isProblem(error, 'invalid_package') ? refused('malformed', `${name}: ${error.detail}`, error) : error
  } finally {
    file.destroy()
  }
  if (openSizeBytes !== null && bytes !== openSizeBytes)
    throw refused('malformed', `${name} unpacks to ${bytes} bytes; ${openSizeBytes} are listed`)
}
