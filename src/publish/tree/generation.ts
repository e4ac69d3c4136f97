// Writes a generation beside the live one, and links package files into the tree. Clients see neither before the flip.
import { dirname, join, relative } from 'node:path'
import type { IndexFile, Offered } from '../../formats/format.ts'
import { allEnded } from '../../kernel/all-ended.ts'
import {
  ensureDirectory,
  enteredInto,
  fsyncPath,
  isMissing,
  linkFile,
  writeDurably,
  renameOver,
} from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'
import { groupsOf, inGroups } from '../../kernel/in-groups.ts'
import { symlinkName } from '../../kernel/names.ts'
import { createPacer } from '../../kernel/pacer.ts'
import type { Pool } from '../../store/files/pool.ts'
import type { TreeFile } from '../index/changes.ts'
import { BY_HASH, type Tree } from './tree.ts'

/** Directories flushed at the same time: twice the four threads of Node. */
const FLUSHED_TOGETHER = 8
/** Each new file is a request to an object store. */
const LINKED_TOGETHER = 16

/** Architectures that use the files of an earlier generation. */
export interface Unchanged {
  generation: string
  architectures: readonly string[]
}

/** The earlier generation was removed meanwhile. */
export class GenerationGone extends Error {}

/** Links package files from the pool into the tree and flushes their directories; idempotent. */
export async function linkPackages(
  tree: Tree,
  { format, distribution }: Offered,
  pool: Pick<Pool, 'publish'>,
  files: Iterable<TreeFile>,
): Promise<void> {
  const directories = new Set<string>()
  const pace = createPacer()
  const link = async (file: TreeFile) => {
    for (const path of format.packagePaths(file, distribution)) {
      const target = join(tree.packages, path)
      const made = await ensureDirectory(dirname(target))
      if (await pool.publish({ format: format.id, sha256: file.sha256, filename: file.filename }, target))
        directories.add(dirname(target))
      for (const directory of enteredInto(dirname(target), made)) directories.add(directory)
    }
  }
  // Links are made without threads (kernel/names): without the pauses, 20,000 of them blocked the event loop for 2.0 s.
  for (const group of groupsOf(files, LINKED_TOGETHER)) {
    await allEnded(group.map(link))
    await pace()
  }
  await inGroups([...directories], FLUSHED_TOGETHER, fsyncPath)
}

export interface GenerationContent {
  files: readonly IndexFile[]
  backgroundIndexes: readonly { path: string; sha256: string }[]
  unchanged: Unchanged | null
}

/**
 * @param name directory of the generation, new
 * @returns the bytes of the files that no other generation has; all files are complete and flushed
 * @throws GenerationGone when the generation with the unchanged files was removed
 */
export async function writeGeneration(
  tree: Tree,
  { format, distribution }: Offered,
  name: string,
  { files, backgroundIndexes, unchanged }: GenerationContent,
): Promise<number> {
  const layout = format.layout(distribution)
  const root = join(tree.base, name)
  const directories = new Set<string>([root])
  const place = async (path: string): Promise<string> => {
    const target = join(root, path)
    for (let at = dirname(target); at.length >= root.length; at = dirname(at)) directories.add(at)
    await ensureDirectory(dirname(target))
    return target
  }
  await ensureDirectory(root)
  for (const path of layout.packagesIn) {
    const link = await place(path)
    await symlinkName(relative(dirname(link), tree.packages), link)
  }
  for (const directory of layout.byHashIn) {
    const link = await place(join(directory, BY_HASH))
    await symlinkName(relative(dirname(link), tree.byHash), link)
  }
  for (const { path, target } of layout.aliases ?? []) {
    const link = await place(path)
    await symlinkName(relative(dirname(link), join(root, target)), link)
  }
  const shared = join(tree.byHash, 'SHA256')
  const written = await Promise.all(
    files.map(async (file) => {
      const target = await place(file.path)
      // Uses the file of another generation with the same digest, for example of an unchanged architecture.
      const isKnown = file.byHash !== undefined && (await linkIfThere(join(shared, file.byHash), target))
      if (!isKnown) await writeDurably(target, file.content)
      return { target, byHash: isKnown ? undefined : file.byHash, bytes: isKnown ? 0 : sizeOf(file.content) }
    }),
  )
  for (const arch of unchanged?.architectures ?? []) {
    const from = join(tree.base, unchanged!.generation)
    for (const path of await filesBelow(from, arch))
      if (!(await linkIfThere(join(from, path), await place(path)))) throw new GenerationGone()
  }
  for (const extra of backgroundIndexes) {
    await linkFile(join(tree.background, extra.sha256), await place(extra.path))
    // With `Acquire-By-Hash` in the Release, apt fetches every file by digest.
    if (layout.byHashIn.length === 0) continue
    await ensureDirectory(shared)
    await linkFile(join(tree.background, extra.sha256), join(shared, extra.sha256))
  }
  const named = written.filter((file) => file.byHash !== undefined)
  if (named.length > 0) {
    await ensureDirectory(shared)
    for (const file of named) await share(file.target, join(shared, file.byHash as string))
    directories.add(shared)
  }
  directories.add(tree.base)
  await Promise.all([...directories].map(fsyncPath))
  return written.reduce((sum, { bytes }) => sum + bytes, 0)
}

function sizeOf(content: IndexFile['content']): number {
  if (content instanceof Uint8Array) return content.byteLength
  return content.reduce((sum, piece) => sum + piece.byteLength, 0)
}

/** @returns false when the file does not exist */
async function linkIfThere(from: string, to: string): Promise<boolean> {
  try {
    await linkFile(from, to)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/**
 * Paths of the regular files below a directory of a generation. It does not follow links, because they lead to all packages.
 * @throws GenerationGone
 */
async function filesBelow(generation: string, directory: string): Promise<string[]> {
  const paths: string[] = []
  for await (const entry of entriesBelow(join(generation, directory)))
    if (entry.isFile()) paths.push(relative(generation, join(entry.parentPath, entry.name)))
  if (paths.length === 0) throw new GenerationGone()
  return paths
}

/**
 * Makes a file and the file under its digest the same inode. An older generation may have had the same content. With two
 * inodes, the file under the digest would lose its last other name with that generation, and be removed.
 */
async function share(path: string, underDigest: string): Promise<void> {
  if (await linkFile(path, underDigest)) return
  const other = `${path}.tmp`
  try {
    await linkFile(underDigest, other)
  } catch (error) {
    if (!isMissing(error)) throw error
    // It was removed since the first attempt.
    await linkFile(path, underDigest)
    return
  }
  await renameOver(other, path)
}
