// One row for each name that `/artifacts/` lists: its latest record, and the distributions that have it.
import type { Selectable } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { VersionScheme } from '../../formats/ecosystem.ts'
import type { Db } from '../../store/db.ts'
import type { ArtifactsTable, PackageRow } from '../../store/tables.ts'
import { inNameOrder } from './lock-order.ts'

type LatestCandidate = Pick<PackageRow, 'id' | 'version' | 'status' | 'imported_at'>

/** Published records are first, then the format's version order decides, then the order of arrival. */
export function isLater(versions: VersionScheme, a: LatestCandidate, b: LatestCandidate): boolean {
  const published = Number(a.status === 'published') - Number(b.status === 'published')
  if (published !== 0) return published > 0
  const order = versions.compare(a.version, b.version)
  return order === 0 ? a.id > b.id : order > 0
}

/** Characters of a description that a search reads: every search reads the text of all names. */
const SEARCHED_CHARACTERS = 2000

const searchText = (row: Pick<PackageRow, 'name' | 'description'>) =>
  `${row.name} ${row.description?.slice(0, SEARCHED_CHARACTERS) ?? ''}`.toLowerCase()

/** Adds new records to the rows of their names. The cost does not grow with the number of versions. */
export async function noteArtifacts(tx: Db, versions: VersionScheme, rows: readonly PackageRow[]): Promise<void> {
  const ordered = inNameOrder(rows)
  const firsts = ordered.filter((row, i) => row.name !== ordered[i - 1]?.name || row.format !== ordered[i - 1]?.format)
  const made = await insertMissing(tx, firsts)
  for (const row of ordered) {
    if (!made.has(row.id)) await joinArtifact(tx, versions, row)
  }
}

/** @returns the ids of records whose names had no row */
async function insertMissing(tx: Db, rows: readonly PackageRow[]): Promise<Set<number>> {
  const made = await tx
    .insertInto('artifacts')
    .values(
      rows.map((row) => ({
        format: row.format,
        name: row.name,
        latest_id: row.id,
        search: searchText(row),
        latest_imported_at: row.imported_at,
        distributions: [row.distribution],
        statuses: [row.status],
        archs: [row.arch],
      })),
    )
    .onConflict((c) => c.columns(['name', 'format']).doNothing())
    .returning('latest_id')
    .execute()
  return new Set(made.map((row) => row.latest_id))
}

/** Adds a record to the existing row of its name. */
async function joinArtifact(tx: Db, versions: VersionScheme, row: PackageRow): Promise<void> {
  const known = await lockOrInsert(tx, row)
  if (!known) return
  const latest = await tx
    .selectFrom('packages')
    .select(['id', 'version', 'status', 'imported_at'])
    .where('id', '=', known.latest_id)
    .executeTakeFirst()
  const leads = !latest || isLater(versions, row, latest)
  await tx
    .updateTable('artifacts')
    .set({
      ...(leads ? { latest_id: row.id, search: searchText(row), latest_imported_at: row.imported_at } : {}),
      distributions: union(known.distributions, row.distribution),
      statuses: union(known.statuses, row.status),
      archs: union(known.archs, row.arch),
    })
    .where('name', '=', row.name)
    .where('format', '=', row.format)
    .execute()
}

/** @returns the row, locked; null when it was deleted meanwhile (with its last record) and inserted again by this call */
async function lockOrInsert(tx: Db, row: PackageRow): Promise<Selectable<ArtifactsTable> | null> {
  for (;;) {
    const known = await tx
      .selectFrom('artifacts')
      .selectAll()
      .where('name', '=', row.name)
      .where('format', '=', row.format)
      .forUpdate()
      .executeTakeFirst()
    if (known) return known
    if ((await insertMissing(tx, [row])).size > 0) return null
  }
}

/**
 * Computes the row again from the records of the name, and deletes it with the last of them. The lock is taken first: another
 * transaction that adds a record of this name has either committed, and is seen, or waits and inserts the row.
 */
export async function refreshArtifact(tx: Db, versions: VersionScheme, format: FormatId, name: string): Promise<void> {
  await tx
    .selectFrom('artifacts')
    .select('name')
    .where('name', '=', name)
    .where('format', '=', format)
    .forUpdate()
    .execute()
  const rows = await tx
    .selectFrom('records')
    .select(['id', 'version', 'status', 'imported_at', 'distribution', 'arch', 'name', 'description'])
    .where('name', '=', name)
    .where('format', '=', format)
    .execute()
  const latest = rows.reduce<(typeof rows)[number] | null>(
    (best, row) => (best && !isLater(versions, row, best) ? best : row),
    null,
  )
  if (!latest) {
    await tx.deleteFrom('artifacts').where('name', '=', name).where('format', '=', format).execute()
    return
  }
  await tx
    .updateTable('artifacts')
    .set({
      latest_id: latest.id,
      search: searchText(latest),
      latest_imported_at: latest.imported_at,
      distributions: [...new Set(rows.map((row) => row.distribution))].sort(),
      statuses: [...new Set(rows.map((row) => row.status))].sort(),
      archs: [...new Set(rows.map((row) => row.arch))].sort(),
    })
    .where('name', '=', name)
    .where('format', '=', format)
    .execute()
}

function union(list: string[], value: string): string[] {
  return list.includes(value) ? list : [...list, value].sort()
}
