// Which superseded generations are kept: for how long, how many, and in how much room.
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { GRACE_MS } from '../../domain/grace.ts'
import { roomAt } from '../../kernel/disks.ts'
import { ifMissing } from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'

/** A superseded generation, as its row says. */
export interface Superseded {
  generation: string
  supersededAt: Date
}

/** What the superseded generations of one distribution may take within the grace time. */
export interface Bound {
  number: number
  bytes: number
  /** Those superseded more recently stay whatever they take, in milliseconds. */
  leastMs: number
}

/**
 * A client needs an older generation from its InRelease or repomd.xml until it asks for the last index that this names: the
 * server then holds the file open. `pace` slows publishes so that they take 16 s at least to write so much.
 * The number bounds directories: a generation of deb has about 20 of them, and its files.
 */
export const MOST: Bound = { number: 512, bytes: 512 * 1024 * 1024, leastMs: 16_000 }
/** Of the room that is free no more than this share: a disk that fills up takes indexes from nobody who uses the latest. */
const SHARE_OF_FREE = 1 / 8
/** Superseded generations that are kept however large they are, within the grace time. */
export const FEWEST = 4
/** Superseded generations that are kept however old they are. */
const OLD = 2

/** The bound of this moment. @param directory on the disk of the generations */
export async function boundAt(directory: string, most: Bound = MOST): Promise<Bound> {
  const { freeBytes } = await roomAt(directory)
  return { ...most, bytes: Math.min(most.bytes, freeBytes * SHARE_OF_FREE) }
}

/** Bytes on disk by inode: generations share files by hard links. */
export type Contents = ReadonlyMap<number, number>

/**
 * Superseded generations that may go, oldest first: not among the last two, and superseded longer ago than the grace
 * time, or beyond the bound, not among the last four and not of the last moments. A time further in the future than the grace time comes from a
 * clock that was wrong: it may go too.
 * @param contentsOf undefined for a generation that was not measured: it counts as empty
 * @param live the contents of the live generation, which cost nothing more in older ones
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

/** Measures generations once each: their files never change. It remembers those that were asked for last. */
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

/** Directories are left out: `Bound.number` bounds them. */
async function contentsOf(generation: string): Promise<Contents> {
  const contents = new Map<number, number>()
  for await (const { parentPath, name } of entriesBelow(generation)) {
    const info = await lstat(join(parentPath, name)).catch(ifMissing(null))
    if (info?.isFile()) contents.set(info.ino, info.blocks * 512)
  }
  return contents
}
