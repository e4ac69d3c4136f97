// A directory of this machine without a repository: a tree of package files, found by their names.
import { realpath, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { isProblem, Problem } from '../domain/problem.ts'
import type { StagedFile, UnreadableEntry } from '../formats/catalog.ts'
import { entriesBelow } from '../kernel/files-below.ts'
import { allowedDirectory, createDirectoryTransport, isWithin, type AllowedDirectory } from './directory-transport.ts'
import { checkPath } from './paths.ts'
import { mismatch } from './problems.ts'
import type { UpstreamDeps } from './source.ts'
import { stage } from './stage.ts'

export interface TreeFile {
  /** relative to the directory */
  path: string
  sizeBytes: number
}

export interface TreeBatch {
  /** at most 500 */
  files: TreeFile[]
  /** Files that are left out: names with control characters, links that lead out of the import directory. */
  unreadable: UnreadableEntry[]
}

export interface PackageTree {
  /**
   * All files with the name suffix of a package, in no order. Hidden directories are left out, and links to
   * directories are not followed.
   */
  files(): AsyncGenerator<TreeBatch, void, undefined>
  /** Copies a file. @throws Problem('checksum_mismatch') when its size has changed, 'upstream_error', 'storage_full' */
  fetchPackage(file: TreeFile, to: string): Promise<StagedFile>
}

const BATCH = 500
const DEEPEST = 64

/** @throws Problem('forbidden_target') for a directory outside the import directories */
export async function openTree(
  url: string,
  { formats, importDirectories, wait }: Pick<UpstreamDeps, 'formats' | 'importDirectories' | 'wait'>,
): Promise<PackageTree> {
  const address = URL.canParse(url) ? new URL(url) : null
  if (address?.protocol !== 'file:')
    throw new Problem('forbidden_target', 'the address of a tree of packages is not a file URL')
  const directory = await allowedDirectory(address, importDirectories)
  const transport = createDirectoryTransport(directory)
  const suffixes = formats.flatMap((format) => format.suffixes)
  const isEntered = (path: string) =>
    !basename(path).startsWith('.') && relative(directory.path, path).split(sep).length <= DEEPEST
  return {
    async *files() {
      let batch: TreeBatch = { files: [], unreadable: [] }
      for await (const entry of entriesBelow(directory.path, isEntered)) {
        if (!entry.isFile() && !entry.isSymbolicLink()) continue
        const path = relative(directory.path, join(entry.parentPath, entry.name))
        if (!suffixes.some((suffix) => path.endsWith(suffix))) continue
        const found = await describe(directory, path)
        if ('unreadable' in found) batch.unreadable.push(found)
        else batch.files.push(found)
        if (batch.files.length + batch.unreadable.length < BATCH) continue
        yield batch
        batch = { files: [], unreadable: [] }
      }
      if (batch.files.length + batch.unreadable.length > 0) yield batch
    },
    async fetchPackage({ path, sizeBytes }, to) {
      const fetched = await stage(transport, { path, sizeBytes, mostBytes: sizeBytes, digest: null }, to, wait)
      if (typeof fetched === 'string') throw mismatch(`${path} of ${transport.name} is gone`)
      return { path: to, sizeBytes: fetched.sizeBytes, sha256: fetched.sha256 }
    },
  }
}

async function describe(
  { path: directory, root }: AllowedDirectory,
  path: string,
): Promise<TreeFile | UnreadableEntry> {
  try {
    checkPath(path, directory)
    const real = await realpath(join(directory, path))
    if (!isWithin(real, root)) return { name: path, unreadable: 'the link leads out of the import directory' }
    const { size, isFile } = await stat(real).then((info) => ({ size: info.size, isFile: info.isFile() }))
    return isFile ? { path, sizeBytes: size } : { name: path, unreadable: 'the name is not of a regular file' }
  } catch (error) {
    if (isProblem(error)) return { name: path, unreadable: 'the name has characters that are not accepted' }
    return { name: path, unreadable: `the file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'error'}` }
  }
}
