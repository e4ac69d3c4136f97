// A file that contains a secret: read if it exists, else created once.
import { chmod, readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { randomToken } from '../../kernel/crypto.ts'
import { fsyncPath, isMissing, linkFile, writeDurably } from '../../kernel/files.ts'

/**
 * Reads a file, or creates it with the result of `make`. Of two processes that create it, the first wins. When a person
 * placed a file there that others can read, its mode is changed to 0600.
 */
export async function readOrCreate(path: string, make: () => Promise<string>): Promise<string> {
  try {
    const content = await readFile(path, 'utf8')
    await closeToOthers(path)
    return content
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const made = `${path}.${randomToken(6)}.tmp`
  await writeDurably(made, await make(), 0o600)
  await linkFile(made, path)
  await rm(made)
  await fsyncPath(dirname(path))
  return readFile(path, 'utf8')
}

async function closeToOthers(path: string): Promise<void> {
  if (((await stat(path)).mode & 0o077) === 0) return
  // A file of another owner, or on a volume that cannot be written (a mounted secret), stays as it is.
  try {
    await chmod(path, 0o600)
  } catch (error) {
    if (!['EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
