// Compares the pool and the quarantine with the rows of stored files.
import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { ECOSYSTEMS } from '../../formats/index.ts'
import { entriesOf, pathsOf } from '../../kernel/files-below.ts'
import { inGroups } from '../../kernel/in-groups.ts'
import type { Db } from '../../store/db.ts'
import type { Area } from '../../store/files/pool.ts'
import { objectName, parseKey, type ObjectStore } from '../../store/objects/object-store.ts'
import type { Paths } from '../../store/paths.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Suspect } from './inspection.ts'
import { needsAfter, needsOf, placedNow, type Need, type Placed } from './needs.ts'
import { placesOf, type PlacesDeps } from './places.ts'
import { entriesIn, isUnfinished } from './reading.ts'

export interface StoredBytesDeps extends PlacesDeps {
  db: Db
}

const BATCH = 200
/** Stored files that are checked at the same time. */
const TOGETHER = 16
const DIGEST = /^[0-9a-f]{64}$/

const PLACES: readonly Area[] = ['pool', 'quarantine']

/** Finds stored files whose bytes are missing or have another size. */
export function storedFiles(deps: StoredBytesDeps): Inspection {
  const { db } = deps
  const places = placesOf(deps)

  async function compare({ need, place }: { need: Need; place: Area }): Promise<Suspect[]> {
    const subject = places[place].subjectOf(need)
    const size = await places[place].sizeOf(subject)
    if (size === need.size_bytes) return []
    return [suspectOf(place, subject, size === null ? 'missing' : 'wrong_size', '', { sha256: need.sha256 })]
  }

  return {
    name: 'stored files',
    async *suspects(after, signal) {
      for (let last = after ?? ''; ;) {
        signal.throwIfAborted()
        const needs = await needsAfter(db, last, BATCH)
        if (needs.length === 0) return
        const expected = needs.flatMap((need) => PLACES.filter((one) => need[one]).map((place) => ({ need, place })))
        const suspects = (await inGroups(expected, TOGETHER, compare)).flat()
        last = needs.at(-1)!.sha256
        yield { suspects, checked: needs.length, after: last }
        await turn()
      }
    },
  }
}

/** Finds files in the pool and in quarantine that no row needs there. */
export function unknownBytes({ db, paths, store }: StoredBytesDeps): Inspection {
  const unknown = (place: Area, path: string, sha256: string | null) =>
    suspectOf(place, relative(paths.root, path), 'unknown', '', { sha256 })

  /** @param directory contains one directory for each digest */
  async function* below(place: Area, directory: string): AsyncGenerator<{ suspects: Suspect[]; checked: number }> {
    for await (const paths of pathsOf(await entriesOf(directory), BATCH)) {
      const names = paths.map((path) => basename(path))
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
      // With an object store the pool has no files here: an installation with both does not start.
      for (const format of store ? [] : await entriesIn(paths.pool)) {
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

/** Finds objects of packages that no row needs. Other objects of the bucket are not ours. */
export function unknownObjects({ db, store }: { db: Db; store: ObjectStore }): Inspection {
  return {
    name: 'objects in the store',
    async *suspects(after, signal) {
      for (const format of [...ECOSYSTEMS].sort()) {
        const first = `${format}/`
        // The cursor is a key; formats before it are done.
        for (let last = after?.startsWith(first) ? after : ''; after === null || after < `${format}0`;) {
          signal.throwIfAborted()
          const { objects, isLast } = await store.list(first, last)
          const found = objects.flatMap(({ key }) => parseKey(key) ?? [])
          const needs = await needsOf(
            db,
            found.map(({ sha256 }) => sha256),
          )
          const suspects = found
            .filter((object) => !needs.get(object.sha256)?.pool || needs.get(object.sha256)?.format !== object.format)
            .map((object) => suspectOf('pool', objectName(object), 'unknown', '', { sha256: object.sha256 }))
          last = objects.at(-1)?.key ?? last
          yield { suspects, checked: objects.length, after: last || first }
          if (isLast || objects.length === 0) break
        }
      }
    },
  }
}

/**
 * Decides about one file of the pool or the quarantine. The order of the checks follows from how uploads and removals
 * work (store/files/placement): bytes are in place before their record is committed, and the upload stays in staging
 * until after that; a removal claims the row first.
 */
export function confirmStored(deps: StoredBytesDeps): Confirm {
  const { db, paths } = deps
  const places = placesOf(deps)
  return async ({ area, subject, sha256 }) => {
    const place = area as Area
    const path = join(paths.root, subject)
    const first = await places[place].sizeOf(subject)
    if (sha256 === null) {
      if (first === null) return SOUND
      if (await isUnfinished(path)) return CHANGING
      return faulty(suspectOf(place, subject, 'unknown', 'it has no place in the layout of this directory'))
    }
    const isArriving = await hasArrival(paths, sha256)
    const before = await placedNow(db, sha256)
    const { need } = before
    const isNeeded = need !== null && need[place] && places[place].subjectOf(need) === subject
    const digest = isNeeded && first === need.size_bytes ? await places[place].digest(subject) : null
    const second = await places[place].sizeOf(subject)
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

/** Whether both are equal, and nobody is about to move or remove the bytes. */
function isSettled(before: Placed, after: Placed): boolean {
  const isQuiet = ({ isPending, need }: Placed) => !isPending && !need?.removing
  return isQuiet(before) && isQuiet(after) && JSON.stringify(before) === JSON.stringify(after)
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
