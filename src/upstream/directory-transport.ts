// Files of a repository in a directory of this machine. Symbolic links are followed, but not out of the allowed root.
import { constants } from 'node:fs'
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Problem } from '../domain/problem.ts'
import { refused } from '../formats/catalog.ts'
import { isMissing } from '../kernel/files.ts'
import { checkPath } from './paths.ts'
import type { Transport } from './transport.ts'

/** A directory that sources may use, and the allowed root that contains it. Both without symbolic links. */
export interface AllowedDirectory {
  path: string
  root: string
}

/**
 * @param url `file:`
 * @param roots the configured import directories
 * @throws Problem('forbidden_target') for a directory that is not below one of them after links are followed
 */
export async function allowedDirectory(url: URL, roots: readonly string[]): Promise<AllowedDirectory> {
  const path = pathOf(url)
  const real = await realpath(path).catch(() => null)
  for (const one of roots) {
    const root = await realpath(one).catch(() => null)
    if (real !== null && root !== null && isWithin(real, root)) return { path: real, root }
  }
  throw new Problem('forbidden_target', `${path} is not in one of the import directories`)
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url)
  } catch (error) {
    throw new Problem(
      'forbidden_target',
      'the address of the source names no directory of this machine',
      {},
      { cause: error },
    )
  }
}

export function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

export function createDirectoryTransport({ path: directory, root }: AllowedDirectory): Transport {
  return {
    name: directory,
    async open(path, { mostBytes, known, resume }) {
      checkPath(path, directory)
      const file = await openWithin(join(directory, path), root, path)
      if (!file) return 'missing'
      try {
        const { size, ino, mtimeNs } = await file.stat({ bigint: true })
        if (size > mostBytes) throw refused('too_large', `${path} has ${size} bytes; at most ${mostBytes} are expected`)
        const validator = { etag: `${ino}-${size}-${mtimeNs}`, lastModified: null }
        if (known?.etag === validator.etag) {
          await file.close()
          return 'unchanged'
        }
        const startsAt = resume?.validator.etag === validator.etag ? resume.at : 0
        return { startsAt, validator, body: file.createReadStream({ start: startsAt, highWaterMark: 256 * 1024 }) }
      } catch (error) {
        await file.close()
        throw error
      }
    },
  }
}

/**
 * Opens a regular file, then asks the kernel for its path: a link that is exchanged in between cannot lead out.
 * @returns null when it is missing
 * @throws Problem('upstream_error') for something that is not a regular file or not below the root
 */
export async function openWithin(path: string, root: string, name: string): Promise<FileHandle | null> {
  let file: FileHandle
  try {
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error)) return null
    throw refused('unreachable', `${name} cannot be opened: ${(error as NodeJS.ErrnoException).code ?? 'error'}`, error)
  }
  try {
    if (!(await file.stat()).isFile()) throw refused('path', `${name} is not a regular file`)
    if (!isWithin(await readlink(`/proc/self/fd/${file.fd}`), root))
      throw refused('path', `${name} is a link that leads out of the import directory`)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
