// Reads what is published about the names of repositories: a file for each name, whose head is kept in memory while it is the same file,
// and whose documents are kept as they are sent.
import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip, createGzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { Problem } from '../../domain/problem.ts'
import { BASE, BASE_IN_JSON } from '../../formats/registry-format.ts'
import { isMissing } from '../../kernel/files.ts'
import { statName } from '../../kernel/names.ts'
import { listingPath, piecesOf, readListingHead, type ListingHead } from '../../store/files/listing-files.ts'

/** A document as it is sent. Only its compressed form is kept: those of npm have up to 20 MB. */
export interface SentDocument {
  media: string
  etag: string
  modifiedAt: number
  gzip: Buffer
}

export interface RegistryReader {
  /** null for a name that the repository does not have */
  listing(repository: string, name: string): Promise<ListingHead | null>
  /**
   * @param base address of the repository, with no slash at its end
   * @returns null when the name has no document of that form
   */
  document(repository: string, name: string, form: string, base: string): Promise<SentDocument | null>
}

/** A file of a listing takes this much in memory, with its name. */
const FILE_BYTES = 400
const MOST_HEAD_BYTES = 24 * 1024 * 1024
/** A packument of 3,478 versions takes 400 KB. */
const MOST_DOCUMENT_BYTES = 32 * 1024 * 1024

interface Kept {
  /** identifies the file: a new one has another inode, time or size */
  state: string
  listing: ListingHead
  /** where the texts of the documents begin */
  from: number
}

export function createRegistryReader(root: string): RegistryReader {
  const listings = new LRUCache<string, Kept>({
    maxSize: MOST_HEAD_BYTES,
    sizeCalculation: ({ listing }) => 1024 + FILE_BYTES * Object.keys(listing.files).length,
  })
  const documents = new LRUCache<string, Promise<SentDocument | null>>({ max: 5000, maxSize: MOST_DOCUMENT_BYTES })

  async function kept(repository: string, name: string): Promise<Kept | null> {
    const path = listingPath(root, repository, name)
    const stats = await statName(path)
    if (!stats) {
      listings.delete(path)
      return null
    }
    const known = listings.get(path)
    if (known?.state === stateOf(stats)) return known
    const read = await opened(path, headOf)
    if (read) listings.set(path, read)
    return read
  }

  /** @returns null when the name has another file by now */
  const render = (path: string, found: Kept, form: string, base: string): Promise<SentDocument | null> =>
    opened(path, async (file) => {
      if (stateOf(await file.stat()) !== found.state) return null
      const { documents, modifiedAt } = found.listing
      const at = documents.findIndex((one) => one.form === form)
      const { media, length } = documents[at]!
      const before = documents.slice(0, at).reduce((sum, one) => sum + one.length, 0)
      return { media, modifiedAt, ...(await encoded(piecesOf(file, found.from + before, length), base)) }
    })

  function sentOf(path: string, found: Kept, form: string, base: string): Promise<SentDocument | null> {
    const key = [path, form, base, found.state].join('\0')
    const known = documents.get(key)
    if (known) return known
    const sent = render(path, found, form, base)
    documents.set(key, sent, { size: 1024 })
    sent.then(
      (document) =>
        document ? documents.set(key, sent, { size: 1024 + document.gzip.byteLength }) : documents.delete(key),
      () => documents.delete(key),
    )
    return sent
  }

  return {
    async listing(repository, name) {
      return (await kept(repository, name))?.listing ?? null
    },
    async document(repository, name, form, base) {
      for (;;) {
        const found = await kept(repository, name)
        if (!found?.listing.documents.some((one) => one.form === form)) return null
        const sent = await sentOf(listingPath(root, repository, name), found, form, base)
        if (sent) return sent
      }
    },
  }
}

/** The text as it is, piece by piece. */
export const plainOf = ({ gzip }: Pick<SentDocument, 'gzip'>): Readable => Readable.from([gzip]).pipe(createGunzip())

const stateOf = ({ ino, mtimeMs, size }: { ino: number; mtimeMs: number; size: number }) => `${ino}-${mtimeMs}-${size}`

/** Through one descriptor, so that state and content belong together. @returns null when there is no such file */
async function opened<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T | null> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
  try {
    return await read(file)
  } finally {
    await file.close()
  }
}

/** @throws Problem('storage_unavailable') for a damaged file: a 404 would say that the name was removed */
async function headOf(file: FileHandle): Promise<Kept> {
  try {
    const { head: listing, from } = await readListingHead(file)
    const stats = await file.stat()
    const length = listing.documents.reduce((sum, one) => sum + one.length, from)
    if (length !== stats.size) throw new Error('a listing does not have the length that it states')
    return { state: stateOf(stats), listing, from }
  } catch (cause) {
    throw new Problem('storage_unavailable', 'what is published about this name is damaged', {}, { cause })
  }
}

/** In pieces, so that other requests have their turns. */
async function encoded(pieces: AsyncIterable<Buffer>, base: string): Promise<Pick<SentDocument, 'etag' | 'gzip'>> {
  const inJson = replaced(pieces, BASE_IN_JSON, JSON.stringify(base).slice(1, -1))
  const digest = createHash('sha256')
  async function* hashed() {
    for await (const piece of replaced(inJson, BASE, base)) {
      digest.update(piece)
      yield piece
    }
  }
  const gzip = await buffer(Readable.from(hashed()).compose(createGzip()))
  return { gzip, etag: `"${digest.digest('base64url').slice(0, 22)}"` }
}

/** @returns the bytes with another text in each place of the mark */
async function* replaced(pieces: AsyncIterable<Buffer>, mark: string, text: string): AsyncGenerator<Buffer> {
  const [from, to] = [Buffer.from(mark), Buffer.from(text)]
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    const parts: Buffer[] = []
    let at = 0
    for (let found = bytes.indexOf(from); found !== -1; found = bytes.indexOf(from, at)) {
      parts.push(bytes.subarray(at, found), to)
      at = found + from.length
    }
    // One may go on in the next piece.
    const end = Math.max(at, bytes.length - from.length + 1)
    parts.push(bytes.subarray(at, end))
    rest = bytes.subarray(end)
    yield Buffer.concat(parts)
  }
  yield rest
}
