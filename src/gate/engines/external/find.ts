// Where a program is: by its path, or by its name in the directories of PATH.
import { access, constants, stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'

/** @returns an absolute path; null when there is none that can be run */
export async function findProgram(nameOrPath: string, searchPath: string): Promise<string | null> {
  // A relative entry would depend on the directory in which the service was started.
  const candidates = nameOrPath.includes('/')
    ? [resolve(nameOrPath)]
    : searchPath
        .split(':')
        .filter(isAbsolute)
        .map((directory) => join(directory, nameOrPath))
  for (const path of candidates) {
    try {
      await access(path, constants.X_OK)
      if ((await stat(path)).isFile()) return path
    } catch {
      // Not here.
    }
  }
  return null
}
