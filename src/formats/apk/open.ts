// Opens an .apk: its gzip members, their roles, and the tar entries inside (apk-v2(5)).
import { stat } from 'node:fs/promises'
import { fileRange } from '../archive/file-range.ts'
import { gzipMembers, type GzipMember } from '../archive/gzip-members.ts'
import { DEFAULT_LIMITS, invalid, plausibleOutput } from '../archive/limits.ts'
import { readTar, type TarEntry } from '../archive/tar.ts'
import { isProblem } from '../../domain/problem.ts'
import { MOST_FILES } from '../bounds.ts'
import type { ReadOptions } from '../ecosystem.ts'
import { oneView } from './one-view.ts'

export interface ApkEntry extends TarEntry {
  /** below the root, without leading slash; empty for the root itself */
  path: string
}

/** A gzip member of the file. Signatures come first, in one or several members, then control, then data. */
export interface ApkSegment {
  kind: 'signatures' | 'control' | 'data'
  /** offset of its first byte */
  start: number
  /** Offset after its last byte. Known once the entries have been read, -1 before. */
  readonly end: number
  /** Read them before the next step of the loop, which reads and verifies the rest. */
  entries: AsyncIterable<ApkEntry>
}

const SIGNATURE = '.SIGN.'
// Signatures, .PKGINFO and scripts.
const MOST_CONTROL_BYTES = 32 * 1024 ** 2
const MOST_CONTROL_ENTRIES = 1000
const MOST_ENTRIES = 2 * MOST_FILES
const BLOCK_BYTES = 512

export const isAdb = (head: Uint8Array): boolean =>
  /^ADB[.dc]/.test(Buffer.from(head.subarray(0, 4)).toString('latin1'))

/**
 * The segments in file order. When the loop ends, all of the file was decompressed and verified.
 * @throws Problem('invalid_package')
 */
export async function* apkSegments(
  path: string,
  { maxUnpackedBytes = DEFAULT_LIMITS.maxOutputBytes }: ReadOptions = {},
): AsyncGenerator<ApkSegment, void, undefined> {
  await refuseAdb(path)
  const { size } = await stat(path)
  const limits = { maxOutputBytes: Math.min(maxUnpackedBytes, plausibleOutput(size)) }
  const early = { bytes: 0, endBlocks: 0 }
  let before: ApkSegment['kind'] = 'signatures'
  for await (const member of gzipMembers(fileRange(path), limits)) {
    if (before === 'data') throw invalid('the package has something after its data')
    const last: boolean = before === 'control'
    const content = last ? member.content : watched(member.content, early)
    const tar = readTar(oneView(content), {
      mostEntries: last ? MOST_ENTRIES : MOST_CONTROL_ENTRIES,
      mostBytes: limits.maxOutputBytes,
    })
    const first: IteratorResult<TarEntry, void> | null = last ? null : await tar.next()
    if (first?.done) throw invalid('the package has an empty segment before its data')
    const kind: ApkSegment['kind'] = last ? 'data' : first?.value.name.startsWith(SIGNATURE) ? 'signatures' : 'control'
    const entries = checkedEntries(kind, first?.value ?? null, tar)
    try {
      yield segmentOf(kind, member, entries)
      while (!(await entries.next()).done);
    } finally {
      await entries.return()
      await tar.return()
    }
    // apk reads all segments as one tar archive, which ends at two blocks of zeros.
    if (!last && early.endBlocks > 1) throw invalid('the package has an end of archive before its data')
    before = kind
  }
  if (before !== 'data')
    throw invalid(before === 'control' ? 'the package has no data' : 'the package has no control segment')
}

function segmentOf(kind: ApkSegment['kind'], member: GzipMember, entries: AsyncGenerator<ApkEntry>): ApkSegment {
  return {
    kind,
    start: member.start,
    get end() {
      return member.end
    },
    // Without `return`, so that the loop above reads entries that a caller leaves.
    entries: { [Symbol.asyncIterator]: () => ({ next: () => entries.next() }) },
  }
}

async function* checkedEntries(
  kind: ApkSegment['kind'],
  first: TarEntry | null,
  rest: AsyncGenerator<TarEntry, void, undefined>,
): AsyncGenerator<ApkEntry, void, undefined> {
  try {
    if (first) yield checkedEntry(kind, first)
    for await (const entry of rest) yield checkedEntry(kind, entry)
  } catch (error) {
    throw isProblem(error, 'invalid_package') ? invalid(`${kind}: ${error.detail}`, error) : error
  }
}

/** apk distinguishes signatures from control files by name, so no segment may mix them or contain other names. */
function checkedEntry(kind: ApkSegment['kind'], entry: TarEntry): ApkEntry {
  if (kind === 'data') return { ...entry, path: insidePath(entry.name) }
  const { name, type } = entry
  if (type !== 'file') throw invalid('there is something other than a regular file')
  if (!name.startsWith('.') || name.includes('/') || name === '.' || name === '..')
    throw invalid('there is a file that does not belong there')
  if (name.startsWith(SIGNATURE) !== (kind === 'signatures')) throw invalid('signatures and other files are mixed')
  return { ...entry, path: name }
}

/** A name as apk installs it, below the root. @throws Problem('invalid_package') for a name that would leave the root */
function insidePath(name: string): string {
  if (/[\x00-\x1f\x7f]/.test(name)) throw invalid('there is a control character in a file name')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw invalid('there is a file name that leads out of its directory')
  return parts.join('/')
}

/** Counts the bytes of the segments before the data, and the zero blocks at their ends. */
async function* watched(
  source: AsyncIterable<Uint8Array>,
  counts: { bytes: number; endBlocks: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  let zeros = 0
  for await (const piece of source) {
    counts.bytes += piece.length
    if (counts.bytes > MOST_CONTROL_BYTES) throw invalid('the control segment is larger than is allowed')
    let end = piece.length
    while (end > 0 && piece[end - 1] === 0) end--
    zeros = end === 0 ? zeros + piece.length : piece.length - end
    yield piece
  }
  counts.endBlocks += Math.floor(zeros / BLOCK_BYTES)
}

async function refuseAdb(path: string): Promise<void> {
  for await (const head of fileRange(path)) {
    if (isAdb(head)) throw invalid('apk v3 (ADB) packages are not supported yet')
    return
  }
}
