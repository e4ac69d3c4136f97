// The disk space that background work leaves free: `mirror.min_free_disk_gb`.
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'

export const GIB = 1024 ** 3

export interface Room {
  /** free bytes on the disk of the pool and of staging */
  freeBytes(): Promise<number>
  /** @throws Problem('storage_full') when less than the settings say would stay free */
  requireRoom(bytes: number): Promise<void>
}

export function createRoom(freeBytes: Room['freeBytes'], settings: () => Pick<Settings, 'mirror'>): Room {
  return {
    freeBytes,
    async requireRoom(bytes) {
      const { min_free_disk_gb: least } = settings().mirror
      const free = await freeBytes()
      if (free - bytes >= least * GIB) return
      throw new Problem(
        'storage_full',
        `${mib(bytes)} MiB are needed and ${mib(free)} MiB are free, of which mirror.min_free_disk_gb keeps ${least * 1024}`,
      )
    },
  }
}

const mib = (bytes: number) => Math.ceil(bytes / 1024 ** 2)
