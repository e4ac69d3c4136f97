// Compares selected packages with the records of the distribution that takes them: which of them the mirror lacks.
import { sql } from 'kysely'
import type { Offered } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import { presentRecords } from '../present-records.ts'
import type { Selected } from './select.ts'

/**
 * `missing`: to be imported. `present`: the distribution has it, in any status. `conflict`: the distribution has other
 * bytes under that name, version and architecture. `rejected`: a person rejected these bytes in some distribution.
 * `refused`: the gate refused these bytes before, under the same rules.
 */
export type Presence = 'missing' | 'present' | 'conflict' | 'rejected' | 'refused'

/** The standing of each selected package, in their order. */
export async function compareWithRecords(
  db: Db,
  target: Offered,
  packages: readonly Selected[],
  refused: ReadonlyMap<string, unknown>,
): Promise<Presence[]> {
  const wanted = packages.map((entry) => ({ entry }))
  const records = await presentRecords(db, target, wanted)
  const rejected = await rejectedDigests(db, packages)
  return wanted.map((one) => {
    const record = records.get(one)
    if (record) return record.isSame ? 'present' : 'conflict'
    if (rejected.has(one.entry.digest)) return 'rejected'
    return refused.has(one.entry.digest) ? 'refused' : 'missing'
  })
}

async function rejectedDigests(db: Db, packages: readonly Selected[]): Promise<Set<string>> {
  const digests = packages.filter((one) => one.digest_algorithm === 'sha256').map(({ digest }) => digest)
  const { rows } = await sql<{ received_sha256: string }>`select received_sha256 from packages
    where status = 'rejected' and received_sha256 = any(${digests}::text[])`.execute(db)
  return new Set(rows.map((row) => row.received_sha256))
}
