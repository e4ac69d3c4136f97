// Durable file operations, written so that recovery can handle the state after a crash at any line.
//
// kernel/names has the operations on names. Operations that wait for the disk, a flush or a large write, use the thread pool.
import { fsync, write, writev, writevSync } from 'node:fs'
import { copyFile, readFile, stat } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { dirname, join, basename } from 'node:path'
import * as names from './names.ts'
import { isRemote } from './remote.ts'

const fsyncLater = promisify(fsync)
const writeLater = promisify(write)
const writevLater = promisify(writev)

/** Flushes a file's bytes, or a directory's names, to the disk. */
export async function fsyncPath(path: string): Promise<void> {
  const file = await names.openName(path, 'r', 0)
  try {
    await fsyncLater(file)
  } finally {
    await names.closeName(file, path)
  }
}

/** Bytes written synchronously, into the page cache; larger writes would block the event loop for too long. */
const AT_ONCE_BYTES = 64 * 1024

/** The process has umask 077 (main.ts), so files that others may read, in the served trees, are opened to them explicitly. */
const isOpen = (mode: number) => (mode & 0o077) !== 0

export interface NewFile {
  write(...pieces: Uint8Array[]): Promise<void>
  flush(): Promise<void>
  close(): Promise<void>
}

/** Creates a file to be written in pieces: on a local disk the first 64 KiB synchronously, the rest on the thread pool. */
export async function createFile(path: string, mode: number): Promise<NewFile> {
  const file = await names.openName(path, 'wx', mode)
  if (isOpen(mode)) await names.chmodOpen(file, path, mode)
  const atOnceBytes = isRemote(path) ? 0 : AT_ONCE_BYTES
  let size = 0
  return {
    async write(...pieces) {
      const wanted = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
      size += wanted
      // On a full disk fewer bytes are written than requested.
      let done = size <= atOnceBytes ? writevSync(file, pieces) : (await writevLater(file, pieces)).bytesWritten
      if (done === wanted) return
      const rest = Buffer.concat(pieces)
      while (done < wanted) done += (await writeLater(file, rest, done)).bytesWritten
    },
    flush: () => fsyncLater(file),
    close: () => names.closeName(file, path),
  }
}

/** Writes bytes to a new file and flushes them; the name itself is durable only after `fsyncPath(dirname(path))`. */
export async function writeDurably(
  path: string,
  content: Uint8Array | string | readonly Uint8Array[],
  mode = 0o644,
): Promise<void> {
  const parts =
    typeof content === 'string' ? [Buffer.from(content)] : content instanceof Uint8Array ? [content] : content
  const file = await createFile(path, mode)
  try {
    // IOV_MAX is 1024 on Linux.
    for (let at = 0; at < parts.length; at += 512) await file.write(...parts.slice(at, at + 512))
    await file.flush()
  } finally {
    await file.close()
  }
}

/**
 * Replaces a file: a reader, or a crash, finds the old content or the new one, never a mixture. The new name is durable
 * only after `fsyncPath(dirname(path))`.
 */
export async function exchangeFile(path: string, content: Uint8Array | string, mode = 0o644): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeDurably(temporary, content, mode)
    await names.renameName(temporary, path)
  } catch (error) {
    await removeFile(temporary)
    throw error
  }
}

/** Like `exchangeFile`, and durable when it returns. */
export async function replaceFile(path: string, content: Uint8Array | string, mode = 0o644): Promise<void> {
  await exchangeFile(path, content, mode)
  await fsyncPath(dirname(path))
}

/**
 * Gives an existing file a second name; copies if the file system cannot link. An existing name is left unchanged.
 * @returns whether the name is new
 */
export async function linkFile(from: string, to: string): Promise<boolean> {
  try {
    await names.linkName(from, to)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') return false
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error
    const temporary = `${to}.${randomBytes(6).toString('hex')}.tmp`
    try {
      await copyFile(from, temporary)
      await fsyncPath(temporary)
      await names.renameName(temporary, to)
    } catch (failure) {
      await removeFile(temporary)
      throw failure
    }
  }
  return true
}

/**
 * Gives a name to what has another name, in place of what has it now. rename(2) does nothing when both names are links to one
 * file, so the other name would stay (https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
 */
export async function renameOver(from: string, to: string): Promise<void> {
  await names.renameName(from, to)
  await removeFile(from)
}

export async function exists(path: string): Promise<boolean> {
  try {
    return (await names.statName(path)) !== undefined
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Removes a file; a missing file is no error. */
export async function removeFile(path: string): Promise<void> {
  try {
    // Most are gone, moved to their place. Looking takes 2 us, the error of a missing name 30.
    if (await names.lstatName(path)) await names.unlinkName(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** Creates a directory and its parents. @returns the highest one that is new; undefined when all existed */
export async function ensureDirectory(path: string, mode = 0o755): Promise<string | undefined> {
  try {
    const made = await names.makeDirectories(path, mode)
    if (made !== undefined && isOpen(mode))
      for (let at = path; at.length >= made.length; at = dirname(at)) await names.chmodName(at, mode)
    return made
  } catch (error) {
    // On a full disk a recursive mkdir reports ENOENT; creating one directory at a time reports the true error.
    if (!isMissing(error)) throw error
    return makeOneByOne(path, mode)
  }
}

/** Creates a directory with mode 0700, or sets an existing one to it. */
export async function ensurePrivateDirectory(path: string): Promise<void> {
  const made = await ensureDirectory(path, 0o700)
  if (made === undefined && isOpen((await stat(path)).mode)) await names.chmodName(path, 0o700)
}

/**
 * The directories that have to be flushed before new directories are durable, from the lowest upwards.
 * @param made as returned by `ensureDirectory`
 */
export function enteredInto(directory: string, made: string | undefined): string[] {
  const changed: string[] = []
  for (let at = directory; made !== undefined && at.length >= made.length; at = dirname(at)) changed.push(dirname(at))
  return changed
}

async function makeOneByOne(path: string, mode: number): Promise<string | undefined> {
  if (await exists(path)) return undefined
  const made = await makeOneByOne(dirname(path), mode)
  await names.makeDirectory(path, mode)
  if (isOpen(mode)) await names.chmodName(path, mode)
  return made ?? path
}

/** Writes a file unless it has that content already, so that an unchanged file needs no disk space. */
export async function ensureContent(path: string, content: string, mode = 0o644): Promise<void> {
  const present = await readFile(path, 'utf8').catch(ifMissing(null))
  if (present !== content) await replaceFile(path, content, mode)
}

/** Whether the error means that the name does not exist (ENOENT, ENOTDIR). */
export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/**
 * For `.catch` of a call whose name may not exist.
 * @returns a function that returns the value in that case, and throws every other error again
 */
export function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return value
    throw error
  }
}

/** Error code of a database server: https://www.postgresql.org/docs/15/errcodes-appendix.html */
const DISK_FULL = '53100'

/** Whether the error means that the disk, the quota or the file-size limit is exhausted, here or at the database server. */
export function isStorageFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG' || code === DISK_FULL
}

/** Which disk is full, as far as the error tells. */
export function fullDisk(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code === DISK_FULL ? 'the disk of the database' : 'the disk'
}
