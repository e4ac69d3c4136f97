// The service log in files: one for each machine, rotated each day and by size, deleted when there are too many or too old.
//
// pino-roll 4 is not used. It numbers its files, makes them readable for all (0644), counts the size of each process separately
// (1 kB files got 4 kB of two writers), deletes by number but not by age, and brings date-fns (28 MB).
import { readdir, rename, stat, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DAY_MS } from '../domain/durations.ts'
import type { Clock } from './clock.ts'
import { isMissing } from './files.ts'
import { createLineFile, type LineFile } from './line-file.ts'

/** `service-HOST.log` is the current file; `service-HOST.log-20260301T120000.123Z` was rotated at that time. */
export const LOG_FILE = /^service-([A-Za-z0-9._-]+?)\.log(?:-(\d{8}T\d{6}\.\d{3}Z))?$/

export interface LogFileDeps {
  directory: string
  clock: Clock
  /** larger files are rotated */
  mostBytes: number
  /** rotated files that are kept */
  mostFiles: number
  /** older rotated files are deleted */
  mostDays: number
  host?: string
  onFailure(error: unknown): void
}

export function createLogFile(deps: LogFileDeps): LineFile {
  const { directory, clock, mostBytes, mostFiles, mostDays, onFailure } = deps
  const host = (deps.host ?? hostname()).replace(/[^A-Za-z0-9-]/g, '-') || 'unknown'
  const path = join(directory, `service-${host}.log`)

  /** Several processes of a machine write the file; a file that another one has renamed meanwhile is left alone. */
  async function rotate(file: { stat(): Promise<{ size: number; mtime: Date }> }): Promise<boolean> {
    const { size, mtime } = await file.stat()
    const now = clock.now()
    const isOfToday = mtime.toISOString().slice(0, 10) === now.toISOString().slice(0, 10)
    if (size === 0 || (size < mostBytes && isOfToday)) return false
    const suffix = now.toISOString().replace(/[-:]/g, '')
    await rename(path, `${path}-${suffix}`).catch(ignoreMissing)
    await removeOld(now)
    return true
  }

  async function removeOld(now: Date): Promise<void> {
    const rotated = (await readdir(directory)).filter(
      (name) => LOG_FILE.exec(name)?.[2] && name.startsWith(`service-${host}.log-`),
    )
    for (const [i, name] of rotated.sort().reverse().entries()) {
      const isOld = (await stat(join(directory, name))).mtime.getTime() < now.getTime() - mostDays * DAY_MS
      if (i >= mostFiles || isOld) await unlink(join(directory, name)).catch(ignoreMissing)
    }
  }

  return createLineFile({
    ...{ path, encoding: 'utf8', mode: 0o600, flushEveryMs: 500, flushAtBytes: 64 * 1024 },
    rotate,
    onFailure,
    onDropped: () => {},
  })
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error
}
