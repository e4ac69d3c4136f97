// The names of the top buckets of trivy's database, each a distribution's advisories: read from the file, because no
// command of trivy lists them.
import { open, type FileHandle } from 'node:fs/promises'
import { UnreadableOutput } from '../external/scanner.ts'

const MAGIC = 0xed0cdaed
const HEADER = 16
const ELEMENT = 16
const BRANCH = 0x01
const LEAF = 0x02
const IS_BUCKET = 0x01
const META_BYTES = 64
/** A database has some hundred buckets: a file with more pages than this is not a list of them. */
const MAX_PAGES = 1000
const MAX_PAGE_BYTES = 64 << 20

/**
 * The layout is bbolt's, defined in its page.go and meta.go (https://github.com/etcd-io/bbolt/tree/main/internal/common):
 * two meta pages, of which the one with the higher transaction is in force, and a tree of pages below it.
 * @throws UnreadableOutput when the file has another format
 */
export async function readBuckets(path: string): Promise<Set<string>> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    throw new UnreadableOutput(`the database of trivy cannot be opened: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    const { pageSize, root } = await meta(file)
    const names = new Set<string>()
    const waiting = [root]
    for (let seen = 0; waiting.length > 0; seen++) {
      if (seen >= MAX_PAGES) throw unreadable()
      visit(await page(file, waiting.pop()!, pageSize), waiting, names)
    }
    return names
  } catch (error) {
    // An offset points beyond the end of its page.
    if (error instanceof RangeError) throw unreadable()
    throw error
  } finally {
    await file.close()
  }
}

async function meta(file: FileHandle): Promise<{ pageSize: number; root: number }> {
  const first = metaOf(await bytes(file, 0, HEADER + META_BYTES))
  if (first === null) throw unreadable()
  const second = metaOf(await bytes(file, first.pageSize, HEADER + META_BYTES))
  return second !== null && second.transaction > first.transaction ? second : first
}

function metaOf(page: Buffer): { pageSize: number; root: number; transaction: bigint } | null {
  if (page.readUInt32LE(HEADER) !== MAGIC || page.readUInt32LE(HEADER + 4) !== 2) return null
  return {
    pageSize: page.readUInt32LE(HEADER + 8),
    root: Number(page.readBigUInt64LE(HEADER + 16)),
    transaction: page.readBigUInt64LE(HEADER + 48),
  }
}

/** A page with its overflow pages. */
async function page(file: FileHandle, id: number, pageSize: number): Promise<Buffer> {
  const overflow = (await bytes(file, id * pageSize, HEADER)).readUInt32LE(12)
  const size = (overflow + 1) * pageSize
  if (size > MAX_PAGE_BYTES) throw unreadable()
  return bytes(file, id * pageSize, size)
}

function visit(page: Buffer, waiting: number[], names: Set<string>): void {
  const flags = page.readUInt16LE(8)
  if (flags !== BRANCH && flags !== LEAF) throw unreadable()
  const count = page.readUInt16LE(10)
  for (let at = HEADER; at < HEADER + count * ELEMENT; at += ELEMENT) {
    if (flags === BRANCH) {
      waiting.push(Number(page.readBigUInt64LE(at + 8)))
    } else if (page.readUInt32LE(at) & IS_BUCKET) {
      // A position is relative to its element.
      const start = at + page.readUInt32LE(at + 4)
      names.add(page.toString('utf8', start, start + page.readUInt32LE(at + 8)))
    }
  }
}

async function bytes(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  if (bytesRead < length) throw unreadable()
  return buffer
}

const unreadable = () => new UnreadableOutput('the database of trivy cannot be read')
