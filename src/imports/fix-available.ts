// Which findings of a record a synced source has a fix for.
import { sql } from 'kysely'
import type { Finding } from '../domain/finding.ts'
import type { VersionScheme } from '../formats/ecosystem.ts'
import type { Db } from '../store/db.ts'
import type { PackageRow } from '../store/tables.ts'

/** What to import, as the body of `/import/packages`. */
export interface FixAvailable {
  source_id: number
  source: string
  package: string
  version: string
  arch: string
  distribution: string
}

/** Versions of one name in a catalog that are compared. */
const MOST_OFFERED = 1000

/**
 * The findings; those that the newest version in a source of the distribution fixes get `fix_available`. Findings of
 * components inside the package stay unchanged: they name fixed versions of the component, not of the package.
 */
export async function withFixesAvailable(
  db: Db,
  {
    name,
    version,
    arch,
    distribution,
    format,
  }: Pick<PackageRow, 'name' | 'version' | 'arch' | 'distribution' | 'format'>,
  findings: readonly Finding[],
  versions: Pick<VersionScheme, 'compare'>,
): Promise<(Finding & { fix_available?: FixAvailable })[]> {
  const fixable = findings.some((finding) => finding.package_type === format && finding.fix_versions.length > 0)
  if (!fixable) return [...findings]
  const { rows } = await sql<{ version: string; source_id: number; source: string; security: boolean }>`
    select c.version, c.source_id, s.name as source, s.security from catalog c join sources s on s.id = c.source_id
    where c.name = ${name} and c.arch = ${arch} and s.target = ${distribution} and s.last_sync is not null
    limit ${MOST_OFFERED}`.execute(db)
  const [newest] = rows.sort(
    (a, b) =>
      versions.compare(b.version, a.version) || Number(b.security) - Number(a.security) || a.source_id - b.source_id,
  )
  if (!newest || versions.compare(newest.version, version) <= 0) return [...findings]
  const fix_available = {
    ...{ source_id: newest.source_id, source: newest.source },
    ...{ package: name, version: newest.version, arch, distribution },
  }
  const fixes = ({ package_type: type, fix_versions: fixed }: Finding) =>
    type === format && fixed.some((one) => versions.compare(newest.version, one) >= 0)
  return findings.map((finding) => (fixes(finding) ? { ...finding, fix_available } : finding))
}
