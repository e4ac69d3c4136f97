// Reads what is published about the names of repositories: a file for each name, kept in memory while it is the same file.
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { Problem } from '../../domain/problem.ts'
import { BASE, BASE_IN_JSON } from '../../formats/registry-format.ts'
import { isMissing } from '../../kernel/files.ts'
import { statName } from '../../kernel/names.ts'
import { decodeListing, listingPath, type PublishedListing } from '../../store/files/listing-files.ts'

/** A document as it is sent. */
export interface SentDocument {
  media: string
  etag: string
  modifiedAt: number
  plain: Buffer
  gzip: Buffer
}

export interface RegistryReader {
  /** null for a name that the repository does not have */
  listing(repository: string, name: string): Promise<PublishedListing | null>
  /**
   * @param base address of the repository, with no slash at its end
   * @returns null when the name has no document of that form
   */
  document(repository: string, name: string, form: string, base: string): Promise<SentDocument | null>
}

/** Of files, and of documents in both encodings: a packument of 3,478 versions takes 11 MB. */
const MOST_BYTES = 64 * 1024 * 1024
const gzipped = promisify(gzip)

interface Kept {
  /** identifies the file: a new one has another inode, time or size */
  state: string
  listing: PublishedListing
}

export function createRegistryReader(root: string): RegistryReader {
  const listings = new LRUCache<string, Kept>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ listing }) =>
      1024 + listing.documents.reduce((sum, { bytes }) => sum + 2 * bytes.byteLength, 0),
  })
  const documents = new LRUCache<string, Promise<SentDocument>>({ max: 5000, maxSize: MOST_BYTES })

  async function kept(repository: string, name: string): Promise<Kept | null> {
    const path = listingPath(root, repository, name)
    const stats = await statName(path)
    if (!stats) {
      listings.delete(path)
      return null
    }
    const known = listings.get(path)
    if (known?.state === `${stats.ino}-${stats.mtimeMs}-${stats.size}`) return known
    const read = await readWhole(path)
    if (read) listings.set(path, read)
    return read
  }

  return {
    async listing(repository, name) {
      return (await kept(repository, name))?.listing ?? null
    },
    async document(repository, name, form, base) {
      const found = await kept(repository, name)
      const document = found?.listing.documents.find((one) => one.form === form)
      if (!found || !document) return null
      const key = [repository, name, form, base, found.state].join('\0')
      let sent = documents.get(key)
      if (!sent) {
        sent = sentOf(document, base, found.listing.modifiedAt)
        // Sized by the text, which the gzip form never exceeds by much.
        documents.set(key, sent, { size: 1024 + 2 * document.bytes.byteLength })
        sent.catch(() => documents.delete(key))
      }
      return sent
    },
  }
}

/** Through one descriptor, so that state and content belong together. */
async function readWhole(path: string): Promise<Kept | null> {
  try {
    const file = await open(path)
    try {
      const { ino, mtimeMs, size } = await file.stat()
      return { state: `${ino}-${mtimeMs}-${size}`, listing: decoded(await file.readFile()) }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** @throws Problem('storage_unavailable') for a damaged file: a 404 would say that the name was removed */
function decoded(content: Buffer): PublishedListing {
  try {
    return decodeListing(content)
  } catch (cause) {
    throw new Problem('storage_unavailable', 'what is published about this name is damaged', {}, { cause })
  }
}

async function sentOf(
  { media, bytes }: PublishedListing['documents'][number],
  base: string,
  modifiedAt: number,
): Promise<SentDocument> {
  const text = bytes.toString()
  const plain = Buffer.from(text.replaceAll(BASE, base).replaceAll(BASE_IN_JSON, JSON.stringify(base).slice(1, -1)))
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  return { media, etag, modifiedAt, plain, gzip: await gzipped(plain) }
}
