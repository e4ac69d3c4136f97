// Makes files readable for readers: these may open files of only one directory, so others are linked there first.
import { copyFile, link } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { removeFile } from '../../kernel/files.ts'

/** @returns a path of the file that readers may open until `done` */
export type Bring = (path: string) => Promise<{ path: string; done(): Promise<void> }>

/** @param newPath an unused path in the directory */
export function createBring(directory: string, newPath: () => string): Bring {
  return async (path) => {
    // A reader has another working directory.
    if (!relative(directory, path).startsWith('..')) return { path: resolve(path), done: async () => {} }
    const linked = newPath()
    // Copies instead, on another file system or where links to other users' files are forbidden.
    await link(path, linked).catch(() => copyFile(path, linked))
    return { path: resolve(linked), done: () => removeFile(linked) }
  }
}
