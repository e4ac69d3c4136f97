// Small reads of directories and files that may disappear meanwhile.
import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { ifMissing, isMissing } from '../../kernel/files.ts'
import { lstatName, statName } from '../../kernel/names.ts'

/** Temporary files of `kernel/files` and links of the publisher, left by a process that died. */
const TEMPORARY = /\.[0-9a-f]{12}(?:\.tmp)?$/
/** A process that is alive finishes such a file within this time. */
const UNFINISHED_MS = 3_600_000

/** Entries of a directory, by name; none when it is missing or not a directory. */
export async function entriesIn(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(ifMissing<Dirent[]>([]))
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The size of a file in bytes, links followed; null when it is missing. */
export async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await statName(path))?.size ?? null
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Whether the name exists, as a file, a directory or a link. */
export async function isPresent(path: string): Promise<boolean> {
  try {
    return (await lstatName(path)) !== undefined
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Whether it is a temporary file that a process may still be writing. */
export async function isUnfinished(path: string): Promise<boolean> {
  if (!TEMPORARY.test(path)) return false
  const info = await lstat(path).catch(() => null)
  return info === null || Date.now() - info.ctimeMs < UNFINISHED_MS
}
