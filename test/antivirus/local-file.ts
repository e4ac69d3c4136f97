// A file for content that is read twice, for code that may write.
import { randomUUID } from 'node:crypto'
import { appendFile, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { SpoolFile } from '../../src/formats/archive/spool.ts'
import { fileSource } from '../../src/formats/archive/zip.ts'

export function createLocalFile(directory: string): SpoolFile {
  const path = join(directory, randomUUID())
  let handle: FileHandle | null = null
  return {
    append: (piece) => appendFile(path, piece),
    async whole() {
      handle = await open(path)
      return { ...(await fileSource(handle)), number: null }
    },
    async remove() {
      await handle?.close()
      await rm(path, { force: true })
    },
  }
}
