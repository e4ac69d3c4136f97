// Durable file operations, written so that a crash at any line leaves a state that recovery knows.
//
// Operations on names (create, link, rename, remove, stat) are synchronous: the kernel does them in memory in 7-50 us,
// while a round trip to the thread pool takes 40-360 us, and an upload needs about forty of them. Only what waits for the
// disk, a flush or a large write, uses the thread pool. The price: on a network file system every such operation blocks
// the event loop for a network round trip.
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  write,
  writev,
  writevSync,
} from 'node:fs'
import { copyFile, readFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { dirname, join, basename } from 'node:path'

const fsyncLater = promisify(fsync)
const writeLater = promisify(write)
const writevLater = promisify(writev)

/** Flushes a file's bytes, or a directory's names, to the disk. */
export async function fsyncPath(path: string): Promise<void> {
  const file = openSync(path, constants.O_RDONLY)
  try {
    await fsyncLater(file)
  } finally {
    closeSync(file)
  }
}

/** Bytes written synchronously, into the page cache; larger writes would block the event loop for too long. */
const AT_ONCE_BYTES = 64 * 1024

/** The process has umask 077 (main.ts): what others may read, the served trees, is opened to them explicitly. */
function exactly(mode: number, open: () => void): void {
  if ((mode & 0o077) !== 0) open()
}

export interface NewFile {
  write(...pieces: Uint8Array[]): Promise<void>
  flush(): Promise<void>
  close(): void
}

/** Creates a file to be written piece by piece: the first 64 KiB synchronously, the rest on the thread pool. */
export function createFile(path: string, mode: number): NewFile {
  const file = openSync(path, 'wx', mode)
  exactly(mode, () => fchmodSync(file, mode))
  let size = 0
  return {
    async write(...pieces) {
      const wanted = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
      size += wanted
      // On a full disk fewer bytes are written than asked for.
      let done = size <= AT_ONCE_BYTES ? writevSync(file, pieces) : (await writevLater(file, pieces)).bytesWritten
      if (done === wanted) return
      const rest = Buffer.concat(pieces)
      while (done < wanted) done += (await writeLater(file, rest, done)).bytesWritten
    },
    flush: () => fsyncLater(file),
    close: () => closeSync(file),
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
  const file = createFile(path, mode)
  try {
    // IOV_MAX is 1024 on Linux.
    for (let at = 0; at < parts.length; at += 512) await file.write(...parts.slice(at, at + 512))
    await file.flush()
  } finally {
    file.close()
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
    renameSync(temporary, path)
  } catch (error) {
    removeFile(temporary)
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
    linkSync(from, to)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') return false
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error
    const temporary = `${to}.${randomBytes(6).toString('hex')}.tmp`
    try {
      await copyFile(from, temporary)
      await fsyncPath(temporary)
      renameSync(temporary, to)
    } catch (failure) {
      removeFile(temporary)
      throw failure
    }
  }
  return true
}

export async function exists(path: string): Promise<boolean> {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Removes a file; a missing file is no error. */
export function removeFile(path: string): void {
  try {
    // Most are gone, moved to where they belong. To look takes 2 us, the error of a missing name 30.
    if (lstatSync(path, { throwIfNoEntry: false })) unlinkSync(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** Creates a directory and its parents. @returns the highest one that is new; undefined when all existed */
export async function ensureDirectory(path: string, mode = 0o755): Promise<string | undefined> {
  try {
    const made = mkdirSync(path, { recursive: true, mode })
    exactly(mode, () => {
      for (let at = path; made !== undefined && at.length >= made.length; at = dirname(at)) chmodSync(at, mode)
    })
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
  if (made === undefined && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700)
}

/**
 * The directories that have to be flushed before new directories are durable, from the lowest up.
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
  mkdirSync(path, { mode })
  exactly(mode, () => chmodSync(path, mode))
  return made ?? path
}

/** Writes a file unless it has that content already, so that an unchanged file needs no disk space. */
export async function ensureContent(path: string, content: string, mode = 0o644): Promise<void> {
  const present = await readFile(path, 'utf8').catch(ifMissing(null))
  if (present !== content) await replaceFile(path, content, mode)
}

/** Whether the error says that the name does not exist (ENOENT, ENOTDIR). */
export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/**
 * For `.catch` of a call that may meet a name that does not exist.
 * @returns a function that returns the value in that case, and throws every other error again
 */
export function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return value
    throw error
  }
}

/** What a database server answers: https://www.postgresql.org/docs/15/errcodes-appendix.html */
const DISK_FULL = '53100'

/** Whether the error says that the disk, the quota or the file-size limit is exhausted, here or at the database server. */
export function isStorageFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG' || code === DISK_FULL
}

/** Which disk is full, as far as the error says. */
export function fullDisk(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code === DISK_FULL ? 'the disk of the database' : 'the disk'
}
