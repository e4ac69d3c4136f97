// Distinguishes an .apk from other gzipped tar archives by its first bytes.
import { constants, gunzipSync } from 'node:zlib'
import { isAdb } from './open.ts'

const BLOCK_BYTES = 512

/**
 * Whether the tar archive in `head` begins with `.PKGINFO`, a script or a signature that is not an index's. Packages of
 * apk v3 count too, so that reading them can give a precise error.
 */
export function recognizes(head: Uint8Array): boolean {
  if (isAdb(head)) return true
  if (head[0] !== 0x1f || head[1] !== 0x8b) return false
  const tar = unpack(head)
  let signed = false
  for (let at = 0; at + BLOCK_BYTES <= tar.length;) {
    const header = tar.subarray(at, at + BLOCK_BYTES)
    if (header.toString('latin1', 257, 262) !== 'ustar') return false
    const name = header.toString('latin1', 0, 100).replace(/\0.*$/s, '')
    const type = String.fromCharCode(header[156]!)
    const size = parseInt(header.toString('latin1', 124, 136), 8) || 0
    const isSignature = name.startsWith('.SIGN.')
    // Headers that describe the next entry have names of any kind.
    if (!'xgLK'.includes(type) && !isSignature) return /^\.[^/]+$/.test(name)
    signed ||= isSignature
    at += BLOCK_BYTES + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
  return signed
}

/** Unpacks a truncated file as far as possible; 4 KiB give 4 MiB at most. */
function unpack(head: Uint8Array): Buffer {
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH })
  } catch {
    return Buffer.alloc(0)
  }
}
