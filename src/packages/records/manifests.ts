// Manifests: one JSON file for each record, from which its rows can be rebuilt without the database. Keeps the files like the rows.
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql, type Selectable } from 'kysely'
import { ensureDirectory, exchangeFile, exists, fsyncPath, isMissing } from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'
import { allEnded } from '../../kernel/all-ended.ts'
import { createBatches } from '../../kernel/batches.ts'
import { asError } from '../../kernel/errors.ts'
import type { Db } from '../../store/db.ts'
import { LASTING_COLUMNS } from '../../store/files/blob-query.ts'
import type { Paths } from '../../store/paths.ts'
import type { PackagesTable } from '../../store/tables.ts'
import { decisionsOf } from './decisions.ts'
import { manifestKey, manifestText, namesInKey, readManifest, type Manifest, type StoredBlob } from './manifest.ts'

type Row = Selectable<PackagesTable>

/** A manifest may hold 400 kB of file names. */
const MOST_TOGETHER = 50

export interface Manifests {
  /** path below `manifests/`; the same for the same record */
  key(record: { distribution: string; name: string; version: string; arch: string }): string
  /** Writes the manifests of these records and marks them as written. */
  write(ids: readonly number[]): Promise<void>
  /** Writes the manifests that a crash left unwritten. @returns their number */
  catchUp(): Promise<number>
  has(key: string): Promise<boolean>
  remove(key: string): Promise<void>
  /** the package names that a key may belong to: name, version and architecture may contain the separator */
  namesIn(key: string): string[]
  /** Removes unfinished manifests that are older than this. */
  removeUnfinished(olderThan: Date): Promise<void>
  /** @returns null for one that is missing or cannot be parsed */
  read(key: string): Promise<Manifest | null>
  /** all manifests on disk; null for one that cannot be parsed */
  all(): AsyncIterable<{ key: string; manifest: Manifest | null }>
}

export function createManifests(db: Db, paths: Paths): Manifests {
  const writeOne = createBatches(writeTogether, MOST_TOGETHER)

  async function writeTogether(ids: readonly number[]): Promise<(Error | undefined)[]> {
    const rows = await db.selectFrom('packages').selectAll().where('id', 'in', ids).execute()
    if (rows.length === 0) return ids.map(() => undefined)
    const reviews = await db.selectFrom('reviews').selectAll().where('package_id', 'in', ids).execute()
    const offers = await db
      .selectFrom('offers')
      .select(['package_id', 'from_revision'])
      .where('package_id', 'in', ids)
      .where('until_revision', 'is', null)
      .execute()
    const blobs = await db
      .selectFrom('blobs')
      .select(LASTING_COLUMNS)
      .select(sql<string>`facts::text`.as('facts'))
      .where(
        'sha256',
        'in',
        rows.map((row) => row.sha256),
      )
      .execute()
    const decisions = await decisionsOf(db, ids)
    const written: Row[] = []
    const failed = new Map<number, Error>()
    await Promise.all(
      rows.map(async (row) => {
        const blob = blobs.find(({ sha256 }) => sha256 === row.sha256)
        // The record and its bytes were deleted meanwhile.
        if (!blob) return
        try {
          await writeFileOf(row, blob, {
            review: withoutId(reviews.find(({ package_id: id }) => id === row.id)),
            offer: withoutId(offers.find(({ package_id: id }) => id === row.id)),
            decisions: decisions.filter((decision) => decision.package_id === row.id),
          })
          written.push(row)
        } catch (error) {
          failed.set(row.id, asError(error))
        }
      }),
    )
    await Promise.all([...new Set(written.map(directoryOf))].map(fsyncPath))
    const changed = await noteWritten(written)
    const again = changed.length > 0 ? await writeTogether(changed) : []
    again.forEach((error, index) => error && failed.set(changed[index] as number, error))
    return ids.map((id) => failed.get(id))
  }

  const directoryOf = (row: Row) => dirname(join(paths.manifests, manifestKey(row)))

  async function writeFileOf(
    row: Row,
    stored: StoredBlob,
    rest: Pick<Manifest, 'review' | 'offer' | 'decisions'>,
  ): Promise<void> {
    await ensureDirectory(directoryOf(row), 0o700)
    await exchangeFile(join(paths.manifests, manifestKey(row)), manifestText(row, stored, rest), 0o600)
  }

  /**
   * @returns ids of records that changed since they were read. Another process may have written a newer manifest before this
   *   process replaced it by an older one, so they are written again, whichever process notes it.
   */
  async function noteWritten(rows: readonly Row[]): Promise<number[]> {
    if (rows.length === 0) return []
    const ids = rows.map((row) => row.id)
    const existing = await sql<{ id: number; changes: number }>`with noted as (
        update packages set manifest_changes = w.changes
        from unnest(${ids}::bigint[], ${rows.map((row) => row.changes)}::int[]) as w (id, changes)
        where packages.id = w.id and packages.manifest_changes < w.changes
      ) select id, changes from packages where id = any(${ids}::bigint[])`.execute(db)
    const present = new Map(existing.rows.map(({ id, changes }) => [id, changes]))
    // The record was deleted meanwhile: its manifest may have been removed before this process wrote it.
    const gone = rows.filter((row) => !present.has(row.id))
    if (gone.length > 0)
      await db
        .insertInto('pending_deletions')
        .values(gone.map((row) => ({ kind: 'manifest' as const, key: manifestKey(row) })))
        .execute()
    return rows.filter(({ id, changes }) => (present.get(id) ?? changes) > changes).map(({ id }) => id)
  }

  async function write(ids: readonly number[]): Promise<void> {
    await allEnded(ids.map(writeOne))
  }

  return {
    key: manifestKey,
    write,
    async catchUp() {
      let written = 0
      for (;;) {
        const rows = await db
          .selectFrom('packages')
          .select('id')
          .whereRef('manifest_changes', '<', 'changes')
          .orderBy('id')
          .limit(100)
          .execute()
        if (rows.length === 0) return written
        await write(rows.map((row) => row.id))
        written += rows.length
      }
    },
    has: (name) => exists(join(paths.manifests, name)),
    remove: (name) => rm(join(paths.manifests, name), { force: true }),
    namesIn: namesInKey,
    async removeUnfinished(olderThan) {
      for await (const entry of entriesBelow(paths.manifests)) {
        if (!entry.isFile() || !/^\..*\.tmp$/.test(entry.name)) continue
        const path = join(entry.parentPath, entry.name)
        const info = await stat(path).catch(() => null)
        if (info && info.mtime < olderThan) await rm(path, { force: true })
      }
    },
    read: (name) => readManifest(join(paths.manifests, name)),
    async *all() {
      // Not `entriesBelow`: manifests are on the third level only, and an operator may have linked a level elsewhere.
      for (const distribution of await listed(paths.manifests)) {
        for (const letter of await listed(join(paths.manifests, distribution))) {
          for (const file of await listed(join(paths.manifests, distribution, letter))) {
            if (!file.endsWith('.json')) continue
            const name = join(distribution, letter, file)
            yield { key: name, manifest: await readManifest(join(paths.manifests, name)) }
          }
        }
      }
    },
  }
}

function withoutId<T extends { package_id: number }>(row: T | undefined): Omit<T, 'package_id'> | null {
  if (!row) return null
  const { package_id: _id, ...rest } = row
  return rest
}

async function listed(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return []
    throw error
  }
}
