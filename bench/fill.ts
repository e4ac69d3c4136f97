// A service's database and pool filled with packages as uploads would leave them, without the gate and without publishing.
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { sql } from 'kysely'
import type { PackageFacts } from '../src/domain/package.ts'
import { findDistribution } from '../src/formats/index.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { linkFile } from '../src/kernel/files.ts'
import { entriesFor } from '../src/publish/entries.ts'
import { ensureDistributions } from '../src/publish/initialize.ts'
import type { Offered } from '../src/publish/publisher.ts'
import { capabilitiesOf, type NewRecord } from '../src/publish/records.ts'
import { packFacts } from '../src/store/blobs.ts'
import { migrate, openDatabase, type Db } from '../src/store/db.ts'
import { recount } from '../src/store/findings.ts'
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

const BATCH = 500

/** In bulk, since one transaction a package would take longer than what is measured. */
export async function fill({ databaseUrl, reposDir, codename, files, also }: FillOptions): Promise<void> {
  const found = findDistribution(codename)
  if (!found) throw new Error(`no distribution ${codename}`)
  const database = await openDatabase(withoutWaiting(databaseUrl))
  try {
    await migrate(database.db)
    await ensureDistributions(database.db, systemClock, [found])
    const paths = createPaths(reposDir)
    await ensurePaths(paths)
    const pool = createPool(paths)
    for (let at = 0; at < files.length; at += BATCH) {
      const some = await Promise.all(files.slice(at, at + BATCH).map((path, i) => recordOf(found, path, also?.(at + i) ?? {})))
      await insertAll(database.db, found, some)
      for (const [i, { blob }] of some.entries()) {
        const path = pool.path({ format: found.format.id, sha256: blob.sha256, filename: blob.filename })
        // Without the flushes of `pool.keep`: nothing here must outlive a power cut.
        await mkdir(dirname(path), { recursive: true })
        await linkFile(files[at + i] as string, path)
      }
    }
    await sql`insert into findings (package_id, cve, distribution, severity, fix_state, action, in_kev, epss, first_seen, risk, finding)
      select p.id, f ->> 'id', p.distribution, f ->> 'severity', f ->> 'fix_state', f ->> 'action', false, null, now(), 0, f
      from packages p, jsonb_array_elements(p.cve_results) f where p.cve_results is not null`.execute(database.db)
    await recount(database.db)
    await sql`analyze`.execute(database.db)
  } finally {
    await database.close()
  }
}

async function insertAll(db: Db, { format, distribution }: Offered, inputs: Omit<NewRecord, 'ensureBytes'>[]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { revision } = await tx
      .updateTable('distributions')
      .set((eb) => ({ revision: eb('revision', '+', inputs.length), published_count: eb('published_count', '+', inputs.length) }))
      .where('codename', '=', distribution.codename)
      .returning('revision')
      .executeTakeFirstOrThrow()
    await tx.insertInto('blobs').values(inputs.map(({ blob }) => blob)).execute()
    const rows = await tx
      .insertInto('packages')
      .values(
        inputs.map(({ record }, i) => {
          const position = revision - inputs.length + 1 + i
          return { ...record, served: true, changed_revision: position, position, manifest_pending: false }
        }),
      )
      .returningAll()
      .execute()
    const blobs = new Map(inputs.map(({ blob }) => [blob.sha256, { ...blob, facts: JSON.parse(blob.facts) as PackageFacts }]))
    const entries = rows.flatMap((row) =>
      entriesFor(row, blobs.get(row.sha256)!, format, distribution).map(([stream, bytes]) => ({ package_id: row.id, stream, bytes })),
    )
    await tx.insertInto('entries').values(entries).execute()
    const offers = rows.flatMap((row) => capabilitiesOf(blobs.get(row.sha256)!.facts).map(({ name, version }) => ({ package_id: row.id, distribution: row.distribution, name, version: version ?? null })))
    await tx.insertInto('capabilities').values(offers).execute()
    await tx
      .insertInto('artifacts')
      .values(
        rows.map((row) => ({
          format: row.format,
          name: row.name,
          latest_id: row.id,
          search: `${row.name} ${row.description ?? ''}`.toLowerCase(),
          latest_imported_at: row.imported_at,
          distributions: [row.distribution],
          statuses: [row.status],
          archs: [row.arch],
        })),
      )
      .onConflict((c) => c.doNothing())
      .execute()
  })
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
