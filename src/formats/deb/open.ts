// Opens a .deb: its ar members in dpkg's order, and the entries of both tar archives (deb(5)).
import { listArMembers, type ArMember } from '../archive/ar.ts'
import { decompress, type Compression } from '../archive/compression.ts'
import { readAll } from '../archive/entry-content.ts'
import { fileRange } from '../archive/file-range.ts'
import { DEFAULT_LIMITS, invalid, type Limits } from '../archive/limits.ts'
import { readTar, type TarEntry } from '../archive/tar.ts'
import { isProblem } from '../../domain/problem.ts'
import { MOST_FILES } from '../bounds.ts'

export interface DebLayout {
  control: ArMember
  data: ArMember
  /** members named `_gpg…`: signatures by debsigs and dpkg-sig, which dpkg ignores */
  signatures: ArMember[]
}

export interface DebEntry extends TarEntry {
  /** below the root, without leading slash; empty for the root itself */
  path: string
}

const COMPRESSION_BY_SUFFIX: Readonly<Record<string, Compression>> = {
  '': 'none',
  '.gz': 'gzip',
  '.xz': 'xz',
  '.zst': 'zstd',
  '.bz2': 'bzip2',
  '.lzma': 'lzma',
}
// Scripts, checksums and templates; the largest known is below 20 MB.
const CONTROL_LIMITS: Partial<Limits> = { maxOutputBytes: 64 * 1024 ** 2 }
const MOST_ENTRIES = 2 * MOST_FILES
const MOST_SIGNATURE_BYTES = 64 * 1024

/**
 * Finds the members: `debian-binary` of version 2 first, then control.tar and data.tar in this order. dpkg ignores
 * other members whose name begins with an underscore, and everything after data.tar; only signatures are accepted,
 * because scanners do not expect content in other members.
 * @throws Problem('invalid_package')
 */
export async function readDebLayout(path: string): Promise<DebLayout> {
  const [version, ...rest] = listArMembers(path)
  if (version?.name !== 'debian-binary') throw invalid('the file is no Debian package')
  const text = (await readAll(fileRange(path, version.start, version.end), 64, 'member debian-binary')).toString(
    'latin1',
  )
  if (!/^2\.[0-9]+\n/.test(text)) throw invalid('the Debian package has an unknown format version')

  let control: ArMember | undefined
  let data: ArMember | undefined
  const signatures: ArMember[] = []
  for (const member of rest) {
    if (member.name.startsWith('_gpg')) {
      if (member.end - member.start > MOST_SIGNATURE_BYTES)
        throw invalid(`the signature ${member.name} has more than ${MOST_SIGNATURE_BYTES} bytes`)
      signatures.push(member)
    } else if (member.name.startsWith('control.tar') && !control) control = member
    else if (member.name.startsWith('data.tar') && control && !data) data = member
    else
      throw invalid(
        `the Debian package has the member ${member.name}, where only debian-binary, control.tar, data.tar and _gpg signatures are accepted, in this order`,
      )
  }
  if (!control || !data) throw invalid('the Debian package is truncated')
  return { control, data, signatures }
}

/** Every entry of one of the two archives. When the loop ends, all of it was decompressed and verified. */
export async function* debEntries(
  path: string,
  member: ArMember,
  limits: Partial<Limits> = {},
): AsyncGenerator<DebEntry> {
  const suffix = member.name.replace(/^(control|data)\.tar/, '')
  const compression = COMPRESSION_BY_SUFFIX[suffix]
  if (!compression) throw invalid(`the member ${member.name} has an unknown compression`)
  const bounds = { ...DEFAULT_LIMITS, ...limits, ...(member.name.startsWith('control') ? CONTROL_LIMITS : {}) }
  const bytes = decompress(fileRange(path, member.start, member.end), compression, bounds)
  try {
    // dpkg has never read pax headers, but has tar unpack the control files: macOS writes times and attributes there.
    for await (const entry of readTar(bytes, {
      mostEntries: MOST_ENTRIES,
      mostBytes: bounds.maxOutputBytes,
      pax: member.name.startsWith('control') ? 'attributes' : 'refuse',
    })) {
      yield { ...entry, path: insidePath(entry.name) }
    }
  } catch (error) {
    throw isProblem(error, 'invalid_package') ? invalid(`${member.name}: ${error.detail}`, error) : error
  }
}

/** A name as dpkg installs it, below the root. @throws Problem('invalid_package') for a name that would leave the root */
export function insidePath(name: string): string {
  if (name === '') throw invalid('the package has a file without a name')
  if (name.includes('\n')) throw invalid('the package has a line feed in a file name')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw invalid('the package has a file name that leads out of its directory')
  return parts.join('/')
}
