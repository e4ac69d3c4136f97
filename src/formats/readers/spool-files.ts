// The files that a job in a reader needs: written by the service, bounded, and removed with the job.
import { open, rm, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Problem } from '../../domain/problem.ts'

/** Files by the numbers that the reader gave them. */
export interface SpoolFiles {
  append(number: number, bytes: Uint8Array): Promise<void>
  /** Ends the writing. @returns the path of the file */
  finish(number: number): Promise<string>
  /** of a finished file */
  path(number: number): string
  remove(number: number): Promise<void>
  removeAll(): Promise<void>
}

/** Each file counts as at least this many bytes. */
const LEAST_BYTES = 4096

/**
 * @param newPath names a file below the staging directory, which readers may read
 * @param mostBytes total of the files that exist at the same time
 */
export function createSpoolFiles(newPath: () => string, mostBytes: number): SpoolFiles {
  const files = new Map<number, { path: string; bytes: number; handle: FileHandle | null }>()
  let used = 0

  function find(number: number) {
    const file = files.get(number)
    if (!file) throw new Error(`a reader named the file ${number}, which it did not write`)
    return file
  }

  function count(bytes: number): void {
    used += bytes
    if (used > mostBytes)
      throw new Problem('invalid_package', `unpacking the package needs files of more than ${mostBytes} bytes`)
  }

  async function begin(number: number) {
    count(LEAST_BYTES)
    const path = newPath()
    const file = { path, bytes: LEAST_BYTES, handle: await open(path, 'wx', 0o600) }
    files.set(number, file)
    return file
  }

  async function remove(number: number): Promise<void> {
    const file = files.get(number)
    if (!file) return
    files.delete(number)
    used -= file.bytes
    await file.handle?.close()
    await rm(file.path, { force: true })
  }

  return {
    async append(number, bytes) {
      const file = files.get(number) ?? (await begin(number))
      if (!file.handle) throw new Error(`a reader wrote to the file ${number} after its end`)
      count(bytes.length)
      file.bytes += bytes.length
      await file.handle.appendFile(bytes)
    },
    async finish(number) {
      const file = find(number)
      await file.handle?.close()
      file.handle = null
      // A reader has another working directory.
      return resolve(file.path)
    },
    path: (number) => find(number).path,
    remove,
    async removeAll() {
      for (const number of files.keys()) await remove(number)
    },
  }
}
