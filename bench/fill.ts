// Fills the database and pool of a service with packages like uploads, but without the gate and without publishing.
import { mkdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { sql } from 'kysely'
import { findDistribution } from '../src/formats/index.ts'
import { measure } from '../src/kernel/digests.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { linkFile } from '../src/kernel/files.ts'
import { renderNew } from '../src/packages/records/entries.ts'
import { insertRecords, type NewRecord } from '../src/packages/records/insert-records.ts'
import { ensureDistributions } from '../src/publish/initialize.ts'
import type { Offered } from '../src/formats/format.ts'
import type { AuditLog } from '../src/audit/log.ts'
import { blobRow } from '../src/packages/records/stored-file.ts'
import { migrate, openDatabase } from '../src/store/db.ts'
import { createPaths, ensurePaths } from '../src/store/paths.ts'
import { createPool, type LocalPool } from '../src/store/files/pool.ts'

export interface FillOptions {
  databaseUrl: string
  reposDir: string
  codename: string
  files: readonly string[]
  /** Returns further columns of each record. */
  also?(i: number): Partial<NewRecord['record']>
}

const BATCH = 500

/** No audit entries, because chaining 100,000 of them would continue during the measurement. */
const noAudit: AuditLog = { record: async () => {}, flush: async () => {} }

/** Inserts in bulk, because one transaction per package takes longer than the measurement. */
export async function fill({ databaseUrl, reposDir, codename, files, also }: FillOptions): Promise<void> {
  const found = findDistribution(codename)
  if (!found) throw new Error(`no distribution ${codename}`)
  const database = await openDatabase(withoutWaiting(databaseUrl))
  try {
    await migrate(database.db)
    await ensureDistributions(database.db, systemClock, [found])
    const paths = createPaths(reposDir)
    await ensurePaths(paths, [found.format.serving.tree.path])
    const pool = createPool(paths)
    for (let at = 0; at < files.length; at += BATCH) {
      const some = await Promise.all(
        files.slice(at, at + BATCH).map((path, i) => recordOf(found, path, pool, also?.(at + i) ?? {})),
      )
      for (const outcome of await insertRecords(database.db, noAudit, found, some)) {
        if ('error' in outcome) throw outcome.error
      }
    }
    await sql`update packages set manifest_changes = changes`.execute(database.db)
    await sql`analyze`.execute(database.db)
  } finally {
    await database.close()
  }
}

function withoutWaiting(databaseUrl: string): string {
  if (!databaseUrl.startsWith('postgres')) return databaseUrl
  const url = new URL(databaseUrl)
  url.searchParams.set('options', '-c synchronous_commit=off')
  return url.href
}

async function recordOf(
  { format, distribution }: Offered,
  path: string,
  pool: LocalPool,
  also: Partial<NewRecord['record']>,
): Promise<NewRecord> {
  const { digests, sizeBytes } = await measure(path)
  const facts = await format.read(path)
  const filename = format.filename(facts)
  const now = new Date()
  const blob = blobRow({ digests, filename, sizeBytes }, facts, now)
  const row = { imported_at: now }
  return {
    async ensureBytes() {
      const target = pool.path({ format: format.id, sha256: digests.sha256, filename })
      // Without the flushes of `pool.keep`, because nothing here must survive a power failure.
      await mkdir(dirname(target), { recursive: true })
      await linkFile(path, target)
    },
    blob,
    evidence: [],
    review: null,
    entries: await renderNew(row, blob, facts, { format, distribution }),
    audit: { action: 'UPLOAD', result: 'SUCCESS', user: 'bench', detail: basename(path) },
    record: {
      distribution: distribution.codename,
      format: format.id,
      name: facts.name,
      version: facts.version,
      arch: facts.arch,
      status: 'published',
      cve_status: 'approved',
      held_reason: null,
      sha256: digests.sha256,
      received_sha256: digests.sha256,
      ...row,
      imported_by: 'bench',
      import_method: 'upload',
      pipeline: '{}',
      validation_steps: '[]',
      coverage: '{}',
      deps_missing: '[]',
      tags: '[]',
      ...also,
    },
  }
}
