// One JSON file for each record: evidence that outlives the database, and enough to rebuild its rows.
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { sql, type Selectable } from 'kysely'
import type { PackageFacts } from '../domain/package.ts'
import { ensureDirectory, exists, isMissing, replaceFile } from '../kernel/files.ts'
import type { Db } from './db.ts'
import { decisionsOfRecord, type DecisionRow } from './decisions.ts'
import type { Paths } from './paths.ts'
import type { BlobsTable, PackagesTable } from './tables.ts'

export type PackageRow = Selectable<PackagesTable>
export type BlobRow = Selectable<BlobsTable>

/** Columns that belong to one database, not to the record. */
type Local = 'id' | 'changed_revision' | 'manifest_pending'

export interface Manifest {
  schema: 1
  record: Omit<PackageRow, Local>
  /** every decision ever made on it, oldest first; absent in manifests of the first release */
  decisions?: DecisionRow[]
  blob: Omit<BlobRow, 'facts' | 'files'> & { facts: PackageFacts; files: string }
}

export interface Manifests {
  /** path below `manifests/`; the same for the same record */
  key(record: { distribution: string; name: string; version: string; arch: string }): string
  /** Writes the manifests of these records and marks them as written. */
  write(ids: readonly number[]): Promise<void>
  /** Writes what a crash left unwritten. @returns how many */
  catchUp(): Promise<number>
  has(key: string): Promise<boolean>
  remove(key: string): Promise<void>
  /** the package names a key may stand for: name, version and architecture may all hold the sign between them */
  namesIn(key: string): string[]
  /** Removes what a crash left of manifests being written, when it is older than that. */
  removeUnfinished(olderThan: Date): Promise<void>
  /** every manifest on disk; one that cannot be parsed comes as null */
  all(): AsyncIterable<{ key: string; manifest: Manifest | null }>
}

export function createManifests(db: Db, paths: Paths): Manifests {
  const key: Manifests['key'] = (record) =>
    join(record.distribution, escaped(record.name.slice(0, 1)), escaped(`${record.name}_${record.version}_${record.arch}`) + '.json')

  async function write(ids: readonly number[]): Promise<void> {
    const rows = await db.selectFrom('packages').selectAll().where('id', 'in', ids).execute()
    for (const row of rows) {
      const blob = await db.selectFrom('blobs').selectAll().where('sha256', '=', row.sha256).executeTakeFirst()
      // Deleted since it was read, and its bytes with it.
      if (!blob) continue
      const { id, changed_revision: revision, manifest_pending: _pending, ...record } = row
      const decisions = await decisionsOfRecord(db, id)
      const manifest: Manifest = { schema: 1, record, decisions, blob: { ...blob, files: Buffer.from(blob.files).toString('base64') } }
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
      // Deleted meanwhile: its manifest may have been removed before it was written here.
      const stands = await db.selectFrom('packages').select('id').where('id', '=', id).executeTakeFirst()
      if (!stands) await db.insertInto('debris').values({ kind: 'manifest', key: key(row) }).execute()
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
    has: (name) => exists(join(paths.manifests, name)),
    remove: (name) => rm(join(paths.manifests, name), { force: true }),
    namesIn(name) {
      const parts = decodeURIComponent(basename(name, '.json')).split('_')
      return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('_'))
    },
    async removeUnfinished(olderThan) {
      for (const entry of await readdir(paths.manifests, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/^\..*\.tmp$/.test(entry.name)) continue
        const path = join(entry.parentPath, entry.name)
        const info = await stat(path).catch(() => null)
        if (info && info.mtime < olderThan) await rm(path, { force: true })
      }
    },
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

/** Only what a file name cannot hold: `encodeURIComponent` would make three bytes of each `+`, and too long a name of some. */
function escaped(text: string): string {
  return text.replace(/[%/\\\0-\x1f\x7f]/g, encodeURIComponent)
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

const DATES = new Set([
  'imported_at', 'last_scan', 'quarantined_at', 'created_at', 'review_since', 'review_due_at', 'overdue_noted_at',
  'decided_at', 'expires_at', 'assigned_at', 'resolved_at',
])

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
