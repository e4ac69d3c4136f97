// Package bytes by SHA-256: immutable, outside every web root. Refused bytes are in quarantine.
import { open, rm, stat } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FormatId } from '../../domain/package.ts'
import {
  ensureDirectory,
  enteredInto,
  exists,
  fsyncPath,
  ifMissing,
  isMissing,
  linkFile,
  renameOver,
} from '../../kernel/files.ts'
import { chmodName, statName } from '../../kernel/names.ts'
import type { Paths } from '../paths.ts'

export interface FileId {
  format: FormatId
  sha256: string
  filename: string
}

export interface Hold {
  /** Stores the bytes durably in their place. Call it again if they may have been removed since. */
  ensure(): Promise<void>
}

export type Area = 'pool' | 'quarantine'

/** The bytes of a stored file, opened for one reader. */
export interface StoredBytes {
  sizeBytes: number
  modifiedAt: Date
  mode: number
  /** Call it at most once, and not for an empty file. */
  stream(): Readable
  /** to be called even when nothing was read */
  close(): Promise<void>
}

/** The operations of the service on package bytes, independent of where they are kept. */
export interface Pool {
  /** Prepares a staged file for one of the two places; nothing happens before `ensure`. */
  hold(stagedPath: string, file: FileId, place: Area): Hold
  /** Links staged bytes to their durable name. Idempotent. */
  keep(stagedPath: string, file: FileId): Promise<void>
  quarantine(fromPath: string, file: FileId): Promise<void>
  has(file: FileId): Promise<boolean>
  hasQuarantined(file: FileId): Promise<boolean>
  /** Copies the bytes into one place from the other, unless they are there already. @returns false when neither has them */
  carry(file: FileId, to: Area): Promise<boolean>
  /** Gives the caller a separate file with the bytes. @returns false when neither place has them */
  copyTo(file: FileId, path: string): Promise<boolean>
  /** Runs work that reads the bytes from a file, but must not change it. @returns null when neither place has them */
  withFile<T>(file: FileId, work: (path: string) => Promise<T>): Promise<T | null>
  /** Opens the bytes in one place; null when it does not have them. The caller closes them. */
  open(file: FileId, place: Area): Promise<StoredBytes | null>
  /**
   * Publishes the bytes of the pool under a name in a published tree; replaces other bytes.
   * @returns whether the directory changed
   */
  publish(file: FileId, target: string): Promise<boolean>
  /** What a name in a published tree leads to; `unknown` when the pool lacks the expected bytes. */
  published(file: FileId & { sizeBytes: number }, target: string): Promise<'these' | 'others' | 'nothing' | 'unknown'>
  /** Puts intact bytes into a place, also in place of damaged ones: readers find the old file or the new one. */
  replace(fromPath: string, file: FileId, to: Area): Promise<void>
  /** Removes the bytes from one of the two places. */
  leave(place: Area, file: FileId): Promise<void>
  /** Removes the bytes from both places, under any file name. */
  forgetAll(format: FormatId, sha256: string): Promise<void>
}

/** A pool in the file system. */
export interface LocalPool extends Pool {
  path(file: FileId): string
  quarantinePath(file: FileId): string
}

/** A removal deletes the directory only once; a second removal at the same moment is already unlikely. */
const ATTEMPTS = 5

export function createPool(paths: Paths): LocalPool {
  const path = (file: FileId) => join(paths.pool, file.format, file.sha256.slice(0, 2), file.sha256, file.filename)
  const quarantinePath = (file: FileId) => join(paths.quarantine, file.sha256, file.filename)

  async function place(from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const made = await ensureDirectory(dirname(to), 0o700)
        await linkFile(from, to)
        // The published trees link these bytes for a web server of any user; the pool's directories are not readable for it.
        if (to.startsWith(paths.pool)) await chmodName(to, 0o644)
        await Promise.all([dirname(to), ...enteredInto(dirname(to), made)].map(fsyncPath))
        return
      } catch (error) {
        // A removal of the same bytes deleted the directory in between.
        if (attempt === ATTEMPTS || !isMissing(error) || !(await exists(from))) throw error
      }
    }
  }

  const pathIn = (where: Area, file: FileId) => (where === 'pool' ? path(file) : quarantinePath(file))

  /** Path of the bytes in the pool, else in quarantine; null when neither has them. */
  async function locate(file: FileId): Promise<string | null> {
    if (await exists(path(file))) return path(file)
    if (await exists(quarantinePath(file))) return quarantinePath(file)
    return null
  }

  return {
    path,
    quarantinePath,
    hold(staged, file, where) {
      const target = pathIn(where, file)
      let isPlaced = false
      return {
        async ensure() {
          // The first call never trusts an existing file: another upload may not have flushed it yet.
          if (isPlaced && (await exists(target))) return
          await place(staged, target)
          isPlaced = true
        },
      }
    },
    keep: (staged, file) => place(staged, path(file)),
    quarantine: (from, file) => place(from, quarantinePath(file)),
    async replace(from, file, to) {
      const target = pathIn(to, file)
      const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`
      await place(from, temporary)
      await renameOver(temporary, target)
      await fsyncPath(dirname(target))
    },
    has: (file) => exists(path(file)),
    hasQuarantined: (file) => exists(quarantinePath(file)),
    async carry(file, to) {
      const from = await locate(file)
      if (from === null) return false
      if (!(await exists(pathIn(to, file)))) await place(from, pathIn(to, file))
      return true
    },
    async copyTo(file, to) {
      const from = await locate(file)
      if (from === null) return false
      await linkFile(from, to)
      return true
    },
    async withFile(file, work) {
      const from = await locate(file)
      return from === null ? null : work(from)
    },
    open: (file, where) => openLocal(pathIn(where, file)),
    async publish(file, target) {
      return (await linkFile(path(file), target)) || replaceOther(path(file), target)
    },
    async published(file, target) {
      const [linked, stored] = [await statOf(target), await statOf(path(file))]
      if (!linked) return 'nothing'
      if (!stored) return 'unknown'
      return linked.ino === stored.ino && linked.dev === stored.dev ? 'these' : 'others'
    },
    leave: (where, file) => rm(dirname(pathIn(where, file)), { recursive: true, force: true }),
    async forgetAll(format, sha256) {
      const file = { format, sha256, filename: '-' }
      await rm(dirname(path(file)), { recursive: true, force: true })
      await rm(dirname(quarantinePath(file)), { recursive: true, force: true })
    },
  }
}

async function statOf(path: string): Promise<{ ino: number; dev: number } | null> {
  try {
    return (await statName(path)) ?? null
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Opens a file of the pool or of quarantine, for one reader; null when it does not exist. */
async function openLocal(path: string): Promise<StoredBytes | null> {
  const file = await open(path).catch(ifMissing(null))
  if (!file) return null
  try {
    const { size, mtime, mode } = await file.stat()
    return {
      sizeBytes: size,
      modifiedAt: mtime,
      mode: mode & 0o777,
      stream: () => file.createReadStream({ start: 0, end: size - 1, autoClose: false }),
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * apk fetches packages by name and version alone: when one was deleted and uploaded again, its file replaces the earlier one.
 * Clients with the older index fail on its checksum until they update; the format allows nothing else. Paths of the other
 * formats contain the digest.
 */
async function replaceOther(stored: string, target: string): Promise<boolean> {
  const [wanted, present] = await Promise.all([stat(stored), stat(target)])
  if (wanted.ino === present.ino && wanted.dev === present.dev) return false
  const other = `${target}.${randomBytes(6).toString('hex')}.tmp`
  await linkFile(stored, other)
  await renameOver(other, target)
  return true
}
