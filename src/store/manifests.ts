// One JSON file for each record: evidence that outlives the database, and enough to rebuild its rows.
import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql, type Selectable } from 'kysely'
import type { PackageFacts } from '../domain/package.ts'
import { ensureDirectory, isMissing, replaceFile } from '../kernel/files.ts'
import type { Db } from './db.ts'
import type { Paths } from './paths.ts'
import type { BlobsTable, PackagesTable } from './tables.ts'

export type PackageRow = Selectable<PackagesTable>
export type BlobRow = Selectable<BlobsTable>

/** Columns that belong to one database, not to the record. */
type Local = 'id' | 'changed_revision' | 'manifest_pending'

export interface Manifest {
  schema: 1
  record: Omit<PackageRow, Local>
  blob: Omit<BlobRow, 'facts' | 'files'> & { facts: PackageFacts; files: string }
}

export interface Manifests {
  /** path below `manifests/`; the same for the same record */
  key(record: { distribution: string; name: string; version: string; arch: string }): string
  /** Writes the manifests of these records and marks them as written. */
  write(ids: readonly number[]): Promise<void>
  /** Writes what a crash left unwritten. @returns how many */
  catchUp(): Promise<number>
  remove(key: string): Promise<void>
  /** every manifest on disk; one that cannot be parsed comes as null */
  all(): AsyncIterable<{ key: string; manifest: Manifest | null }>
}

export function createManifests(db: Db, paths: Paths): Manifests {
  const key: Manifests['key'] = (record) =>
    join(record.distribution, encodeURIComponent(record.name.slice(0, 1)), encodeURIComponent(`${record.name}_${record.version}_${record.arch}`) + '.json')

  async function write(ids: readonly number[]): Promise<void> {
    const rows = await db.selectFrom('packages').selectAll().where('id', 'in', ids).execute()
    for (const row of rows) {
      const blob = await db.selectFrom('blobs').selectAll().where('sha256', '=', row.sha256).executeTakeFirstOrThrow()
      const { id, changed_revision: revision, manifest_pending: _pending, ...record } = row
      const manifest: Manifest = { schema: 1, record, blob: { ...blob, files: Buffer.from(blob.files).toString('base64') } }
      const path = join(paths.manifests, key(row))
      await ensureDirectory(dirname(path))
      await replaceFile(path, JSON.stringify(manifest))
      await db
        .updateTable('packages')
        .set({ manifest_pending: false })
        .where('id', '=', id)
        // A change that came meanwhile keeps its mark.
        .where('changed_revision', '=', revision)
        .where('status', '=', row.status)
        .execute()
    }
  }

  return {
    key,
    write,
    async catchUp() {
      let written = 0
      for (;;) {
        const rows = await db.selectFrom('packages').select('id').where('manifest_pending', '=', true).orderBy('id').limit(100).execute()
        if (rows.length === 0) return written
        await write(rows.map((row) => row.id))
        written += rows.length
      }
    },
    remove: (name) => rm(join(paths.manifests, name), { force: true }),
    async *all() {
      for (const distribution of await listed(paths.manifests)) {
        for (const letter of await listed(join(paths.manifests, distribution))) {
          for (const file of await listed(join(paths.manifests, distribution, letter))) {
            if (!file.endsWith('.json')) continue
            const name = join(distribution, letter, file)
            yield { key: name, manifest: await parse(join(paths.manifests, name)) }
          }
        }
      }
    },
  }
}

async function listed(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return []
    throw error
  }
}

async function parse(path: string): Promise<Manifest | null> {
  try {
    const manifest = JSON.parse(await readFile(path, 'utf8'), revive) as Manifest
    return manifest.schema === 1 && typeof manifest.record?.name === 'string' && typeof manifest.blob?.sha256 === 'string' ? manifest : null
  } catch {
    return null
  }
}

const DATES = new Set(['imported_at', 'last_scan', 'quarantined_at', 'created_at'])

function revive(key: string, value: unknown): unknown {
  return DATES.has(key) && typeof value === 'string' ? new Date(value) : value
}

/** How many manifests the health report counts. */
export async function countRecords(db: Db): Promise<number> {
  const row = await db
    .selectFrom('distributions')
    .select(sql<number>`coalesce(sum(published_count + pending_count + quarantined_count + rejected_count), 0)::int`.as('n'))
    .executeTakeFirstOrThrow()
  return row.n
}
