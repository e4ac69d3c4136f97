import { expect, test } from 'vitest'
import type { Settings } from '../domain/settings.ts'
import { createRoom, GIB } from './room.ts'

const SETTINGS = { mirror: { min_free_disk_gb: 2 } } as Settings

test.each([
  [3 * GIB, GIB, null],
  [3 * GIB, GIB + 1, '1025 MiB are needed and 3072 MiB are free, of which mirror.min_free_disk_gb keeps 2048'],
])('of %i free bytes, %i may be taken or not', async (free, bytes, expected) => {
  const taken = createRoom(
    async () => free,
    () => SETTINGS,
  ).requireRoom(bytes)
  if (expected === null) await expect(taken).resolves.toBeUndefined()
  else await expect(taken).rejects.toMatchObject({ code: 'storage_full', detail: expected })
})
