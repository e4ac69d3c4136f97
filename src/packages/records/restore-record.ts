// The transaction that restores a record from its manifest.
import { sql, type Insertable } from 'kysely'
import type { Distribution } from '../../domain/package.ts'
import type { IntakeFormat } from '../../formats/intake-format.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { insertBlobs } from '../../store/files/with-bytes.ts'
import { restoreDecision } from './decisions.ts'
import { tally } from './counters.ts'
import { recordsOf } from '../../store/records/artifact-query.ts'
import { findingsOf, storeFindings } from './findings.ts'
import type { BlobsTable } from '../../store/tables.ts'
import type { Manifest } from './manifest.ts'
import { noteArtifacts } from './artifacts.ts'
import { lockAndAdvance } from './distribution-row.ts'
import { renderEntries } from './entries.ts'
import { lockDistributions } from './lock-order.ts'
import { offer } from './offering.ts'

/**
 * Inserts the record that a manifest describes, at its old place in the index.
 * @param stands whether the manifest is still valid; called under the lock under which records are deleted
 * @returns false when it is not valid, or when name, version and architecture exist
 */
export async function restoreRecord(
  db: Db,
  manifest: Manifest,
  { format, distribution }: { format: IntakeFormat; distribution: Distribution },
  stands: (tx: Db) => Promise<boolean>,
): Promise<boolean> {
  const { record, review, offer: offered } = manifest
  const json = (value: unknown) => JSON.stringify(value)
  const blob: Insertable<BlobsTable> = {
    ...manifest.blob,
    facts: json(manifest.blob.facts),
    dependencies: json(manifest.blob.dependencies),
    files: Buffer.from(manifest.blob.files, 'base64'),
  }
  return transaction(db, async (tx) => {
    // Takes locks in the same order as `insertRecords`.
    await lockDistributions(tx, [record.distribution])
    if (!(await stands(tx))) return false
    await insertBlobs(tx, [blob], null)
    const inserted = await tx
      .insertInto('packages')
      .values({
        ...record,
        pipeline: json(record.pipeline),
        validation_steps: json(record.validation_steps),
        coverage: json(record.coverage),
        deps_missing: json(record.deps_missing),
        tags: json(record.tags),
        cve_summary: record.cve_summary && json(record.cve_summary),
        cve_results: record.cve_results && json(record.cve_results),
        changes: 1,
        manifest_changes: 1,
      })
      .onConflict((c) => c.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (!inserted) return false
    const { id } = inserted
    if (review)
      await tx
        .insertInto('reviews')
        .values({ ...review, package_id: id, review_reasons: review.review_reasons && json(review.review_reasons) })
        .execute()
    await lockAndAdvance(tx, record.distribution, {
      offers: 0,
      counts: { [record.status]: 1 },
      bytes: blob.size_bytes,
    })
    if (offered) {
      // Later packages must follow it. The record enters the middle of the index, so kept blocks cannot be continued, and the
      // distribution is due for a publish even if this process dies.
      const next = sql<number>`greatest(revision, ${offered.from_revision}::bigint) + 1`
      await tx
        .updateTable('distributions')
        .set({ revision: next, history_floor: next })
        .where('codename', '=', record.distribution)
        .execute()
      const entries = renderEntries(record, { ...blob, facts: manifest.blob.facts }, { format, distribution })
      await offer(tx, [{ id, revision: offered.from_revision, cause: 'restore', entries }])
    }
    await storeFindings(tx, { id, distribution: record.distribution }, findingsOf(record), 0)
    await tally(tx, [id], 1)
    const [row] = await recordsOf(tx, [id])
    if (!row) throw new Error(`the record ${id} was not inserted`)
    for (const decision of manifest.decisions) await restoreDecision(tx, row, decision)
    await noteArtifacts(tx, format.versions, [row])
    return true
  })
}
