// Compares the manifests, from which an empty database is rebuilt, with the records.
import { join, relative } from 'node:path'
import { entriesOf, pathsOf } from '../../kernel/files-below.ts'
import type { Db } from '../../store/db.ts'
import type { Manifest } from '../../packages/records/manifest.ts'
import type { Manifests } from '../../packages/records/manifests.ts'
import type { Paths } from '../../store/paths.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Suspect } from './inspection.ts'
import { entriesIn, isPresent, isUnfinished } from './reading.ts'

export interface ManifestDeps {
  db: Db
  paths: Paths
  manifests: Pick<Manifests, 'key' | 'read' | 'namesIn'>
}

const BATCH = 200
const COLUMNS = [
  'id',
  'distribution',
  'name',
  'version',
  'arch',
  'sha256',
  'received_sha256',
  'status',
  'changes',
  'manifest_changes',
] as const

type Row = Awaited<ReturnType<typeof rowsAfter>>[number]

function rowsAfter(db: Db, id: number) {
  return db.selectFrom('packages').select(COLUMNS).where('id', '>', id).orderBy('id').limit(BATCH).execute()
}

const says = (manifest: Manifest, row: Row) =>
  (['distribution', 'name', 'version', 'arch', 'sha256', 'received_sha256', 'status'] as const).every(
    (key) => manifest.record[key] === row[key],
  ) && manifest.blob.sha256 === row.sha256

const subjectOf = (paths: Paths, key: string) => join(relative(paths.root, paths.manifests), key)

/** Finds records without a manifest, or with a different one. */
export function recordManifests({ db, paths, manifests }: ManifestDeps): Inspection {
  return {
    name: 'manifests of records',
    async *suspects(after, signal) {
      for (let last = Number(after ?? 0); ;) {
        signal.throwIfAborted()
        const rows = await rowsAfter(db, last)
        if (rows.length === 0) return
        const suspects: Suspect[] = []
        for (const row of rows) {
          // Its manifest is not written yet: recovery writes it within a minute.
          if (row.manifest_changes < row.changes) continue
          const key = manifests.key(row)
          const manifest = await manifests.read(key)
          if (manifest && says(manifest, row)) continue
          const more = { package_id: row.id, distribution: row.distribution, sha256: row.sha256 }
          suspects.push(suspectOf('manifests', subjectOf(paths, key), 'missing', '', more))
        }
        last = rows.at(-1)!.id
        yield { suspects, checked: rows.length, after: String(last) }
      }
    },
  }
}

/** Finds manifests without a record. */
export function unknownManifests({ db, paths, manifests }: ManifestDeps): Inspection {
  return {
    name: 'manifest files',
    async *suspects(after, signal) {
      for (const distribution of await entriesIn(paths.manifests)) {
        for (const letter of await entriesIn(join(paths.manifests, distribution.name))) {
          const at = `${distribution.name}/${letter.name}`
          if (after !== null && at < after) continue
          for await (const files of pathsOf(await entriesOf(join(paths.manifests, at)), BATCH)) {
            signal.throwIfAborted()
            const keys = files.map((path) => relative(paths.manifests, path))
            const known = await knownKeys(db, manifests, distribution.name, keys)
            const suspects = keys
              .filter((key) => !known.has(key))
              .map((key) => suspectOf('manifests', subjectOf(paths, key), 'unknown', ''))
            yield { suspects, checked: keys.length, after: at }
          }
        }
      }
    },
  }
}

async function knownKeys(
  db: Db,
  manifests: ManifestDeps['manifests'],
  distribution: string,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(keys.flatMap(namesOf(manifests)))]
  if (names.length === 0) return new Set()
  const rows = await db
    .selectFrom('packages')
    .select(['distribution', 'name', 'version', 'arch'])
    .where('distribution', '=', distribution)
    .where('name', 'in', names)
    .execute()
  return new Set(rows.map(manifests.key))
}

/** The package names of a manifest's name; none for a name that no manifest can have. */
const namesOf = (manifests: ManifestDeps['manifests']) => (key: string) => {
  try {
    return manifests.namesIn(key)
  } catch {
    // An incomplete escape.
    return []
  }
}

/** Decides about one manifest. Deletions remove it after their transaction; a new record of the same name writes it again. */
export function confirmManifest({ db, paths, manifests }: ManifestDeps): Confirm {
  return async ({ subject, package_id: id }) => {
    const key = relative(paths.manifests, join(paths.root, subject))
    const path = join(paths.root, subject)
    if (id === null) {
      const isKnown = async () => (await knownKeys(db, manifests, key.split('/')[0] ?? '', [key])).has(key)
      if (!(await isPresent(path))) return SOUND
      if ((await isPending(key)) || (await isUnfinished(path))) return CHANGING
      if ((await isKnown()) || !(await isPresent(path))) return SOUND
      return faulty(suspectOf('manifests', subject, 'unknown', 'there is no such record'))
    }
    const before = await stateOf(id)
    if (!before) return SOUND
    if (manifests.key(before) !== key) return SOUND
    const first = await manifests.read(key)
    const isPendingNow = await isPending(key)
    const after = await stateOf(id)
    const second = await manifests.read(key)
    if (first && second && says(first, before) && says(second, before)) return SOUND
    const isSettled = !isPendingNow && !(await isPending(key)) && JSON.stringify(before) === JSON.stringify(after)
    if (!isSettled || before.manifest_changes < before.changes || Boolean(first) !== Boolean(second)) return CHANGING
    const fault = (await isPresent(path)) ? 'wrong_content' : 'missing'
    const detail = `the manifest of ${before.name} ${before.version} in ${before.distribution}`
    const more = { package_id: id, distribution: before.distribution, sha256: before.sha256 }
    return faulty(suspectOf('manifests', subject, fault, detail, more))
  }

  function stateOf(id: number) {
    return db.selectFrom('packages').select(COLUMNS).where('id', '=', id).executeTakeFirst()
  }

  async function isPending(key: string): Promise<boolean> {
    const row = await db
      .selectFrom('pending_deletions')
      .select('id')
      .where('kind', '=', 'manifest')
      .where('key', '=', key)
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  }
}
