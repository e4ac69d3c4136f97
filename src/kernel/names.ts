// Operations on names (create, link, rename, remove, stat), each in the way that is fast for the file system of the name.
//
// On a local disk they are synchronous inside: the kernel does them in memory in 7-50 us, while a round trip to the thread
// pool takes 40-360 us, and an upload needs about forty of them. On a remote file system (kernel/remote) each may wait for
// a network, or for a server that restarts: there they use the thread pool, so that the event loop continues.
//
// Callers await all of them, so another task may run between any two, as another replica may anyway. The order of the
// operations is the same in both ways, and so is the state after a crash.
import {
  chmodSync,
  close,
  closeSync,
  fchmod,
  fchmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import { chmod, link, lstat, mkdir, readlink, rename, stat, symlink, unlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { isRemote } from './remote.ts'

/** @param at selects the path that decides */
function either<A extends unknown[], T>(
  at: (...args: A) => string,
  now: (...args: A) => T,
  later: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  return async (...args) => (isRemote(at(...args)) ? later(...args) : now(...args))
}

const first = (path: string) => path
const second = (_: string, path: string) => path
const LOOK = { throwIfNoEntry: false } as const
const openLater = promisify(open)
const closeLater = promisify(close)
const fchmodLater = promisify(fchmod)

export const renameName = either(second, renameSync, rename)
export const linkName = either(second, linkSync, link)
export const unlinkName = either(first, unlinkSync, unlink)
export const chmodName = either((path: string, _mode: number) => path, chmodSync, chmod)
export const readLink = either(
  first,
  (path: string) => readlinkSync(path),
  (path) => readlink(path),
)

/** @param target of the link @param path of the link */
export const symlinkName = either(
  second,
  (target: string, path: string) => symlinkSync(target, path),
  (target, path) => symlink(target, path),
)

/** Follows links; undefined when the name does not exist. @throws ENOTDIR when a parent is a file */
export const statName = either(
  first,
  (path: string) => statSync(path, LOOK),
  (path) => stat(path).catch(undefinedIfMissing),
)

/** Does not follow links; undefined when the name does not exist. @throws ENOTDIR when a parent is a file */
export const lstatName = either(
  first,
  (path: string) => lstatSync(path, LOOK),
  (path) => lstat(path).catch(undefinedIfMissing),
)

/** With its parents. @returns the highest directory that is new; undefined when all existed */
export const makeDirectories = either(
  (path: string, _mode: number) => path,
  (path, mode) => mkdirSync(path, { recursive: true, mode }),
  (path, mode) => mkdir(path, { recursive: true, mode }),
)

/** Without its parents. */
export const makeDirectory = either(
  (path: string, _mode: number) => path,
  (path, mode) => mkdirSync(path, { mode }),
  (path, mode) => mkdir(path, { mode }),
)

export const openName = either(
  (path: string, _flags: string, _mode: number) => path,
  openSync,
  (path, flags, mode) => openLater(path, flags, mode),
)

/** Sets the mode of an open file. @param path the name by which it was opened; the same for `closeName` */
export const chmodOpen = either(
  (_file: number, path: string, _mode: number) => path,
  (file, _path, mode) => fchmodSync(file, mode),
  (file, _path, mode) => fchmodLater(file, mode),
)

/** On NFS, closing sends the written data. */
export const closeName = either(
  (_file: number, path: string) => path,
  (file) => closeSync(file),
  (file) => closeLater(file),
)

function undefinedIfMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
  throw error
}
