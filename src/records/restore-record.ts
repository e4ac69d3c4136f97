// The transaction that restores a record from its manifest.
import { sql, type Insertable } from 'kysely'
import type { Distribution } from '../domain/package.ts'
import type { PackageFormat } from '../formats/format.ts'
import type { Db } from '../store/db.ts'
import { insertBlobs } from '../store/files/placement.ts'
import { restoreDecision } from '../store/records/decisions.ts'
import { tally } from '../store/records/counters.ts'
import { storeFindings } from '../store/records/findings.ts'
import type { BlobsTable } from '../store/tables.ts'
import type { Manifest } from '../store/records/manifests.ts'
import { noteArtifacts } from './artifacts.ts'
import { lockAndAdvance } from './distribution-row.ts'
import { renderEntries } from './entries.ts'
import { offer } from './offering.ts'

/**
 * Inserts the record that a manifest describes, at its old place in the index.
 * @param stands whether the manifest is still valid; called under the lock under which records are deleted
 * @returns false when it is not, or when name, version and architecture exist
 */
export async function restoreRecord(
  db: Db,
  manifest: Manifest,
  { format, distribution }: { format: PackageFormat; distribution: Distribution },
  stands: (tx: Db) => Promise<boolean>,
): Promise<boolean> {
  const { record } = manifest
  const blob: Insertable<BlobsTable> = {
    ...manifest.blob,
    facts: JSON.stringify(manifest.blob.facts),
    files: Buffer.from(manifest.blob.files, 'base64'),
  }
  return db.transaction().execute(async (tx) => {
    // Locks in the order in which `insertRecords` takes them.
    await tx
      .selectFrom('distributions')
      .select('codename')
      .where('codename', '=', record.distribution)
      .forUpdate()
      .execute()
    if (!(await stands(tx))) return false
    await insertBlobs(tx, [blob], null)
    const json = (value: unknown) => JSON.stringify(value)
    const row = await tx
      .insertInto('packages')
      .values({
        ...record,
        pipeline: json(record.pipeline),
        validation_steps: json(record.validation_steps),
        coverage: json(record.coverage),
        dependencies: json(record.dependencies),
        deps_missing: json(record.deps_missing),
        tags: json(record.tags),
        cve_summary: record.cve_summary && json(record.cve_summary),
        cve_results: record.cve_results && json(record.cve_results),
        review_reasons: record.review_reasons && json(record.review_reasons),
        changed_revision: record.position ?? 0,
        manifest_pending: false,
      })
      .onConflict((c) => c.doNothing())
      .returningAll()
      .executeTakeFirst()
    if (!row) return false
    await lockAndAdvance(tx, record.distribution, {
      offers: 0,
      counts: { [record.status]: 1 },
      bytes: record.size_bytes,
    })
    // Later packages must come after it. It joins in the middle of the index, so kept blocks cannot be continued from;
    // and the distribution is due for a publish even if this process dies.
    const next = sql<number>`greatest(revision, ${record.position ?? 0}::bigint) + 1`
    if (row.served)
      await tx
        .updateTable('distributions')
        .set({ revision: next, removals_floor: next })
        .where('codename', '=', record.distribution)
        .execute()
    if (row.served) {
      const entries = renderEntries(row, { ...blob, facts: manifest.blob.facts }, { format, distribution })
      await offer(tx, row.distribution, [{ id: row.id, sha256: row.sha256, entries }])
    }
    await storeFindings(tx, row)
    await tally(tx, [row.id], 1)
    for (const decision of manifest.decisions ?? []) await restoreDecision(tx, row, decision)
    await noteArtifacts(tx, format.versions, [row])
    return true
  })
}
