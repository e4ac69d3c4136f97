// Reads the lines of an audit file as bytes, a piece at a time. JSON may contain U+2028, a line end for `node:readline`.
import { createReadStream } from 'node:fs'

export interface FileLine {
  /** without the newline */
  bytes: Buffer
  /** offset of the line's end in the file, after its newline */
  end: number
  /** false for the bytes after the last newline */
  whole: boolean
}

/** The longest line the service writes is far shorter; a longer line is cut, and is then not a valid entry. */
const LONGEST_LINE = 16 * 1024 * 1024

/** @throws ENOENT when there is no such file */
export async function* linesOf(path: string): AsyncGenerator<FileLine> {
  let pending: Buffer[] = []
  let size = 0
  let end = 0
  const keep = (piece: Buffer) => {
    if (size < LONGEST_LINE) pending.push(piece)
    size += piece.length
  }
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      keep(chunk.subarray(from, at))
      end += size + 1
      yield { bytes: Buffer.concat(pending), end, whole: true }
      pending = []
      size = 0
      from = at + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
  }
  if (size > 0) yield { bytes: Buffer.concat(pending), end: end + size, whole: false }
}
