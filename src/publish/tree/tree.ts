// Where the files of a distribution are, and the links through which clients reach its live generation.
import { randomBytes } from 'node:crypto'
import { basename, dirname, join, relative } from 'node:path'
import type { Distribution } from '../../domain/package.ts'
import type { PackageFormat } from '../../formats/format.ts'
import { ensureDirectory, exists, fsyncPath, isMissing } from '../../kernel/files.ts'
import { readLink, renameName, symlinkName } from '../../kernel/names.ts'
import type { Paths } from '../../store/paths.ts'

export const BY_HASH = 'by-hash'
const BACKGROUND = 'background'

/** Directories of one distribution that outlive its generations. */
export interface Tree {
  /** holds the generations */
  base: string
  packages: string
  byHash: string
  background: string
  /** absolute path of the link to the live generation */
  link: string
  /** absolute paths of links that lead through `link`, and their targets */
  standing: readonly { path: string; target: string }[]
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
    standing: layout.standing.map(({ path, target }) => ({
      path: join(paths.root, path),
      target: join(paths.root, layout.link, target),
    })),
  }
}

/** Makes the links that lead through `tree.link`, or replaces those that lead elsewhere. */
export async function ensureStanding(tree: Tree): Promise<void> {
  for (const { path, target } of tree.standing) {
    if (await leadsTo(path, target)) continue
    await ensureDirectory(dirname(path))
    const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
    await symlinkName(relative(dirname(path), target), temporary)
    await renameName(temporary, path)
    await fsyncPath(dirname(path))
  }
}

/** Whether clients see this generation: the links name it, and it exists. After a power loss a link may be older. */
export async function isVisible(tree: Tree, generation: string): Promise<boolean> {
  if ((await linkedGeneration(tree.link)) !== generation) return false
  for (const { path, target } of tree.standing) if (!(await leadsTo(path, target))) return false
  return exists(join(tree.base, generation))
}

/** Whether a symbolic link leads to this absolute path. */
export async function leadsTo(link: string, target: string): Promise<boolean> {
  return (await linkTargetOf(link)) === relative(dirname(link), target)
}

/** `r<revision>-<Release date in seconds>-<nonce>`: the link shows what clients have seen, even without the database. */
export function generationName(revision: number, seconds: number): string {
  return `r${revision}-${seconds}-${randomBytes(4).toString('hex')}`
}

/** Seconds since 1970 of a generation's Release date; 0 for any other name. */
export function releaseDateOf(generation: string | null): number {
  return Number(/^r\d+-(\d+)-/.exec(generation ?? '')?.[1] ?? 0)
}

/** The generation that clients see now; null when there is none. */
export async function linkedGeneration(link: string): Promise<string | null> {
  const target = await linkTargetOf(link)
  return target?.split('/').find((part) => /^r\d+-/.test(part)) ?? null
}

async function linkTargetOf(link: string): Promise<string | null> {
  try {
    return await readLink(link)
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EINVAL') return null
    throw error
  }
}
