// What a mirror lacks: selected packages beside the records of the distribution that takes them.
import { sql } from 'kysely'
import type { Offered } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import type { Selected } from './select.ts'

/**
 * `missing`: to be imported. `present`: the distribution has it, in any status. `conflict`: the distribution has other
 * bytes under that name, version and architecture. `rejected`: a person rejected these bytes in some distribution.
 */
export type Standing = 'missing' | 'present' | 'conflict' | 'rejected'

interface Known {
  n: number
  received_sha256: string
  sha512: string
  size_bytes: number
  is_signed_copy: boolean
}

/** The standing of each selected package, in their order. */
export async function compareWithRecords(
  db: Db,
  { format, distribution }: Offered,
  packages: readonly Selected[],
): Promise<Standing[]> {
  const column = (of: (one: Selected) => string) => packages.map(of)
  const { rows: known } = await sql<Known>`
    select w.n::int, p.received_sha256, b.sha512, b.size_bytes, p.sha256 <> p.received_sha256 as is_signed_copy
    from unnest(${column((one) => one.name)}::text[], ${column((one) => one.version)}::text[], ${column((one) => one.arch)}::text[])
      with ordinality as w (name, version, arch, n)
    join packages p on p.distribution = ${distribution.codename} and p.name = w.name and p.version = w.version
      -- An index may list a package for all architectures under its own one (apk).
      and (p.arch = w.arch or p.arch = any(${[...format.neutralArchs]}::text[]))
    join blobs b on b.sha256 = p.sha256`.execute(db)
  const { rows: rejected } = await sql<{ received_sha256: string }>`
    select received_sha256 from packages where status = 'rejected' and received_sha256 = any(${column((one) => one.digest)}::text[])`.execute(
    db,
  )
  const refusedDigests = new Set(rejected.map((row) => row.received_sha256))
  const byIndex = new Map(known.map((row) => [row.n - 1, row]))
  return packages.map((one, index) => {
    const record = byIndex.get(index)
    if (record) return hasSameBytes(one, record) ? 'present' : 'conflict'
    return refusedDigests.has(one.digest) ? 'rejected' : 'missing'
  })
}

/** Where the catalog lists a digest that records do not keep, the size is compared. */
function hasSameBytes(one: Selected, record: Known): boolean {
  if (one.digest_algorithm === 'sha256') return one.digest === record.received_sha256
  if (record.is_signed_copy) return true
  if (one.digest_algorithm === 'sha512') return one.digest === record.sha512
  return one.size_bytes === record.size_bytes
}
