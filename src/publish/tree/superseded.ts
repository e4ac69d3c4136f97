// Which superseded generations are kept: for how long, how many, and how many bytes.
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { GRACE_MS } from '../../domain/grace.ts'
import { roomAt } from '../../kernel/disks.ts'
import { ifMissing } from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'

/** The row of a superseded generation. */
export interface Superseded {
  generation: string
  supersededAt: Date
}

/** The limits for the superseded generations of one distribution within the grace time. */
export interface Bound {
  number: number
  bytes: number
  /** generations superseded within this time stay whatever they take; in milliseconds */
  leastMs: number
}

/**
 * A client needs an older generation from the request for its InRelease or repomd.xml until the request for the last index
 * that this file names: the server then holds the file open. `pace` slows publishes so that writing so many bytes takes at
 * least 16 s. The number bounds directories: a generation of deb has about 20 of them, besides its files.
 */
export const MOST: Bound = { number: 512, bytes: 512 * 1024 * 1024, leastMs: 16_000 }
/** At most this share of the free space is used: a full disk costs no client that uses the latest index anything. */
const SHARE_OF_FREE = 1 / 8
/** Within the grace time, this many superseded generations are kept, however large they are. */
export const FEWEST = 4
/** This many superseded generations are kept, however old they are. */
const OLD = 2

/** The current bound. @param directory on the disk of the generations */
export async function boundAt(directory: string, most: Bound = MOST): Promise<Bound> {
  const { freeBytes } = await roomAt(directory)
  return { ...most, bytes: Math.min(most.bytes, freeBytes * SHARE_OF_FREE) }
}

/** Bytes on disk by inode: generations share files by hard links. */
export type Contents = ReadonlyMap<number, number>

/**
 * Superseded generations that may be removed, oldest first. The last two stay. An older one may be removed when it was
 * superseded longer ago than the grace time, or when it exceeds the bound, is not among the last four and was not superseded
 * within `leastMs`. A time further in the future than the grace time comes from a wrong clock: it may be removed too.
 * @param contentsOf undefined for a generation that was not measured: it counts as empty
 * @param live the contents of the live generation, which take no further space in older ones
 */
export function removableGenerations(
  superseded: readonly Superseded[],
  now: Date,
  bound: Bound,
  contentsOf: (generation: string) => Contents | undefined,
  live: Contents = new Map(),
): string[] {
  const newestFirst = [...superseded].sort(
    (a, b) => b.supersededAt.getTime() - a.supersededAt.getTime() || revisionOf(b) - revisionOf(a),
  )
  const seen = new Set(live.keys())
  let bytes = 0
  const removable: string[] = []
  for (const [n, { generation, supersededAt }] of newestFirst.entries()) {
    for (const [inode, size] of contentsOf(generation) ?? []) {
      if (!seen.has(inode)) bytes += size
      seen.add(inode)
    }
    const ageMs = Math.abs(now.getTime() - supersededAt.getTime())
    const isBeyond = n >= FEWEST && ageMs >= bound.leastMs && (n >= bound.number || bytes > bound.bytes)
    if (n >= OLD && (ageMs > GRACE_MS || isBeyond)) removable.push(generation)
  }
  return removable.reverse()
}

const revisionOf = ({ generation }: Superseded) => Number(/^r(\d+)-/.exec(generation)?.[1] ?? 0)

/** Measures each generation once, because its files never change. Remembers the generations of the last call. */
export function createMeasure(
  base: string,
): (generations: readonly string[]) => Promise<ReadonlyMap<string, Contents>> {
  let known = new Map<string, Contents>()
  return async (generations) => {
    const measured = new Map<string, Contents>()
    for (const generation of generations)
      measured.set(generation, known.get(generation) ?? (await contentsOf(join(base, generation))))
    known = measured
    return measured
  }
}

/** Directories are not counted: `Bound.number` bounds them. */
async function contentsOf(generation: string): Promise<Contents> {
  const contents = new Map<number, number>()
  for await (const { parentPath, name } of entriesBelow(generation)) {
    const info = await lstat(join(parentPath, name)).catch(ifMissing(null))
    if (info?.isFile()) contents.set(info.ino, info.blocks * 512)
  }
  return contents
}
