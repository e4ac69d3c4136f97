// The published files on disk: checks them, and opens only files inside a published place. Caches nothing.
import { constants, lstatSync, realpathSync, statSync, type BigIntStats } from 'node:fs'
import { lstat, open, readlink, realpath, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { lstatName, readLink } from '../kernel/names.ts'
import { isRemote } from '../kernel/remote.ts'
import { createStallGuard, type StallGuard } from '../kernel/stall-guard.ts'
import { parseLinkTarget, type LinkedObject } from '../store/objects/object-store.ts'
import type { Located } from './request-path.ts'

export interface OpenFile {
  handle: FileHandle
  stats: BigIntStats
}

/** A package whose bytes are in an object store. */
export interface PublishedObject extends LinkedObject {
  /** when the link was made, in ms since 1970 */
  linkedMs: number
}

export interface PublishedTree {
  /**
   * The file that a name refers to now, with all links followed; null when it is not a regular file. Synchronous on a local
   * disk: one `stat` of a local path takes 3 µs (2026-11-21), a thread pool operation ten times that. With this the very next
   * request sees a flip.
   */
  look(file: Located): BigIntStats | null | Promise<BigIntStats | null>
  /** The symbolic link on the way to this file that a publish replaces; null when there is none. */
  flipLink(file: Located): Promise<string | null>
  /** When that link was last replaced, in ms since 1970; 0 when it is missing. Synchronous like `look`. */
  flippedAt(link: string): number | Promise<number>
  /** Opens the file if it is in a published place; null when it is not, or is gone. The caller closes it. */
  open(file: Located): Promise<OpenFile | null>
  /** The object that a link in a published place names; null when the name is no such link. */
  object(file: Located): Promise<PublishedObject | null>
  /** The place that a name leads to, with all links followed; null when there is no such name. Synchronous like `look`. */
  placeOf(path: string): string | null | Promise<string | null>
  /** Waits until the file system has answered; returns at once on a local disk. */
  isThere(): unknown
  /** Runs a read of an open file within the same time limit. */
  inTime<T>(work: () => Promise<T>): Promise<T>
}

/** After this time without an answer from a remote file system, requests get 503 to try again, as with an object store. */
const STALLED_MS = 5_000
/** On a local disk there is no limit. */
const unbounded: StallGuard = (work) => work()

/**
 * @param onRefused called when a link led out of the published places, or to a private one
 * @param isPrivate whether only admitted clients may read a place
 */
export function createPublishedTree(
  reposDir: string,
  onRefused: (file: Located, real: string) => void,
  isPrivate: (place: string) => boolean = () => false,
): PublishedTree {
  const far = isRemote(reposDir)
  const guard = far ? createStallGuard(reposDir, STALLED_MS) : unbounded

  const mayRead = (root: string, real: string, { mount, admission }: Located): boolean => {
    if (!isPublished(root, real, mount.roots)) return false
    const place = realPlace(relative(root, real))
    return mount.format === null || place === admission?.place || !isPrivate(place)
  }

  const openPublished = async (file: Located): Promise<OpenFile | null> => {
    const [root, real] = await Promise.all([realpath(reposDir), realpath(join(reposDir, file.path))])
    if (!mayRead(root, real, file)) {
      onRefused(file, real)
      return null
    }
    // O_NOFOLLOW: opens the file that was checked. O_NONBLOCK: opening a pipe must not hang.
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat({ bigint: true })
      if (stats.isFile()) return { handle, stats }
    } catch (error) {
      await handle.close()
      throw error
    }
    await handle.close()
    return null
  }

  const readObject = async (file: Located): Promise<PublishedObject | null> => {
    const path = join(reposDir, file.path)
    // The link itself leads to no file, so only its directory has a real path.
    const [root, directory] = await Promise.all([realpath(reposDir), realpath(dirname(path))])
    const link = join(directory, basename(path))
    if (!mayRead(root, link, file)) return null
    const [target, { mtimeMs }] = await Promise.all([readlink(link), lstat(link)])
    const object = parseLinkTarget(target)
    return object && object.format === file.mount.format?.id ? { ...object, linkedMs: mtimeMs } : null
  }

  return {
    look(file) {
      // `join` would take a third of the time; both parts are already normalized.
      const path = `${reposDir}/${file.path}`
      if (far) return guard(() => stat(path, { bigint: true })).then(regular, nullIfUnreachable)
      try {
        return regular(statSync(path, LOOK))
      } catch (error) {
        return nullIfUnreachable(error)
      }
    },

    async flipLink(file) {
      const named = file.publishedAs ?? file.path
      // The path of a generation that is no longer live has no link that a publish replaces.
      if (!named.startsWith(`${file.mount.path}/`)) return null
      // A publish does not replace the mount's own directory.
      const link = await guard(() =>
        firstLink(join(reposDir, file.mount.path), named.slice(file.mount.path.length + 1)),
      )
      if (link === null) return null
      // A link beside the packages (apk) stays. It leads through the link that is replaced.
      const through = relative(reposDir, await guard(() => targetOf(link)))
      return (through.startsWith('..') ? null : await guard(() => firstLink(reposDir, through))) ?? link
    },

    flippedAt(link) {
      // A rename changes the inode's change time, not its modification time.
      if (far) return guard(() => lstatName(link)).then((stats) => stats?.ctimeMs ?? 0)
      return lstatSync(link, { throwIfNoEntry: false })?.ctimeMs ?? 0
    },

    open: (file) =>
      guard(
        () => openPublished(file).catch(nullIfUnreachable),
        (late) => late?.handle.close(),
      ),

    object: (file) =>
      guard(() => readObject(file)).catch((error: unknown) => {
        // It is not a symbolic link.
        if ((error as NodeJS.ErrnoException).code === 'EINVAL') return null
        return nullIfUnreachable(error)
      }),

    placeOf(path) {
      if (far)
        return guard(() => Promise.all([realpath(reposDir), realpath(join(reposDir, path))])).then(
          ([root, real]) => realPlace(relative(root, real)),
          nullIfUnreachable,
        )
      try {
        return realPlace(relative(realpathSync(reposDir), realpathSync(join(reposDir, path))))
      } catch (error) {
        return nullIfUnreachable(error)
      }
    },

    isThere: () => (far ? guard(() => lstat(reposDir)) : null),
    inTime: guard,
  }
}

const LOOK = { bigint: true, throwIfNoEntry: false } as const
const regular = (stats: BigIntStats | undefined) => (stats?.isFile() ? stats : null)

function nullIfUnreachable(error: unknown): null {
  if (isUnreachable(error)) return null
  throw error
}

/** The first symbolic link on a path below a directory. */
async function firstLink(directory: string, path: string): Promise<string | null> {
  let at = directory
  for (const name of path.split('/')) {
    at = join(at, name)
    const stats = await lstatName(at)
    if (!stats) return null
    if (stats.isSymbolicLink()) return at
  }
  return null
}

/** The target of a link; the link itself when it was removed meanwhile. */
async function targetOf(link: string): Promise<string> {
  try {
    return resolve(dirname(link), await readLink(link))
  } catch (error) {
    if (isUnreachable(error)) return link
    throw error
  }
}

/** The place that a real path belongs to: `.generations/<format>/<place>/...`, or below the directory of a tree. */
function realPlace(path: string): string {
  const names = path.split('/')
  return (names[0] === '.generations' ? names[2] : names[1]) ?? ''
}

function isPublished(root: string, real: string, roots: readonly string[]): boolean {
  return roots.some((place) => {
    const allowed = join(root, place)
    if (real === allowed) return true
    if (!real.startsWith(allowed + sep)) return false
    // Hidden names inside a published place are unfinished work.
    return !real.slice(allowed.length).includes(`${sep}.`)
  })
}

const UNREACHABLE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EISDIR', 'ENXIO'])

/** The path does not exist. EACCES is not included: it is a fault of the installation and is reported. */
function isUnreachable(error: unknown): boolean {
  return UNREACHABLE.has((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}
