// The gate's results for the record that an audit entry is about.
import { matchingRecords } from '../../store/records/artifact-query.ts'
import type { Db } from '../../store/db.ts'
import type { AuditRow } from './events.ts'

/** @returns the results of its checks, which choose the event of a quarantined record; null for other records */
export async function checksOf(
  db: Db,
  { distribution, package: name, version, arch, outcome }: AuditRow,
): Promise<Readonly<Record<string, string>> | null> {
  if (outcome !== 'quarantined' || distribution === null || name === null || version === null || arch === null)
    return null
  const row = await matchingRecords(db, { distribution, name, version, arch }).select('pipeline').executeTakeFirst()
  return row?.pipeline ?? null
}
