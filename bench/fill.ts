// A service's database and pool filled with packages as uploads would leave them, without the gate and without publishing.
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { findDistribution } from '../src/formats/index.ts'
import { linkFile } from '../src/kernel/files.ts'
import { ensureDistributions } from '../src/publish/initialize.ts'
import type { Offered } from '../src/publish/publisher.ts'
import { insertRecord, type NewRecord } from '../src/publish/records.ts'
import type { AuditLog } from '../src/store/audit-log.ts'
import { packFacts } from '../src/store/blobs.ts'
import { migrate, openDatabase } from '../src/store/db.ts'
import { createPaths, ensurePaths } from '../src/store/paths.ts'
import { createPool } from '../src/store/pool.ts'

export interface FillOptions {
  databaseUrl: string
  reposDir: string
  codename: string
  files: readonly string[]
  /** further columns of each record */
  also?(i: number): Partial<NewRecord['record']>
}

/** @returns the number of records made */
export async function fill({ databaseUrl, reposDir, codename, files, also }: FillOptions): Promise<number> {
  const found = findDistribution(codename)
  if (!found) throw new Error(`no distribution ${codename}`)
  const database = await openDatabase(withoutWaiting(databaseUrl))
  try {
    await migrate(database.db)
    const clock = { now: () => new Date() } as Parameters<typeof ensureDistributions>[1]
    await ensureDistributions(database.db, clock, [found])
    const paths = createPaths(reposDir)
    await ensurePaths(paths)
    const pool = createPool(paths)
    const audit = { record: async () => {} } as unknown as AuditLog
    let made = 0
    for (const path of files) {
      const input = await recordOf(found, path, also?.(made) ?? {})
      const file = { format: found.format.id, sha256: input.blob.sha256, filename: input.blob.filename }
      await insertRecord(database.db, audit, {
        ...input,
        async ensureBytes() {
          // Without the flushes of `pool.keep`: nothing here must outlive a power cut.
          await mkdir(dirname(pool.path(file)), { recursive: true })
          await linkFile(path, pool.path(file))
        },
      })
      made++
    }
    return made
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

async function recordOf({ format, distribution }: Offered, path: string, also: Partial<NewRecord['record']>): Promise<Omit<NewRecord, 'ensureBytes'>> {
  const bytes = await readFile(path)
  const facts = await format.read(path)
  const digest = (algorithm: string) => createHash(algorithm).update(bytes).digest('hex')
  const digests = { sha256: digest('sha256'), sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') }
  const packed = packFacts(facts)
  const filename = format.filename(facts)
  const now = new Date()
  return {
    format,
    distribution,
    blob: { ...digests, format: format.id, filename, size_bytes: bytes.byteLength, facts: packed.facts, files: packed.files, created_at: now },
    audit: { action: 'UPLOAD', result: 'SUCCESS', user: 'bench', detail: basename(path) } as NewRecord['audit'],
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
      filename,
      size_bytes: bytes.byteLength,
      installed_size_kb: facts.installedSizeKb,
      section: facts.section,
      description: facts.description,
      maintainer: facts.maintainer,
      license: facts.license,
      url: facts.url,
      source_package: facts.sourcePackage,
      source_version: facts.sourceVersion,
      imported_at: now,
      imported_by: 'bench',
      import_method: 'upload',
      pipeline: '{}',
      validation_steps: '[]',
      coverage: '{}',
      dependencies: '[]',
      deps_missing: '[]',
      tags: '[]',
      ...also,
    },
  }
}
