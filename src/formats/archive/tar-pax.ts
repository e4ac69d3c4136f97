// The records of a pax extended header (POSIX.1-2017, pax, "pax Extended Header").
import { invalid } from './limits.ts'
import { decodeText } from './tar-header.ts'

/** `length keyword=value\n`, repeated; the length counts itself. @throws Problem('invalid_package') */
export function parsePax(bytes: Uint8Array): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    // Some writers fill the last block with zeros inside the counted size.
    if (bytes[at] === 0) break
    const space = bytes.indexOf(0x20, at)
    const digits = space === -1 ? '' : decodeText(bytes.subarray(at, Math.min(space, at + 8)))
    const length = /^[1-9][0-9]{0,6}$/.test(digits) ? Number(digits) : 0
    const end = at + length
    const equals = bytes.indexOf(0x3d, space)
    if (length === 0 || end > bytes.length || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end) {
      throw invalid('the tar archive is damaged')
    }
    const key = decodeText(bytes.subarray(space + 1, equals))
    const value = decodeText(bytes.subarray(equals + 1, end - 1))
    // For other readers a NUL would end the name, for us it would not.
    if (value.includes('\0') && (key === 'path' || key === 'linkpath')) throw invalid('the tar archive is damaged')
    records.set(key, value)
    at = end
  }
  return records
}
