// What clients read about a name in a repository, as one file: a line of JSON, then the texts of its documents. A file is replaced
// as a whole, so its parts always belong together.
import { createHash, randomBytes } from 'node:crypto'
import { rm, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ensureDirectory, removeFile, writeDurably } from '../../kernel/files.ts'
import { renameName } from '../../kernel/names.ts'
import type { FormatId } from '../../domain/package.ts'

/** A file that clients can ask for by its name. */
export interface ReachableFile {
  /** null for a file that only the upstream has */
  sha256: string | null
  /** null when the upstream does not say */
  sizeBytes: number | null
  version: string
  arch: string
  /** why clients cannot have it; null when they can */
  held: string | null
}

/** One that is here. */
export interface StoredFile extends ReachableFile {
  sha256: string
  sizeBytes: number
}

export const isStored = (file: ReachableFile): file is StoredFile => file.sha256 !== null

export interface PublishedListing {
  name: string
  revision: number
  format: FormatId
  /** ms since 1970 */
  modifiedAt: number
  /** by file name */
  files: Readonly<Record<string, ReachableFile>>
  documents: readonly { form: string; media: string; bytes: Buffer }[]
}

/** Its first line, without the texts. */
export interface ListingHead extends Omit<PublishedListing, 'documents'> {
  documents: readonly { form: string; media: string; length: number }[]
}

/** Its directory below `.listings/`: keys have one slash, and no other character that a directory may not have. */
const listingsDirectory = (root: string, repository: string): string => join(root, repository)

/** Names may be longer than file names, and differ only in case. */
export function listingPath(root: string, repository: string, name: string): string {
  const digest = createHash('sha256').update(name).digest('hex')
  return join(listingsDirectory(root, repository), digest.slice(0, 2), digest)
}

/** @returns its content in pieces */
export function encodeListing({ documents, ...rest }: PublishedListing): Buffer[] {
  const head: ListingHead = {
    ...rest,
    documents: documents.map(({ form, media, bytes }) => ({ form, media, length: bytes.byteLength })),
  }
  return [Buffer.from(`${JSON.stringify(head)}\n`), ...documents.map(({ bytes }) => bytes)]
}

/** @throws Error for a file that is damaged */
export function decodeListing(content: Buffer): PublishedListing {
  const end = content.indexOf(10)
  const { documents, ...rest } = JSON.parse(content.subarray(0, end).toString()) as ListingHead
  let at = end + 1
  const read = documents.map(({ form, media, length }) => ({
    form,
    media,
    bytes: content.subarray(at, (at += length)),
  }))
  if (at !== content.byteLength) throw new Error('a listing does not have the length that it states')
  return { ...rest, documents: read }
}

const PIECE_BYTES = 256 * 1024

/** @returns the head, and where the texts begin @throws Error for a file that is damaged */
export async function readListingHead(file: FileHandle): Promise<{ head: ListingHead; from: number }> {
  const pieces: Buffer[] = []
  let from = 0
  for await (const piece of piecesOf(file, 0, Infinity)) {
    const end = piece.indexOf(10)
    pieces.push(end === -1 ? piece : piece.subarray(0, end))
    from += end === -1 ? piece.byteLength : end + 1
    if (end !== -1) return { head: JSON.parse(Buffer.concat(pieces).toString()) as ListingHead, from }
  }
  throw new Error('a listing has no head')
}

/** @throws Error when the file is shorter than that */
export async function* piecesOf(file: FileHandle, from: number, length: number): AsyncGenerator<Buffer> {
  const isOpen = length === Infinity
  for (let left = length; left > 0;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(PIECE_BYTES, left)), { position: from })
    if (bytesRead === 0 && isOpen) return
    if (bytesRead === 0) throw new Error('a listing does not have the length that it states')
    yield buffer.subarray(0, bytesRead)
    from += bytesRead
    left -= bytesRead
  }
}

export interface PreparedListing {
  /** makes it what clients read */
  replace(): Promise<void>
  /** removes what `replace` did not use */
  discard(): Promise<void>
}

/** Writes the content beside its place, flushed. */
export async function prepareListing(path: string, content: readonly Uint8Array[]): Promise<PreparedListing> {
  await ensureDirectory(dirname(path))
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  await writeDurably(temporary, content)
  return {
    replace: () => renameName(temporary, path),
    discard: () => removeFile(temporary),
  }
}

export const removeListing = (path: string): Promise<void> => removeFile(path)

export const removeListings = (root: string, repository: string): Promise<void> =>
  rm(listingsDirectory(root, repository), { recursive: true, force: true })
