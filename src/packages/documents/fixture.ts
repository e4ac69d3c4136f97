// Inserts records, findings and decisions into a test database. For tests only.
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Finding } from '../../domain/finding.ts'
import type { Capability, PackageFacts, Requirement } from '../../domain/package.ts'
import type { DecisionAction, PackageStatus } from '../../domain/status.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Db } from '../../store/db.ts'
import { insertDecision } from '../records/decisions.ts'
import { recordsOf } from '../../store/records/artifact-query.ts'
import { storeFindings } from '../records/findings.ts'
import type { PackageRow } from '../../store/tables.ts'
import { packFacts } from '../../domain/packed-facts.ts'

export const ARRIVAL = new Date('2026-03-01T12:00:00.123Z')
export const DECIDED = new Date('2026-03-02T08:30:00.000Z')

export interface SampleRecord {
  /** leaves out what it provides, for the schema of an earlier release */
  withoutCapabilities?: boolean
  distribution?: string
  name: string
  version?: string
  arch?: string
  status?: PackageStatus
  served?: boolean
  license?: string | null
  maintainer?: string | null
  description?: string | null
  url?: string | null
  sourcePackage?: string | null
  sourceVersion?: string | null
  importedAt?: Date
  requirements?: Requirement[]
  provides?: Capability[]
  files?: string[]
  findings?: Finding[]
  /** results of the checks, by step */
  pipeline?: Record<string, string>
}

const digest = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('hex')

export const need = (
  name: string,
  op?: Requirement['anyOf'][0]['op'],
  version?: string,
  strong = true,
): Requirement => ({
  kind: 'depends',
  strong,
  anyOf: [{ name, ...(op ? { op } : {}), ...(version ? { version } : {}) }],
  text: op ? `${name} (${op} ${version ?? ''})` : name,
})

export async function insertRecord(db: Db, sample: SampleRecord): Promise<PackageRow> {
  const distribution = sample.distribution ?? 'jammy'
  const {
    format,
    distribution: { architectures },
  } = findDistribution(distribution) as NonNullable<ReturnType<typeof findDistribution>>
  const {
    name,
    version = '1.0-1',
    arch = architectures[0] ?? '',
    status = 'published',
    served = status === 'published',
    findings,
    provides = [],
  } = sample
  const identity = [distribution, name, version, arch].join('\0')
  const sha256 = digest('sha256', identity)
  const filename = `${name.replaceAll('/', '-')}_${version}_${arch}.${format.id}`
  const facts: PackageFacts = {
    format: format.id,
    name,
    version,
    arch,
    section: 'misc',
    description: null,
    maintainer: null,
    license: null,
    url: null,
    sourcePackage: null,
    sourceVersion: null,
    installedSizeKb: null,
    requirements: sample.requirements ?? [],
    provides,
    files: sample.files ?? [],
    signatures: [],
    record: { fields: [] },
  }
  await db
    .insertInto('distributions')
    .values({ codename: distribution, format: format.id, definition: '{}' })
    .onConflict((c) => c.doNothing())
    .execute()
  await db
    .insertInto('blobs')
    .values({
      sha256,
      format: format.id,
      filename,
      size_bytes: 1000,
      sha512: digest('sha512', identity),
      sha1: digest('sha1', identity),
      md5: digest('md5', identity),
      ...packFacts(facts),
      section: 'misc',
      description: sample.description ?? null,
      maintainer: sample.maintainer ?? null,
      license: sample.license ?? null,
      url: sample.url ?? null,
      source_package: sample.sourcePackage ?? null,
      source_version: sample.sourceVersion ?? null,
      created_at: ARRIVAL,
    })
    .execute()
  const { id } = await db
    .insertInto('packages')
    .values({
      distribution,
      format: format.id,
      name,
      version,
      arch,
      status,
      cve_status: 'approved',
      sha256,
      received_sha256: sha256,
      imported_at: sample.importedAt ?? ARRIVAL,
      imported_by: 'somebody',
      import_method: 'upload',
      pipeline: JSON.stringify(sample.pipeline ?? {}),
      validation_steps: '[]',
      coverage: '{}',
      deps_missing: '[]',
      tags: '[]',
      cve_results: findings ? JSON.stringify(findings) : null,
      last_scan: findings ? ARRIVAL : null,
      changes: 1,
      manifest_changes: 1,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const offer = { distribution, package_id: id, from_revision: id, sha256, filename, name, version, arch }
  if (served)
    await db
      .insertInto('offers')
      .values({ ...offer, began_by: 'upload' })
      .execute()
  if (findings) await storeFindings(db, { id, distribution }, findings, 0)
  const [row] = await recordsOf(db, [id])
  if (!row) throw new Error('the record was not inserted')
  if (!served || sample.withoutCapabilities) return row
  const offers = [{ name, version }, ...provides]
  await db
    .insertInto('capabilities')
    .values(
      offers.map((offer) => ({
        package_id: row.id,
        distribution,
        name: offer.name,
        version: offer.version ?? null,
        arch,
        multi_arch: null,
      })),
    )
    .execute()
  const needed = (sample.requirements ?? []).filter(({ strong }) => strong).flatMap(({ anyOf }) => anyOf)
  const names = [...new Set(needed.map((relation) => relation.name))]
  await sql`insert into dependents (package_id, distribution, name)
    select ${row.id}::bigint, ${distribution}, name from unnest(${names}::text[]) as name`.execute(db)
  return row
}

export function finding(id: string, more: Partial<Finding> = {}): Finding {
  return {
    id,
    severity: 'High',
    cvss: 7.5,
    description: `What ${id} is about.`,
    package_name: 'vulnerable',
    package_version: '1.0-1',
    package_type: 'deb',
    fix_state: 'fixed',
    fix_versions: ['1.1-1'],
    urls: [`https://example.org/${id}`],
    epss: 0.12,
    epss_percent: 93,
    epss_label: 'high',
    in_kev: false,
    action: 'review',
    first_seen: '2026-03-01T12:00:00+00:00',
    sources: ['osv'],
    accepted_by_decision: false,
    ...more,
  }
}

export async function decide(
  db: Db,
  row: PackageRow,
  action: DecisionAction,
  ids: readonly string[],
  more: { targetVersion?: string; expiresAt?: Date } = {},
) {
  return insertDecision(db, row, {
    decision: action === 'upgrade_required' ? null : action === 'reject' ? 'reject' : 'approve',
    action,
    status: row.status,
    previous_status: 'pending_review',
    justification: `because of ${action}`,
    decided_by: 'auditor',
    decided_at: DECIDED,
    expires_in_days: null,
    expires_at: more.expiresAt ?? null,
    target_version: more.targetVersion ?? null,
    covers: JSON.stringify(ids.map((id) => ({ id, severity: 'High', in_kev: false }))),
    policy_snapshot: '{}',
    assigned_to: null,
    assigned_at: null,
    resolved_at: null,
    resolved_by: null,
    resolution_note: null,
  })
}
