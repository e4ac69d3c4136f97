// The published files on disk: checks them, and opens only files inside a published place. Caches nothing.
import { constants, lstatSync, readlinkSync, statSync, type BigIntStats } from 'node:fs'
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
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
   * The file a name refers to now, all links followed; null when it is not a regular file. Synchronous: one
   * `stat` of a local path takes 3 µs (2026-11-21), a thread pool operation ten times that, and the result
   * makes a flip visible to the very next request.
   */
  look(file: Located): BigIntStats | null
  /** The symbolic link a publish replaces on the way to this file; null when there is none. */
  flipLink(file: Located): string | null
  /** When that link was last replaced, in ms since 1970; 0 when it is missing. */
  flippedAt(link: string): number
  /** Opens the file if it lies in a published place; null when it does not, or is gone. The caller closes it. */
  open(file: Located): Promise<OpenFile | null>
  /** The object that a link in a published place names; null when the name is no such link. */
  object(file: Located): Promise<PublishedObject | null>
}

/** @param onRefused called when a link led out of the published places */
export function createPublishedTree(reposDir: string, onRefused: (file: Located, real: string) => void): PublishedTree {
  return {
    look(file) {
      try {
        // `join` would take a third of the time; both parts are normalized already.
        const stats = statSync(`${reposDir}/${file.path}`, { bigint: true, throwIfNoEntry: false })
        return stats?.isFile() ? stats : null
      } catch (error) {
        if (isUnreachable(error)) return null
        throw error
      }
    },

    flipLink(file) {
      const named = file.publishedAs ?? file.path
      // The path of a generation that is no longer live contains no link that a publish replaces.
      if (!named.startsWith(`${file.mount.path}/`)) return null
      // The mount's own directory is not replaced by a publish.
      const link = firstLink(join(reposDir, file.mount.path), named.slice(file.mount.path.length + 1))
      if (link === null) return null
      // A link beside the packages (apk) stays, and leads through the one that is replaced.
      const through = relative(reposDir, targetOf(link))
      return (through.startsWith('..') ? null : firstLink(reposDir, through)) ?? link
    },

    flippedAt(link) {
      // A rename changes the inode's change time, not its modification time.
      return lstatSync(link, { throwIfNoEntry: false })?.ctimeMs ?? 0
    },

    async open(file) {
      try {
        const [root, real] = await Promise.all([realpath(reposDir), realpath(join(reposDir, file.path))])
        if (!isPublished(root, real, file.mount.roots)) {
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
      } catch (error) {
        if (isUnreachable(error)) return null
        throw error
      }
    },

    async object(file) {
      try {
        const path = join(reposDir, file.path)
        // The link itself leads to no file, so only its directory has a real path.
        const [root, directory] = await Promise.all([realpath(reposDir), realpath(dirname(path))])
        const link = join(directory, basename(path))
        if (!isPublished(root, link, file.mount.roots)) return null
        const [target, { mtimeMs }] = await Promise.all([readlink(link), lstat(link)])
        const object = parseLinkTarget(target)
        return object && object.format === file.mount.format?.id ? { ...object, linkedMs: mtimeMs } : null
      } catch (error) {
        // EINVAL: no symbolic link.
        if (isUnreachable(error) || (error as NodeJS.ErrnoException).code === 'EINVAL') return null
        throw error
      }
    },
  }
}

/** The first symbolic link on a path below a directory. */
function firstLink(directory: string, path: string): string | null {
  let at = directory
  for (const name of path.split('/')) {
    at = join(at, name)
    const stats = lstatSync(at, { throwIfNoEntry: false })
    if (!stats) return null
    if (stats.isSymbolicLink()) return at
  }
  return null
}

/** What a link names; the link itself when it was removed meanwhile. */
function targetOf(link: string): string {
  try {
    return resolve(dirname(link), readlinkSync(link))
  } catch (error) {
    if (isUnreachable(error)) return link
    throw error
  }
}

function isPublished(root: string, real: string, roots: readonly string[]): boolean {
  return roots.some((place) => {
    const allowed = join(root, place)
    if (real === allowed) return true
    if (!real.startsWith(allowed + sep)) return false
    // Hidden names inside a published place are work in progress.
    return !real.slice(allowed.length).includes(`${sep}.`)
  })
}

const UNREACHABLE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EISDIR', 'ENXIO'])

/** The path does not exist. EACCES is not included: it is a fault of the installation and is reported. */
function isUnreachable(error: unknown): boolean {
  return UNREACHABLE.has((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}
