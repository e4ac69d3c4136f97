// Compares the pool and the quarantine with the rows of stored files.
import { opendir, readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { isMissing } from '../kernel/files.ts'
import type { Db } from '../store/db.ts'
import type { LocalPool } from '../store/files/pool.ts'
import type { Paths } from '../store/paths.ts'
import type { Hashing } from './hashing.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Suspect } from './inspection.ts'
import { needsAfter, needsOf, placedNow, type Need, type Placed } from './needs.ts'
import { entriesIn, isUnfinished, sizeOf } from './reading.ts'

export interface StoredBytesDeps {
  db: Db
  paths: Paths
  pool: Pick<LocalPool, 'path' | 'quarantinePath'>
  hashing: Hashing
}

const BATCH = 200
const DIGEST = /^[0-9a-f]{64}$/

type Place = 'pool' | 'quarantine'
const PLACES: readonly Place[] = ['pool', 'quarantine']

export const pathIn = (pool: StoredBytesDeps['pool'], place: Place, need: Need) =>
  place === 'pool' ? pool.path(need) : pool.quarantinePath(need)

/** Stored files whose bytes are missing or have another size. */
export function storedFiles({ db, paths, pool }: StoredBytesDeps): Inspection {
  return {
    name: 'stored files',
    async *suspects(after, signal) {
      for (let last = after ?? ''; ;) {
        signal.throwIfAborted()
        const needs = await needsAfter(db, last, BATCH)
        if (needs.length === 0) return
        const suspects: Suspect[] = []
        for (const need of needs) {
          for (const place of PLACES.filter((one) => need[one])) {
            const path = pathIn(pool, place, need)
            const size = sizeOf(path)
            if (size === need.size_bytes) continue
            const fault = size === null ? 'missing' : 'wrong_size'
            suspects.push(suspectOf(place, relative(paths.root, path), fault, '', { sha256: need.sha256 }))
          }
        }
        last = needs.at(-1)!.sha256
        yield { suspects, checked: needs.length, after: last }
        await turn()
      }
    },
  }
}

/** Files in the pool and in quarantine that no row needs there. */
export function unknownBytes({ db, paths }: StoredBytesDeps): Inspection {
  const unknown = (place: Place, path: string, sha256: string | null) =>
    suspectOf(place, relative(paths.root, path), 'unknown', '', { sha256 })

  /** @param directory holds one directory for each digest */
  async function* below(place: Place, directory: string): AsyncGenerator<{ suspects: Suspect[]; checked: number }> {
    for await (const names of batchesIn(directory)) {
      const suspects: Suspect[] = []
      const needs = await needsOf(db, names)
      for (const name of names) {
        if (!DIGEST.test(name)) {
          suspects.push(unknown(place, join(directory, name), null))
          continue
        }
        const need = needs.get(name)
        for (const file of await entriesIn(join(directory, name))) {
          if (!need?.[place] || file.name !== need.filename)
            suspects.push(unknown(place, join(directory, name, file.name), name))
        }
      }
      yield { suspects, checked: names.length }
    }
  }

  return {
    name: 'files in the pool',
    async *suspects(after, signal) {
      for (const format of await entriesIn(paths.pool)) {
        const directory = join(paths.pool, format.name)
        if (!format.isDirectory()) {
          yield { suspects: [unknown('pool', directory, null)], checked: 1, after: after ?? '' }
          continue
        }
        for (const prefix of await entriesIn(directory)) {
          const at = `${format.name}/${prefix.name}`
          if (after !== null && at <= after) continue
          signal.throwIfAborted()
          const path = join(directory, prefix.name)
          if (!prefix.isDirectory()) yield { suspects: [unknown('pool', path, null)], checked: 1, after: at }
          else for await (const batch of below('pool', path)) yield { ...batch, after: after ?? '' }
          yield { suspects: [], checked: 0, after: at }
        }
      }
      for await (const batch of below('quarantine', paths.quarantine)) yield { ...batch, after: '~' }
    },
  }
}

/** Names in a directory that may have a million. */
async function* batchesIn(directory: string): AsyncGenerator<string[]> {
  let names: string[] = []
  try {
    for await (const entry of await opendir(directory)) {
      names.push(entry.name)
      if (names.length < BATCH) continue
      yield names
      names = []
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  if (names.length > 0) yield names
}

/**
 * Decides about one file of the pool or the quarantine. The order of the looks follows from how uploads and removals
 * work (store/files/placement): bytes are in place before their record is committed, and the upload stays in staging
 * until after that; a removal claims the row first.
 */
export function confirmStored(deps: StoredBytesDeps): Confirm {
  const { db, paths, pool } = deps
  return async ({ area, subject, sha256 }) => {
    const place = area as Place
    const path = join(paths.root, subject)
    const first = sizeOf(path)
    if (sha256 === null) {
      if (first === null) return SOUND
      if (await isUnfinished(path)) return CHANGING
      return faulty(suspectOf(place, subject, 'unknown', 'it has no place in the layout of this directory'))
    }
    const isArriving = await hasArrival(paths, sha256)
    const before = await placedNow(db, sha256)
    const { need } = before
    const isNeeded = need !== null && need[place] && pathIn(pool, place, need) === path
    const digest = isNeeded && first === need.size_bytes ? await digestOf(deps.hashing, path) : null
    const second = sizeOf(path)
    if (!isSettled(before, await placedNow(db, sha256)) || first !== second) return CHANGING
    if (!isNeeded) {
      if (second === null) return SOUND
      if (isArriving || (await isUnfinished(path))) return CHANGING
      return faulty(suspectOf(place, subject, 'unknown', 'no record and no kept publication needs it', { sha256 }))
    }
    const belongsTo = describe(before)
    const more = { sha256, package_id: before.record?.id ?? null, distribution: before.record?.distribution ?? null }
    if (second === null) return faulty(suspectOf(place, subject, 'missing', belongsTo, more))
    if (second !== need.size_bytes) {
      const detail = `${second} bytes instead of ${need.size_bytes}; ${belongsTo}`
      return faulty(suspectOf(place, subject, 'wrong_size', detail, more))
    }
    if (digest !== sha256) return faulty(suspectOf(place, subject, 'wrong_content', belongsTo, more))
    return SOUND
  }
}

function describe({ record }: Placed): string {
  if (!record) return 'a kept publication names it'
  return `the file of ${record.name} ${record.version} in ${record.distribution}`
}

/** Whether both say the same, and nobody is about to move or remove the bytes. */
function isSettled(before: Placed, after: Placed): boolean {
  const isQuiet = ({ isPending, need }: Placed) => !isPending && !need?.removing
  return isQuiet(before) && isQuiet(after) && JSON.stringify(before) === JSON.stringify(after)
}

/** @returns null for a file that is gone */
async function digestOf(hashing: Hashing, path: string): Promise<string | null> {
  try {
    return (await hashing.digest(path)).sha256
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Whether a process is receiving these bytes: its staged file is named after them (store/files/staging). */
async function hasArrival(paths: Paths, sha256: string): Promise<boolean> {
  for (const process of await entriesIn(paths.incoming)) {
    const names = await readdir(join(paths.incoming, process.name)).catch(() => [] as string[])
    if (names.some((name) => name.endsWith(`.${sha256}`))) return true
  }
  return false
}

/** Paths of staged files with these bytes. */
export async function arrivalsOf(paths: Paths, sha256: string): Promise<string[]> {
  const found: string[] = []
  for (const process of await entriesIn(paths.incoming)) {
    const directory = join(paths.incoming, process.name)
    for (const { name } of await entriesIn(directory))
      if (name.endsWith(`.${sha256}`) && (await stat(join(directory, name)).catch(() => null)))
        found.push(join(directory, name))
  }
  return found
}
