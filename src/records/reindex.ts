// Rebuilds the tables from the manifests, after a lost database. Harmless on a complete one.
import { sql } from 'kysely'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Db } from '../store/db.ts'
import type { Manifest, Manifests } from '../store/records/manifests.ts'
import type { Pool } from '../store/files/pool.ts'
import { restoreRecord } from './restore-record.ts'
import type { Offered } from '../formats/format.ts'

export interface ReindexResult {
  packages_indexed: number
  /** records without a manifest, and manifests that cannot be read or belong to no distribution */
  orphans: number
  /** records whose bytes are neither in the pool nor in quarantine */
  missing_files: number
}

export async function reindex(deps: {
  db: Db
  manifests: Manifests
  pool: Pool
  publisher: { rebuild(codename: string): Promise<void> }
  checkpoint: Checkpoint
  find(codename: string): Offered | null
}): Promise<ReindexResult> {
  const { db, manifests, pool, publisher } = deps
  const result: ReindexResult = { packages_indexed: 0, orphans: 0, missing_files: 0 }
  // A manifest that a crash left unwritten does not make an orphan.
  await manifests.catchUp()
  const restored = new Set<string>()
  let withManifest = 0
  // In the order of their first publication, so that the index comes out the same.
  for (const key of await ordered(manifests)) {
    const manifest = await manifests.read(key)
    const offered = manifest && deps.find(manifest.record.distribution)
    if (!manifest || !offered) {
      result.orphans++
      continue
    }
    const { record, blob } = manifest
    if ((await pool.locate({ format: record.format, sha256: record.sha256, filename: blob.filename })) === null)
      result.missing_files++
    // A deleted record's manifest stays until its pending deletion is done.
    const stands = async (tx: Db) =>
      (await manifests.has(key)) &&
      !(await tx
        .selectFrom('pending_deletions')
        .select('id')
        .where('kind', '=', 'manifest')
        .where('key', '=', key)
        .executeTakeFirst())
    const inserted = await restoreRecord(db, manifest, offered, stands)
    if (inserted) {
      restored.add(record.distribution)
      deps.checkpoint('restored')
    }
    if (inserted || (await isKnown(db, manifest))) {
      result.packages_indexed++
      withManifest++
    }
  }
  const { n } = await db
    .selectFrom('packages')
    .select(sql<number>`count(*)::int`.as('n'))
    .executeTakeFirstOrThrow()
  result.orphans += Math.max(0, n - withManifest)
  for (const codename of restored) await publisher.rebuild(codename)
  return result
}

async function isKnown(db: Db, { record }: Manifest): Promise<boolean> {
  const row = await db
    .selectFrom('packages')
    .select('sha256')
    .where('distribution', '=', record.distribution)
    .where('name', '=', record.name)
    .where('version', '=', record.version)
    .where('arch', '=', record.arch)
    .executeTakeFirst()
  return row?.sha256 === record.sha256
}

/** Only the keys are held: a million manifests are gigabytes. */
async function ordered(manifests: Manifests): Promise<string[]> {
  const all: { key: string; place: number }[] = []
  for await (const { key, manifest } of manifests.all()) all.push({ key, place: manifest?.record.position ?? Infinity })
  return all.sort((a, b) => a.place - b.place || (a.key < b.key ? -1 : 1)).map(({ key }) => key)
}
