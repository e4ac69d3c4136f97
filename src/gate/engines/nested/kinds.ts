// Which archives and compressed files a scan must look into, by their first bytes. Pure.
import { detectCompression } from '../../../formats/archive/compression.ts'
import { beginsAsOldCpio } from '../../../formats/archive/cpio-old.ts'
import { isTarHeader } from '../../../formats/archive/tar-header.ts'

/** How many first bytes `kindOf` needs. */
export const HEAD_BYTES = 512

export type OpenKind =
  'gzip' | 'xz' | 'bzip2' | 'zstd' | 'lzma' | 'tar' | 'v7-tar' | 'cpio' | 'old-cpio' | 'ar' | 'rpm' | 'zip'

export interface Openable {
  kind: OpenKind
  /** clamd opens it as well, so its contents need not be streamed again */
  engineOpens: boolean
}

/** An archive that nothing here opens. */
export interface Sealed {
  kind: 'sealed'
  label: string
  /** clamd opens it, but without `AlertEncrypted` it calls an encrypted one clean */
  engineOpens: boolean
}

export type Kind = Openable | Sealed

/** A zip with other data in front. clamd searches only part of the file for it. */
export const ZIP_BEHIND_PREFIX: Openable = { kind: 'zip', engineOpens: false }

/** Kinds that clamd 1.4 opens itself (libclamav/scanners.c, `cli_magic_scan`). */
const OPENED_BY_ENGINE: readonly OpenKind[] = ['gzip', 'xz', 'bzip2', 'tar', 'cpio', 'zip']

const hex = (text: string) => Buffer.from(text, 'hex')
const latin = (text: string) => Buffer.from(text, 'latin1')

/** Formats without a reader of ours: magic bytes at the beginning, what people call it, whether clamd opens it. */
const SEALED: readonly [magic: Buffer, label: string, engineOpens: boolean][] = [
  [hex('377abcaf271c'), '7-Zip archive', true],
  [latin('Rar!\x1a\x07'), 'RAR archive', true],
  [hex('60ea'), 'ARJ archive', true],
  [latin('EGGA'), 'EGG archive', true],
  [latin('ALZ\x01'), 'ALZ archive', true],
  [hex('04224d18'), 'lz4 file', false],
  [hex('02214c18'), 'lz4 file', false],
  [latin('LZIP\x01'), 'lzip file', false],
  [hex('894c5a4f000d0a1a0a'), 'lzop file', false],
  [latin('LRZI'), 'lrzip file', false],
  [hex('ff060000734e61507059'), 'snappy file', false],
  [latin('7kSt'), 'zpaq archive', false],
  [latin('zPQ'), 'zpaq archive', false],
  [latin('hsqs'), 'squashfs image', false],
  [latin('sqsh'), 'squashfs image', false],
  [hex('453dcd28'), 'cramfs image', false],
  [latin('MSWIM\0\0\0'), 'WIM image', false],
]

const startsWith = (head: Uint8Array, magic: Uint8Array, at = 0) =>
  head.length >= at + magic.length && magic.every((byte, i) => head[at + i] === byte)

/** @param head the first `HEAD_BYTES` bytes, or all of a shorter file. @returns null for anything else */
export function kindOf(head: Uint8Array): Kind | null {
  const open = openKindOf(head) ?? withoutMagic(head)
  if (open) return { kind: open, engineOpens: OPENED_BY_ENGINE.includes(open) }
  // compress(1): two bytes are too few to go by; the third holds the code width, 9 to 16 bits.
  const compress =
    startsWith(head, hex('1f9d')) && (head[2]! & 0x60) === 0 && (head[2]! & 0x1f) >= 9 && (head[2]! & 0x1f) <= 16
  if (compress) return { kind: 'sealed', label: 'compress (.Z) file', engineOpens: false }
  const sealed = SEALED.find(([magic]) => startsWith(head, magic))
  // ARJ's two bytes are followed by the size of a header that is never larger than 2,600 bytes (ARJ technical note).
  if (
    !sealed ||
    (sealed[1] === 'ARJ archive' && ((head[2]! | (head[3]! << 8)) > 2600 || (head[2]! | (head[3]! << 8)) < 30))
  )
    return null
  return { kind: 'sealed', label: sealed[1], engineOpens: sealed[2] }
}

/** clamd recognises these by a search of its own, so their contents are streamed to it as well. */
function withoutMagic(head: Uint8Array): OpenKind | null {
  if (isTarHeader(head)) return 'v7-tar'
  return beginsAsOldCpio(head) ? 'old-cpio' : null
}

function openKindOf(head: Uint8Array): OpenKind | null {
  if (startsWith(head, latin('PK\x03\x04')) || startsWith(head, latin('PK\x05\x06'))) return 'zip'
  // A spanned archive of one part.
  if (startsWith(head, latin('PK00PK\x03\x04')) || startsWith(head, latin('PK\x07\x08PK\x03\x04'))) return 'zip'
  if (startsWith(head, latin('!<arch>\n'))) return 'ar'
  if (startsWith(head, hex('edabeedb'))) return 'rpm'
  if (/^07070[12X]/.test(Buffer.from(head.subarray(0, 6)).toString('latin1'))) return 'cpio'
  if (startsWith(head, latin('ustar'), 257)) return 'tar'
  switch (detectCompression(head)) {
    case 'gzip':
      // RFC 1952: method 8 is the only one, the upper three flags are reserved.
      return head[2] === 8 && (head[3]! & 0xe0) === 0 ? 'gzip' : null
    case 'bzip2':
      // The block magic, or the end of an empty stream.
      return startsWith(head, hex('314159265359'), 4) || startsWith(head, hex('177245385090'), 4) ? 'bzip2' : null
    case 'xz':
      return 'xz'
    case 'zstd':
      return 'zstd'
    case 'lzma':
      return 'lzma'
    case 'none':
      return null
  }
}
