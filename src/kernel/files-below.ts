// Reads directories: the names in a small one, the entries of one of any size, and everything below one.
import type { Dirent } from 'node:fs'
import { opendir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from './files.ts'

/** Names in a small directory; none when it is missing. */
export function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(ifMissing<string[]>([]))
}

/** Entries of a directory that may have a million of them; none when it is missing. */
export function entriesOf(directory: string): Promise<AsyncIterable<Dirent> | Iterable<Dirent>> {
  return opendir(directory).catch(ifMissing([]))
}

/**
 * Everything below a directory except the directories; nothing when it is missing. Keeps the names of unread directories in
 * memory, but not those of files.
 *
 * Not `opendir` with `recursive`: in Node 20 it returns only the first 32 entries of each directory below, and reads them
 * synchronously, which blocked the event loop for 118 ms in a tree of 30,000 packages.
 *
 * @param isEntered returns false to leave out the directory at this path
 */
export async function* entriesBelow(
  directory: string,
  isEntered: (path: string) => boolean = () => true,
): AsyncGenerator<Dirent> {
  const left = [directory]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for await (const entry of await entriesOf(next)) {
      if (!entry.isDirectory()) yield entry
      else if (isEntered(join(next, entry.name))) left.push(join(next, entry.name))
    }
  }
}

/** Paths of entries, in batches of this many. */
export async function* pathsOf(
  entries: AsyncIterable<Dirent> | Iterable<Dirent>,
  batch: number,
): AsyncGenerator<string[]> {
  let paths: string[] = []
  for await (const { parentPath, name } of entries) {
    if (paths.push(join(parentPath, name)) < batch) continue
    yield paths
    paths = []
  }
  if (paths.length > 0) yield paths
}
