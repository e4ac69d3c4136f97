// Which packages of a catalog a distribution already has.
import { sql } from 'kysely'
import type { PackageStatus } from '../domain/status.ts'
import type { Offered } from '../formats/format.ts'
import type { Db } from '../store/db.ts'
import type { CatalogRow } from '../store/tables.ts'

export interface PresentRecord {
  status: PackageStatus
  sha256: string
  /** whether its bytes are those that the catalog lists; true if the catalog's digest cannot be compared */
  isSame: boolean
}

type Entry = Pick<CatalogRow, 'name' | 'version' | 'arch' | 'digest_algorithm' | 'digest'>

/**
 * The records with the names, versions and architectures of these entries. A record for all architectures counts too: an
 * index may list it under its own (apk).
 */
export async function presentRecords<T extends { entry: Entry }>(
  db: Db,
  { format, distribution }: Offered,
  wanted: readonly T[],
): Promise<Map<T, PresentRecord>> {
  const entries = wanted.map(({ entry }) => entry)
  const { rows } = await sql<{
    n: number
    status: PackageStatus
    sha256: string
    received_sha256: string
    sha512: string
    record: unknown
  }>`select w.n::int as n, p.status, p.sha256, p.received_sha256, b.sha512,
      case when w.algorithm = 'control-sha1' then b.facts->'record' end as record
    from unnest(${entries.map(({ name }) => name)}::text[], ${entries.map(({ version }) => version)}::text[],
      ${entries.map(({ arch }) => arch)}::text[], ${entries.map((entry) => entry.digest_algorithm)}::text[])
      with ordinality as w (name, version, arch, algorithm, n)
    join packages p on p.distribution = ${distribution.codename} and p.name = w.name and p.version = w.version
      and (p.arch = w.arch or p.arch = any(${[...format.neutralArchs]}::text[]))
    join blobs b on b.sha256 = p.sha256`.execute(db)
  const found = new Map<T, PresentRecord>()
  for (const { n, status, sha256, received_sha256, sha512, record } of rows) {
    const one = wanted[n - 1] as T
    const { digest_algorithm: algorithm, digest } = one.entry
    const same: Record<typeof algorithm, () => boolean> = {
      sha256: () => digest === sha256 || digest === received_sha256,
      // The SHA-512 of a package that was signed here differs from the one it arrived with.
      sha512: () => digest === sha512 || sha256 !== received_sha256,
      sha384: () => true,
      'control-sha1': () => format.catalog.recordDigest?.(record) === digest,
    }
    found.set(one, { status, sha256, isSame: same[algorithm]() })
  }
  return found
}
