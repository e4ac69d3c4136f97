// Package bytes by SHA-256: immutable, outside every web root. Refused bytes are kept in quarantine.
import { chmodSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FormatId } from '../../domain/package.ts'
import { ensureDirectory, enteredInto, exists, fsyncPath, isMissing, linkFile } from '../../kernel/files.ts'
import type { Paths } from '../paths.ts'

export interface FileId {
  format: FormatId
  sha256: string
  filename: string
}

export interface Hold {
  /** Makes the bytes durable in their place. Call it again after a removal may have come between. */
  ensure(): Promise<void>
}

export interface Pool {
  path(file: FileId): string
  quarantinePath(file: FileId): string
  /** Readies a staged file for one of the two places; nothing happens before `ensure`. */
  hold(stagedPath: string, file: FileId, place: 'pool' | 'quarantine'): Hold
  /** Links staged bytes to their durable name. Idempotent. */
  keep(stagedPath: string, file: FileId): Promise<void>
  quarantine(fromPath: string, file: FileId): Promise<void>
  has(file: FileId): Promise<boolean>
  hasQuarantined(file: FileId): Promise<boolean>
  /** Path of the bytes in the pool, else in quarantine; null when neither has them. */
  locate(file: FileId): Promise<string | null>
  /** Removes the bytes from one of the two places. */
  leave(place: 'pool' | 'quarantine', file: FileId): Promise<void>
  /** Removes the bytes from both places, under any file name. */
  forgetAll(format: FormatId, sha256: string): Promise<void>
}

/** A removal takes the directory away once; a second one in the same moment is already unlikely. */
const ATTEMPTS = 5

export function createPool(paths: Paths): Pool {
  const path = (file: FileId) => join(paths.pool, file.format, file.sha256.slice(0, 2), file.sha256, file.filename)
  const quarantinePath = (file: FileId) => join(paths.quarantine, file.sha256, file.filename)

  async function place(from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const made = await ensureDirectory(dirname(to), 0o700)
        await linkFile(from, to)
        // The published trees link these bytes for a web server of any user; the pool's directories are closed.
        if (to.startsWith(paths.pool)) chmodSync(to, 0o644)
        await Promise.all([dirname(to), ...enteredInto(dirname(to), made)].map(fsyncPath))
        return
      } catch (error) {
        // A removal of the same bytes took the directory away in between.
        if (attempt === ATTEMPTS || !isMissing(error) || !(await exists(from))) throw error
      }
    }
  }

  return {
    path,
    quarantinePath,
    hold(staged, file, where) {
      const target = where === 'pool' ? path(file) : quarantinePath(file)
      let isPlaced = false
      return {
        async ensure() {
          // The first call never trusts a file that exists: another upload may not have flushed it yet.
          if (isPlaced && (await exists(target))) return
          await place(staged, target)
          isPlaced = true
        },
      }
    },
    keep: (staged, file) => place(staged, path(file)),
    quarantine: (from, file) => place(from, quarantinePath(file)),
    has: (file) => exists(path(file)),
    hasQuarantined: (file) => exists(quarantinePath(file)),
    async locate(file) {
      if (await exists(path(file))) return path(file)
      if (await exists(quarantinePath(file))) return quarantinePath(file)
      return null
    },
    leave: (place, file) =>
      rm(dirname(place === 'pool' ? path(file) : quarantinePath(file)), { recursive: true, force: true }),
    async forgetAll(format, sha256) {
      const file = { format, sha256, filename: '-' }
      await rm(dirname(path(file)), { recursive: true, force: true })
      await rm(dirname(quarantinePath(file)), { recursive: true, force: true })
    },
  }
}
