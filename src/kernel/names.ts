// Operations on names (create, link, rename, remove, stat), each in the way that is fast where the name is.
//
// On a local disk they are synchronous inside: the kernel does them in memory in 7-50 us, while a round trip to the thread
// pool takes 40-360 us, and an upload needs about forty of them. On a remote file system (kernel/remote) each may wait for
// a network, or for a server that restarts: there they use the thread pool, and the event loop goes on.
//
// Callers await all of them, so another task may come between any two, as another replica may anyway. The order of the
// operations is the same in both ways, and with it what a crash leaves.
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

/** @param at the path that decides */
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

/** @param target what the link names @param path the link */
export const symlinkName = either(
  second,
  (target: string, path: string) => symlinkSync(target, path),
  (target, path) => symlink(target, path),
)

/** Links followed; undefined when nothing has the name. @throws ENOTDIR when a parent is a file */
export const statName = either(
  first,
  (path: string) => statSync(path, LOOK),
  (path) => stat(path).catch(undefinedIfMissing),
)

/** Of the name itself; undefined when nothing has it. @throws ENOTDIR when a parent is a file */
export const lstatName = either(
  first,
  (path: string) => lstatSync(path, LOOK),
  (path) => lstat(path).catch(undefinedIfMissing),
)

/** Its parents too. @returns the highest directory that is new; undefined when all existed */
export const makeDirectories = either(
  (path: string, _mode: number) => path,
  (path, mode) => mkdirSync(path, { recursive: true, mode }),
  (path, mode) => mkdir(path, { recursive: true, mode }),
)

/** One directory. */
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

/** Sets the mode of an open file. @param path the name that it was opened by, for this and `closeName` */
export const chmodOpen = either(
  (_file: number, path: string, _mode: number) => path,
  (file, _path, mode) => fchmodSync(file, mode),
  (file, _path, mode) => fchmodLater(file, mode),
)

/** On NFS a close sends what was written. */
export const closeName = either(
  (_file: number, path: string) => path,
  (file) => closeSync(file),
  (file) => closeLater(file),
)

function undefinedIfMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
  throw error
}
