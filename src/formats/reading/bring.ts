// Files that are read where they lie: readers may open those of one directory only, so others are linked there first.
import { copyFile, link } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { removeFile } from '../../kernel/files.ts'

/** @returns a name of the file that readers may open, until `done` */
export type Bring = (path: string) => Promise<{ path: string; done(): Promise<void> }>

/** @param newPath a name in the directory that nothing has yet */
export function createBring(directory: string, newPath: () => string): Bring {
  return async (path) => {
    // A reader has another working directory.
    if (!relative(directory, path).startsWith('..')) return { path: resolve(path), done: async () => {} }
    const linked = newPath()
    // On another file system, or where links to files of others are forbidden, a copy does.
    await link(path, linked).catch(() => copyFile(path, linked))
    return { path: resolve(linked), done: () => removeFile(linked) }
  }
}
