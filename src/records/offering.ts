// What the publisher reads of a record: its index entries, what it provides, and its removal from the index.
import { sql } from 'kysely'
import type { Distribution, PackageFacts } from '../domain/package.ts'
import type { PackageFormat } from '../formats/format.ts'
import type { Db } from '../store/db.ts'
import type { BlobRow, PackageRow } from '../store/tables.ts'
import { entriesFor } from './entries.ts'

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
export async function noteRemoval(
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
