// A file that holds a secret: read when it is there, else created once.
import { readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { randomToken } from '../kernel/crypto.ts'
import { fsyncPath, isMissing, linkFile, writeDurably } from '../kernel/files.ts'

/** Reads a file, or creates it with what `make` returns. Of two processes that create it the first wins. */
export async function readOrCreate(path: string, make: () => Promise<string>): Promise<string> {
  try {
    return await readFile(path, 'utf8')
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
