// Free space of the file systems that the service writes to.
import { statfs } from 'node:fs/promises'

export interface DiskRoom {
  freeBytes: number
  totalBytes: number
}

/** Below this, and below a twentieth of the file system, space is short: work that has begun still fits. */
const SHORT_BYTES = 5 * 1024 ** 3
const SHORT_SHARE = 0.05

export async function roomAt(path: string): Promise<DiskRoom> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

export function isShort({ freeBytes, totalBytes }: DiskRoom): boolean {
  return freeBytes < Math.min(SHORT_BYTES, totalBytes * SHORT_SHARE)
}

/** @param places paths by name; those that cannot be read are left out of the result */
export async function roomOf(places: Readonly<Record<string, string>>): Promise<Record<string, DiskRoom>> {
  const found = await Promise.all(
    Object.entries(places).map(async ([place, path]) => {
      const room = await roomAt(path).catch(() => null)
      return room === null ? [] : [[place, room] as const]
    }),
  )
  return Object.fromEntries(found.flat())
}
