// What clients read about a name in a repository, as one file: a line of JSON, then the texts of its documents. A file is replaced
// as a whole, so its parts always belong together.
import { createHash, randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
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

interface Head extends Omit<PublishedListing, 'documents'> {
  documents: readonly { form: string; media: string; length: number }[]
}

/** Its directory below `.listings/`: keys have one slash, and no other character that a directory may not have. */
const listingsDirectory = (root: string, repository: string): string => join(root, repository)

/** Names may be longer than file names, and differ only in case. */
export function listingPath(root: string, repository: string, name: string): string {
  const digest = createHash('sha256').update(name).digest('hex')
  return join(listingsDirectory(root, repository), digest.slice(0, 2), digest)
}

export function encodeListing({ documents, ...rest }: PublishedListing): Buffer {
  const head: Head = {
    ...rest,
    documents: documents.map(({ form, media, bytes }) => ({ form, media, length: bytes.byteLength })),
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...documents.map(({ bytes }) => bytes)])
}

/** @throws Error for a file that is damaged */
export function decodeListing(content: Buffer): PublishedListing {
  const end = content.indexOf(10)
  const { documents, ...rest } = JSON.parse(content.subarray(0, end).toString()) as Head
  let at = end + 1
  const read = documents.map(({ form, media, length }) => ({
    form,
    media,
    bytes: content.subarray(at, (at += length)),
  }))
  if (at !== content.byteLength) throw new Error('a listing does not have the length that it states')
  return { ...rest, documents: read }
}

export interface PreparedListing {
  /** makes it what clients read */
  replace(): Promise<void>
  /** removes what `replace` did not use */
  discard(): Promise<void>
}

/** Writes the content beside its place, flushed. */
export async function prepareListing(path: string, content: Buffer): Promise<PreparedListing> {
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
