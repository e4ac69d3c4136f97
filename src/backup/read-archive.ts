// Reads a backup archive: every byte of it is checked before anything is restored from it.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { readTar, type TarEntry } from '../archive/tar.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import { readMissing, type MissingFile } from './missing.ts'

/** What is below the top directory. */
export const DUMP = 'postgres.dump'
export const SETTINGS = 'settings.json'
/** only in an archive that lacks package files */
export const MISSING = 'missing.json'
export const DIRECTORIES = ['audit', 'security', 'manifests', 'gnupg', 'pool'] as const

export interface ArchiveEntry {
  /** below the top directory */
  name: string
  type: 'file' | 'directory'
  mode: number
  sizeBytes: number
  content: AsyncIterable<Uint8Array>
}

const MOST_ENTRIES = 50_000_000
const PART = /^[^/\0]{1,255}$/
/** pool/<format>/<2 hex>/<SHA-256>/<file name>, and the same bytes in quarantine */
const BY_DIGEST = /^(?:pool\/[^/]+\/[0-9a-f]{2}|security\/quarantine)\/([0-9a-f]{64})\/[^/]+$/

/**
 * The entries of an archive, in order; nothing in them leads outside of it.
 * @throws Problem('validation_error') for what is damaged, truncated or no backup
 */
export async function* readArchive(path: string): AsyncGenerator<ArchiveEntry> {
  const gunzip = createGunzip()
  const unpacking = pipeline(createReadStream(path), gunzip)
  // Its error is the iterator's error too.
  unpacking.catch(() => {})
  let top: string | null = null
  try {
    for await (const entry of readTar(gunzip, { mostEntries: MOST_ENTRIES })) {
      const [first = '', ...rest] = entry.name.replace(/\/$/, '').split('/')
      top ??= first
      if (first !== top || !/^svc_backup_\d{8}_\d{6}$/.test(first))
        throw foreign(`it has an entry ${shown(entry.name)}`)
      if (rest.length === 0) continue
      yield entryOf(entry, rest)
    }
    await unpacking
  } catch (error) {
    throw asDamage(error)
  } finally {
    gunzip.destroy()
  }
  if (top === null) throw foreign('it is empty')
}

function entryOf({ name, type, mode, sizeBytes, content }: TarEntry, parts: string[]): ArchiveEntry {
  const [first = ''] = parts
  const isKnown = (DIRECTORIES as readonly string[]).includes(first)
  const isSingle = parts.length === 1 && [DUMP, SETTINGS, MISSING].includes(first)
  if (type !== 'file' && type !== 'directory') throw foreign(`${shown(name)} is neither a file nor a directory`)
  if (!isKnown && !isSingle) throw foreign(`it has an entry ${shown(name)}`)
  if (isSingle && type !== 'file') throw foreign(`${shown(name)} is no file`)
  if (parts.some((part) => !PART.test(part) || part === '.' || part === '..'))
    throw foreign(`the name ${shown(name)} leads outside`)
  return { name: parts.join('/'), type, mode: mode & 0o777, sizeBytes, content: checked(content) }
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

/**
 * Reads all of an archive.
 * @returns how many package files it has, and which ones it says it lacks
 * @throws Problem('validation_error') also when it lacks the dump, and when a package file has other bytes than its name says
 */
export async function verifyArchive(
  path: string,
): Promise<{ entries: number; packages: number; missing: MissingFile[] }> {
  const seen = new Set<string>()
  let entries = 0
  let packages = 0
  let missing: MissingFile[] = []
  for await (const { name, type, content } of readArchive(path)) {
    entries++
    if (type === 'directory') continue
    if (!name.includes('/')) {
      if (seen.has(name)) throw foreign(`it has ${name} twice`)
      seen.add(name)
    }
    if (name === MISSING) {
      missing = await readMissing(content)
      continue
    }
    const expected = BY_DIGEST.exec(name)?.[1]
    if (name.startsWith('pool/') && !expected) throw foreign(`it has an entry ${shown(name)}`)
    const hash = createHash('sha256')
    for await (const chunk of content) if (expected) hash.update(chunk)
    if (!expected) continue
    packages++
    if (hash.digest('hex') !== expected) throw foreign(`${shown(name)} has other bytes than its name says`)
  }
  if (!seen.has(DUMP)) throw foreign(`it has no ${DUMP}`)
  return { entries, packages, missing }
}

const shown = (name: string) => JSON.stringify(name.slice(0, 200))

function foreign(why: string): Problem {
  return new Problem('validation_error', `this is not a backup of this service: ${why}`)
}
