// Writes a generation beside the live one, and links package files into the tree. Clients see neither before the flip.
import { readlinkSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname, join, relative } from 'node:path'
import type { Distribution } from '../../domain/package.ts'
import type { IndexFile, PackageFormat } from '../../formats/format.ts'
import { ensureDirectory, enteredInto, fsyncPath, isMissing, linkFile, writeDurably } from '../../kernel/files.ts'
import { inGroups } from '../../kernel/in-groups.ts'
import { createPacer } from '../../kernel/pacer.ts'
import type { Paths } from '../../store/paths.ts'
import type { Pool } from '../../store/files/pool.ts'
import type { TreeFile } from '../index/index-state.ts'

const BY_HASH = 'by-hash'
const BACKGROUND = 'background'
/** Directories flushed at the same time: twice the four threads of Node. */
const FLUSHED_TOGETHER = 8

/** Directories of one distribution that outlive its generations. */
export interface Tree {
  /** holds the generations */
  base: string
  packages: string
  byHash: string
  background: string
  /** absolute path of the name clients use */
  link: string
}

export function treeOf(paths: Paths, format: PackageFormat, distribution: Distribution): Tree {
  const layout = format.layout(distribution)
  const base = join(paths.generations, format.id, distribution.codename)
  return {
    base,
    packages: layout.packages === null ? join(base, layout.packagesName) : join(paths.root, layout.packages),
    byHash: join(base, BY_HASH),
    background: join(base, BACKGROUND),
    link: join(paths.root, layout.link),
  }
}

/** `r<revision>-<Release date in seconds>-<nonce>`: so the link tells what clients have seen, even without the database. */
export function generationName(revision: number, seconds: number): string {
  return `r${revision}-${seconds}-${randomBytes(4).toString('hex')}`
}

/** Seconds since 1970 of a generation's Release date; 0 for any other name. */
export function releaseDateOf(generation: string | null): number {
  return Number(/^r\d+-(\d+)-/.exec(generation ?? '')?.[1] ?? 0)
}

/** The generation that clients see at this moment; null when there is none. */
export function linkedGeneration(link: string): string | null {
  try {
    return (
      readlinkSync(link)
        .split('/')
        .find((part) => /^r\d+-/.test(part)) ?? null
    )
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EINVAL') return null
    throw error
  }
}

/** Links package files from the pool into the tree and flushes their directories; idempotent. */
export async function linkPackages(
  tree: Tree,
  format: PackageFormat,
  pool: Pool,
  files: Iterable<TreeFile>,
): Promise<void> {
  const directories = new Set<string>()
  const pace = createPacer()
  // Links are made without threads (kernel/files): 20,000 of them held the event loop for 2.0 s without the pauses.
  for (const file of files) {
    const target = join(tree.packages, format.packagePath(file))
    const made = await ensureDirectory(dirname(target))
    const stored = pool.path({ format: format.id, sha256: file.sha256, filename: file.filename })
    const isNew = (await linkFile(stored, target)) || (await replaceOther(stored, target))
    if (isNew) directories.add(dirname(target))
    for (const directory of enteredInto(dirname(target), made)) directories.add(directory)
    await pace()
  }
  await inGroups([...directories], FLUSHED_TOGETHER, fsyncPath)
}

/**
 * @param name directory of the generation, new
 * @returns its absolute path; complete and flushed
 */
export async function writeGeneration(
  tree: Tree,
  format: PackageFormat,
  distribution: Distribution,
  name: string,
  files: readonly IndexFile[],
  extras: readonly { path: string; sha256: string }[],
): Promise<string> {
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
  if (layout.packages === null) symlinkSync(relative(root, tree.packages), join(root, layout.packagesName))
  for (const directory of layout.byHashIn) {
    const link = await place(join(directory, BY_HASH))
    symlinkSync(relative(dirname(link), tree.byHash), link)
  }
  const written = await Promise.all(
    files.map(async (file) => {
      const target = await place(file.path)
      await writeDurably(target, file.content)
      return { target, byHash: file.byHash }
    }),
  )
  const shared = join(tree.byHash, 'SHA256')
  for (const extra of extras) {
    await linkFile(join(tree.background, extra.sha256), await place(extra.path))
    // Where the Release says `Acquire-By-Hash`, apt fetches every file by digest.
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
  return root
}

/**
 * apk fetches packages by name and version alone: one that was deleted and uploaded again replaces the file of before.
 * Clients with the older index fail on its checksum until they update; the format leaves no other way. Paths of the other
 * formats contain the digest.
 */
async function replaceOther(stored: string, target: string): Promise<boolean> {
  const [wanted, present] = [statSync(stored), statSync(target)]
  if (wanted.ino === present.ino && wanted.dev === present.dev) return false
  const other = `${target}.${randomBytes(6).toString('hex')}.tmp`
  await linkFile(stored, other)
  renameSync(other, target)
  return true
}

/**
 * Makes a file and the one under its digest the same inode. An older generation may have had the same content. With two
 * inodes, the one under the digest would lose its last other name with that generation, and be removed.
 */
async function share(path: string, underDigest: string): Promise<void> {
  if (await linkFile(path, underDigest)) return
  const other = `${path}.tmp`
  try {
    await linkFile(underDigest, other)
  } catch (error) {
    if (!isMissing(error)) throw error
    // Removed since the first attempt.
    await linkFile(path, underDigest)
    return
  }
  renameSync(other, path)
}
