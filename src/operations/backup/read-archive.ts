// Reads the entries of a backup archive. Nothing is restored until `verify-archive` has read all of them.
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { gzipMembers } from '../../formats/archive/gzip-members.ts'
import { readTar, type TarEntry } from '../../formats/archive/tar.ts'
import { isProblem, Problem } from '../../domain/problem.ts'
import { isMissing } from '../../kernel/files.ts'
import { ABOUT, LIST } from './proof.ts'

/** Names below the top directory. */
export const DUMP = 'postgres.dump'
export const SETTINGS = 'settings.json'
/** only in an archive that lacks package files */
export const MISSING = 'missing.json'
export const DIRECTORIES = ['audit', 'security', 'manifests', 'gnupg', 'pool'] as const

export interface ArchiveEntry {
  /** the directory that contains everything */
  top: string
  /** below the top directory, which is `.` itself */
  name: string
  type: 'file' | 'directory'
  mode: number
  sizeBytes: number
  content: AsyncIterable<Uint8Array>
}

const MOST_ENTRIES = 50_000_000
const TOP = /^svc_backup_\d{8}_\d{6}$/
const PART = /^[^/\0]{1,255}$/
/** pool/<format>/<2 hex>/<SHA-256>/<file name>, and the same bytes in quarantine */
const BY_DIGEST = /^(?:pool\/[^/]+\/[0-9a-f]{2}|security\/quarantine)\/([0-9a-f]{64})\/[^/]+$/

/** @throws Problem('validation_error') for a file that cannot be an archive */
export async function requireArchive(path: string): Promise<void> {
  const file = await open(path).catch((error: unknown) => {
    throw isMissing(error) ? new Problem('validation_error', `there is no archive ${path}`) : error
  })
  try {
    if (!(await file.stat()).isFile()) throw new Problem('validation_error', `${path} is no file`)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
    if (bytesRead < 2 || !buffer.equals(GZIP))
      throw new Problem('validation_error', `${path} is no backup archive: it is not compressed with gzip`)
  } finally {
    await file.close()
  }
}

/** The first bytes of every member (RFC 1952, section 2.3.1). */
const GZIP = Buffer.from([0x1f, 0x8b])

/**
 * The entries of an archive, in order; no name in them leads outside of the archive.
 * @throws Problem('validation_error') for a file that is damaged, truncated or no backup
 */
export async function* readArchive(path: string): AsyncGenerator<ArchiveEntry> {
  let top: string | null = null
  try {
    for await (const entry of readTar(unpacked(path), { mostEntries: MOST_ENTRIES, end: 'exact' })) {
      const [first = '', ...rest] = entry.name.replace(/\/$/, '').split('/')
      top ??= first
      if (first !== top || !TOP.test(first)) throw foreign(`it has an entry ${shown(entry.name)}`)
      yield { top, ...entryOf(entry, rest.length === 0 ? ['.'] : rest) }
    }
  } catch (error) {
    throw asDamage(error)
  }
  if (top === null) throw foreign('it is empty')
}

/** Reads the members itself, because what zlib's stream regards as the end of a file depends on the version of Node. */
async function* unpacked(path: string): AsyncGenerator<Uint8Array> {
  let size = 1
  for await (const { content } of gzipMembers(createReadStream(path), { maxOutputBytes: Infinity })) {
    size = 0
    for await (const piece of content) {
      size += piece.length
      yield piece
    }
  }
  // `operations/backup/gzip-members.ts` writes no empty member.
  if (size === 0) throw foreign('something follows its end')
}

function entryOf({ name, type, mode, sizeBytes, content }: TarEntry, parts: string[]): Omit<ArchiveEntry, 'top'> {
  const [first = ''] = parts
  const isKnown = (DIRECTORIES as readonly string[]).includes(first)
  const isSingle = parts.length === 1 && [ABOUT, DUMP, SETTINGS, MISSING, LIST].includes(first)
  const isTop = first === '.' && parts.length === 1 && type === 'directory'
  if (type !== 'file' && type !== 'directory') throw foreign(`${shown(name)} is neither a file nor a directory`)
  if (!isKnown && !isSingle && !isTop) throw foreign(`it has an entry ${shown(name)}`)
  if (isSingle && type !== 'file') throw foreign(`${shown(name)} is no file`)
  if (!isTop && parts.some((part) => !PART.test(part) || part === '.' || part === '..'))
    throw foreign(`the name ${shown(name)} leads outside`)
  return { name: parts.join('/'), type, mode, sizeBytes, content: checked(content) }
}

async function* checked(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    throw asDamage(error)
  }
}

function asDamage(error: unknown): Problem {
  if (isProblem(error, 'validation_error')) return error
  return new Problem('validation_error', 'the archive is damaged or truncated', {}, { cause: error })
}

/** @returns the digest that the name of a package file states; null for any other entry */
export const digestIn = (name: string): string | null => BY_DIGEST.exec(name)?.[1] ?? null

export const shown = (name: string) => JSON.stringify(name.slice(0, 200))

export function foreign(why: string): Problem {
  return new Problem('validation_error', `this is not a backup of this service: ${why}`)
}
