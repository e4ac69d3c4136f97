// Limits an access log by size: a large file is renamed; when all renamed files are too large together, the oldest is deleted.
import { readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../kernel/clock.ts'
import { ifMissing } from '../kernel/files.ts'

export interface AccessLogSizeDeps {
  path: string
  clock: Clock
  /** total of the file and all its rotated files */
  mostBytes: number
  onDeleted(name: string, bytes: number): void
}

/** Downloads are counted each minute, so deleted files were read long before, unless the log fills up within minutes. */
const FILES = 16
const MOST_FILE_BYTES = 64 * 1024 * 1024
/** Suffixes of files that retention, logrotate(8) or this module renamed. */
const ROTATION = /^(?:-\d{8}(?:-\d+)?|\.\d{1,4})(?:\.[a-z0-9]+)?$/

/** @returns `rotate` of a line file. Several processes may write the file: a file that another one has renamed is left alone. */
export function createAccessLogSize({ path, clock, mostBytes, onDeleted }: AccessLogSizeDeps) {
  const directory = dirname(path)
  const fileBytes = Math.min(MOST_FILE_BYTES, Math.floor(mostBytes / FILES))

  return async (file: Pick<FileHandle, 'stat'>): Promise<boolean> => {
    if ((await file.stat()).size < fileBytes) return false
    const [day = '', time = ''] = clock
      .now()
      .toISOString()
      .replace(/[-:.Z]/g, '')
      .split('T')
    // The name contains the process id, so that two processes that rename at the same moment do not overwrite each other's file.
    await rename(path, `${path}-${day}-${time}${process.pid}`).catch(ifMissing(undefined))
    // The next file grows to its limit plus one write.
    await removeBeyond(mostBytes - 2 * fileBytes)
    return true
  }

  async function removeBeyond(bytes: number): Promise<void> {
    const name = basename(path)
    const names = (await readdir(directory)).filter(
      (one) => one.startsWith(name) && ROTATION.test(one.slice(name.length)),
    )
    const found = await Promise.all(
      names.map(async (one) => ({ one, info: await stat(join(directory, one)).catch(ifMissing(null)) })),
    )
    let sum = 0
    for (const { one, info } of found.sort((a, b) => (b.info?.mtimeMs ?? 0) - (a.info?.mtimeMs ?? 0))) {
      sum += info?.size ?? 0
      if (!info || sum <= bytes) continue
      await unlink(join(directory, one)).catch(ifMissing(undefined))
      onDeleted(one, info.size)
    }
  }
}
