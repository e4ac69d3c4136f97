// The transactions that restore and remove a record, with everything that must change together with it, and the parts they share with the others.
import { sql, type Insertable, type Selectable } from 'kysely'
import type { AuditEvent } from '../domain/audit.ts'
import type { Distribution, PackageFacts } from '../domain/package.ts'
import type { PackageStatus } from '../domain/status.ts'
import { Problem } from '../domain/problem.ts'
import type { PackageFormat } from '../formats/format.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { closeDecisionsOf, restoreDecision } from '../store/records/decisions.ts'
import { storeFindings, tally } from '../store/records/findings.ts'
import type { BlobsTable, PackagesTable } from '../store/tables.ts'
import type { BlobRow, Manifest, PackageRow } from '../store/records/manifests.ts'
import { inNameOrder, noteArtifacts, refreshArtifact } from './artifacts.ts'
import { entriesFor } from './entries.ts'

const COUNTERS: Record<PackageStatus, 'published_count' | 'pending_count' | 'quarantined_count' | 'rejected_count'> = {
  published: 'published_count',
  pending_review: 'pending_count',
  quarantined: 'quarantined_count',
  rejected: 'rejected_count',
}

/**
 * Raises the distribution's revision and its counters. Its row lock is held until the transaction ends, so revisions
 * are committed in their order.
 * @param change `offers`: how many packages join or leave what is offered, each with a revision of its own
 * @returns the last of these revisions
 */
export async function touch(
  tx: Db,
  codename: string,
  change: { offers: number; counts: Partial<Record<PackageStatus, number>>; bytes?: number },
): Promise<number> {
  let update = tx.updateTable('distributions').set((eb) => ({
    revision: eb('revision', '+', change.offers),
    size_bytes: eb('size_bytes', '+', change.bytes ?? 0),
  }))
  for (const [status, by] of Object.entries(change.counts) as [PackageStatus, number][]) {
    if (by !== 0) update = update.set((eb) => ({ [COUNTERS[status]]: eb(COUNTERS[status], '+', by) }))
  }
  const row = await update.where('codename', '=', codename).returning('revision').executeTakeFirst()
  if (!row) throw new Problem('unknown_distribution', `the distribution ${codename} is not initialized`)
  return row.revision
}

/**
 * Inserts the record a manifest tells of, at its old place in the index.
 * @param stands whether the manifest is still in force; asked under the lock under which records are deleted
 * @returns false when it is not, or when name, version and architecture are there already
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
    // Locks in the order in which `insertRecord` takes them.
    await tx
      .selectFrom('distributions')
      .select('codename')
      .where('codename', '=', record.distribution)
      .forUpdate()
      .execute()
    if (!(await stands(tx))) return false
    await insertBlobs(tx, [blob])
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
    await touch(tx, record.distribution, { offers: 0, counts: { [record.status]: 1 }, bytes: record.size_bytes })
    // Later packages must come after it. It joins in the middle, so nobody can go on from the blocks he has; and what
    // is offered is behind from here on, whatever happens to this process.
    const next = sql<number>`greatest(revision, ${record.position ?? 0}::bigint) + 1`
    if (row.served)
      await tx
        .updateTable('distributions')
        .set({ revision: next, removals_floor: next })
        .where('codename', '=', record.distribution)
        .execute()
    if (row.served) await offer(tx, [{ row, blob: blobOf(blob) }], { format, distribution })
    await storeFindings(tx, row)
    await tally(tx, [row.id], 1)
    for (const decision of manifest.decisions ?? []) await restoreDecision(tx, row, decision)
    await noteArtifacts(tx, format.versions, [row])
    return true
  })
}

/** Stores what the publisher needs to offer records: their index entries and what they provide. */
export async function offer(
  tx: Db,
  records: readonly { row: PackageRow; blob: Omit<BlobRow, 'created_at'> }[],
  { format, distribution }: { format: PackageFormat; distribution: Distribution },
): Promise<void> {
  const entries = records.flatMap(({ row, blob }) =>
    entriesFor(row, blob, format, distribution).map(([stream, bytes]) => ({ package_id: row.id, stream, bytes })),
  )
  await tx.insertInto('entries').values(entries).execute()
  const provided = records.flatMap(({ row, blob }) =>
    capabilitiesOf(blob.facts).map((capability) => ({ id: row.id, ...capability })),
  )
  await sql`insert into capabilities (package_id, distribution, name, version)
    select c.id, ${distribution.codename}, c.name, nullif(c.version, '')
    from unnest(${provided.map((c) => c.id)}::bigint[], ${provided.map((c) => c.name)}::text[], ${provided.map((c) => c.version ?? '')}::text[])
      as c (id, name, version)`.execute(tx)
}

/**
 * Rows that are there already are locked: this orders it against `forgetUnused`, which removes the bytes of a blob nobody
 * refers to. In the order of their digests, so that two who insert the same ones do not wait for each other.
 */
export async function insertBlobs(tx: Db, blobs: readonly Insertable<BlobsTable>[]): Promise<void> {
  const rows = [...new Map(blobs.map((blob) => [blob.sha256, blob])).values()].sort((a, b) =>
    a.sha256 < b.sha256 ? -1 : 1,
  )
  await tx
    .insertInto('blobs')
    .values(rows)
    .onConflict((c) => c.column('sha256').doUpdateSet({ filename: sql`blobs.filename` }))
    .execute()
}

export function blobOf(blob: Insertable<BlobsTable>): Omit<BlobRow, 'created_at'> {
  return { ...blob, facts: JSON.parse(blob.facts) as PackageFacts }
}

/** A package's own name at its version, and everything it provides. */
export function capabilitiesOf(facts: PackageFacts): { name: string; version?: string }[] {
  return [{ name: facts.name, version: facts.version }, ...facts.provides]
}

/** The opposite of `offer`; the file goes with the index that named it. */
export async function withdraw(tx: Db, row: PackageRow, revision: number, format: PackageFormat): Promise<void> {
  await tx.deleteFrom('entries').where('package_id', '=', row.id).execute()
  await tx.deleteFrom('capabilities').where('package_id', '=', row.id).execute()
  await noteRemoval(tx, row, revision, format, false)
}

/** @param grace false: its file goes as soon as no index names it, whoever still holds an older one */
async function noteRemoval(
  tx: Db,
  row: PackageRow,
  revision: number,
  format: PackageFormat,
  grace = true,
): Promise<void> {
  await tx
    .insertInto('removals')
    .values({
      distribution: row.distribution,
      package_id: row.id,
      position: row.position ?? 0,
      revision,
      name: row.name,
      tree_path: format.packagePath(row),
      removed_at: grace ? sql`now()` : new Date(0),
    })
    .execute()
}

/** Removes records for good. @returns the rows as they were; ids that are gone already are left out */
export async function deleteRecords(
  db: Db,
  audit: AuditLog,
  ids: readonly number[],
  parts: {
    formatOf(row: Selectable<PackagesTable>): PackageFormat
    manifestKey(row: PackageRow): string
    auditOf(row: PackageRow): AuditEvent
  },
): Promise<PackageRow[]> {
  return db.transaction().execute(async (tx) => {
    const rows = await tx
      .selectFrom('packages')
      .selectAll()
      .where('id', 'in', ids)
      .orderBy('distribution')
      .orderBy('id')
      .execute()
    const gone: PackageRow[] = []
    for (const row of rows) {
      const revision = await touch(tx, row.distribution, {
        offers: Number(row.served),
        counts: { [row.status]: -1 },
        bytes: -row.size_bytes,
      })
      await closeDecisionsOf(tx, row.id, 'the package was deleted')
      await tally(tx, [row.id], -1)
      const deleted = await tx
        .deleteFrom('packages')
        .where('id', '=', row.id)
        .where('status', '=', row.status)
        .returning('id')
        .executeTakeFirst()
      if (!deleted) throw new Problem('already_running', `${row.name} ${row.version} is being changed by somebody else`)
      gone.push(row)
      if (row.served) await noteRemoval(tx, row, revision, parts.formatOf(row))
      await tx
        .insertInto('debris')
        .values([
          { kind: 'manifest', key: parts.manifestKey(row) },
          { kind: 'blob', key: row.sha256 },
        ])
        .execute()
      await audit.record(parts.auditOf(row), tx)
    }
    const names = new Map(gone.map((row) => [`${row.format} ${row.name}`, row]))
    for (const row of inNameOrder([...names.values()]))
      await refreshArtifact(tx, parts.formatOf(row).versions, row.format, row.name)
    return gone
  })
}
