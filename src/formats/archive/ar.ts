// Lists the members of an ar archive as Debian writes it.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { invalid } from './limits.ts'

/** A member's name and its byte range in the file. */
export interface ArMember {
  name: string
  start: number
  end: number
}

export const AR_MAGIC = '!<arch>\n'
const HEADER_BYTES = 60

/**
 * The members in file order, without their content: deb(5), "the magic number !<arch>". No long-name tables, which
 * packages never have.
 * @throws Problem('invalid_package') for other files, damaged or truncated archives, and more than `mostMembers`
 */
export function listArMembers(path: string, mostMembers = 64): ArMember[] {
  // A few headers of 60 bytes in the page cache: asynchronous reads would take longer.
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const header = Buffer.alloc(HEADER_BYTES)
    const readAt = (at: number, length: number): string => {
      if (readSync(file, header, 0, length, at) < length) throw invalid('the ar archive is truncated')
      return header.toString('latin1', 0, length)
    }
    if (size < AR_MAGIC.length || readAt(0, AR_MAGIC.length) !== AR_MAGIC) throw invalid('the file is no ar archive')
    const members: ArMember[] = []
    for (let at = AR_MAGIC.length; at < size;) {
      if (members.length === mostMembers) throw invalid('the ar archive has too many members')
      const member = parseHeader(readAt(at, HEADER_BYTES), at + HEADER_BYTES)
      if (member.end > size) throw invalid('the ar archive is truncated')
      members.push(member)
      at = member.end + ((member.end - member.start) & 1)
    }
    return members
  } finally {
    closeSync(file)
  }
}

function parseHeader(header: string, start: number): ArMember {
  const size = header.slice(48, 58).trimEnd()
  if (header.slice(58) !== '`\n' || !/^[0-9]{1,10}$/.test(size)) throw invalid('the ar archive is damaged')
  // System V archives end a name with a slash.
  const name = header.slice(0, 16).trimEnd().replace(/\/$/, '')
  if (!/^[\x21-\x7e]+$/.test(name)) throw invalid('the ar archive is damaged')
  return { name, start, end: start + Number(size) }
}
