// Inside a reader: a file for content that is read twice. The service writes it.
import { open, type FileHandle } from 'node:fs/promises'
import type { SpoolFile } from '../archive/spool.ts'
import { fileSource } from '../archive/zip.ts'
import type { RemoteFile } from '../readers/session.ts'

/** @param before runs before the file is removed */
export function asSpoolFile(remote: RemoteFile, before: () => Promise<void> = async () => {}): SpoolFile {
  let handle: FileHandle | null = null
  return {
    append: remote.append,
    async whole() {
      handle = await open(await remote.finish())
      return { ...(await fileSource(handle)), number: remote.number }
    },
    async remove() {
      await handle?.close()
      await before()
      await remote.remove()
    },
  }
}
