// Sizes of directories that grow without bound, measured in the background. A request waits for at most a second.
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import { ifMissing } from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'

export interface DirectorySizes {
  /**
   * Bytes of all files below a directory, at any depth; null when it does not exist. A value older than ten minutes is
   * returned and measured again in the background; only the first caller waits, at most a second, and may get null.
   */
  bytesBelow(path: string): Promise<number | null>
}

const FRESH_MS = 600_000
const FIRST_WAIT_MS = 1_000
/** A directory that takes long to measure is measured less often, so that measuring takes at most a hundredth of the time. */
const SHARE = 100

interface Measured {
  bytes: number | null
  staleAt: number
}

export function createDirectorySizes({ clock }: { clock: Clock }): DirectorySizes {
  const measured = new Map<string, Measured>()
  const running = new Map<string, Promise<void>>()

  async function measure(path: string): Promise<void> {
    const begun = clock.now().getTime()
    const bytes = await sizeOf(path).catch(() => null)
    const ended = clock.now().getTime()
    measured.set(path, { bytes, staleAt: ended + Math.max(FRESH_MS, (ended - begun) * SHARE) })
  }

  function begin(path: string): Promise<void> {
    const work = running.get(path) ?? measure(path).finally(() => running.delete(path))
    running.set(path, work)
    return work
  }

  return {
    async bytesBelow(path) {
      const known = measured.get(path)
      if (!known) await Promise.race([begin(path), wait(FIRST_WAIT_MS, undefined, { ref: false })])
      else if (known.staleAt <= clock.now().getTime()) void begin(path)
      return measured.get(path)?.bytes ?? null
    },
  }
}

/** One entry at a time: a tree of a million files neither fills the memory nor delays other file work. */
async function sizeOf(path: string): Promise<number> {
  await access(path)
  let bytes = 0
  for await (const entry of entriesBelow(path))
    // A file may have been removed since it was listed.
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(ifMissing(null)))?.size ?? 0
  return bytes
}
