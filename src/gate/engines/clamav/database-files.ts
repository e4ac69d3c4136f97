// The signature databases in a directory shared with the daemon. Reads names and times, never contents.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isoTime } from '../../../kernel/clock.ts'

/** Database containers, then plain signature files, as `sigtool` and `freshclam` name them. */
const DATABASE = /\.(cvd|cld|cud|db|[hm][ds][bu]|nd[bu]|ld[bu]|idb|cdb|cbc|ftm|pdb|gdb|wdb|crb|yar|yara|ign2?|fp|sfp)$/

/** @returns names in order and the time of the newest; nothing when the directory cannot be read */
export async function databaseFiles(
  directory: string | undefined,
): Promise<{ files: string[]; updatedAt: string | null }> {
  if (!directory) return { files: [], updatedAt: null }
  try {
    const files = (await readdir(directory)).filter((name) => DATABASE.test(name)).sort()
    const times = await Promise.all(files.map(async (name) => (await stat(join(directory, name))).mtimeMs))
    return { files, updatedAt: times.length === 0 ? null : isoTime(new Date(Math.max(...times))) }
  } catch {
    // It is another container's volume, or a database is being replaced now: the daemon's own answer counts.
    return { files: [], updatedAt: null }
  }
}
