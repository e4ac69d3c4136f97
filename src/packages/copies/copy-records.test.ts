// A copy is judged by the evidence in its new distribution, before that distribution offers it.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Evidence } from '../../domain/evidence.ts'
import type { Severity } from '../../domain/finding.ts'
import type { Settings } from '../../domain/settings.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Database } from '../../store/db.ts'
import { finding, insertRecord } from '../documents/fixture.ts'
import { insertDecision } from '../records/decisions.ts'
import { tally } from '../records/counters.ts'
import { copyRecords } from './copy-records.ts'

const now = new Date('2026-03-05T00:00:00Z')
const days = { sla_critical_days: 1, sla_high_days: 7, sla_medium_days: 30 }
const settings = {
  cve_policy: { critical: 'block', high: 'review', medium: 'warn', low: 'allow', ...days },
  validation: { on_unscanned: 'hold' },
} as unknown as Settings
const [from, to] = [findDistribution('jammy')!, findDistribution('noble')!]
const meta = { method: 'promotion' as const, importedBy: 'admin', origin: { ip: null, requestId: null } }

let database: Database
let audited: { action: string; result: string; outcome?: string | null }[]
beforeAll(async () => {
  database = await createTestDatabase()
  await database.db.insertInto('distributions').values({ codename: 'noble', format: 'deb', definition: '{}' }).execute()
})
afterAll(() => database.close())

async function copy(name: string, evidence: Evidence, accepted: Severity | null = null) {
  const { db } = database
  audited = []
  const source = await insertRecord(db, { name, findings: [finding('CVE-1', { severity: 'High', action: 'allow' })] })
  await tally(db, [source.id], 1)
  if (accepted)
    await insertDecision(db, source, {
      ...{ decision: 'approve', action: 'accept_risk', status: 'published', previous_status: 'pending_review' },
      ...{ justification: 'fine', decided_by: 'somebody', decided_at: now, expires_in_days: null, expires_at: null },
      ...{ target_version: null, policy_snapshot: '{}', assigned_to: null, assigned_at: null },
      ...{ resolved_at: null, resolved_by: null, resolution_note: null },
      covers: JSON.stringify([{ id: 'CVE-1', severity: accepted, in_kev: false }]),
    } as never)
  const audit = { record: (events: typeof audited) => Promise.resolve(void audited.push(...events)) }
  const deps = { db, clock: { now: () => now }, audit: audit as never, pool: { has: () => Promise.resolve(true) } }
  const evidenceThere = () => Promise.resolve(evidence)
  const [copied] = await copyRecords({ ...deps, settings: () => settings, evidenceThere }, [source.id], from, to, meta)
  const offers = await db.selectFrom('offers').select('package_id').where('package_id', '=', copied!.row!.id).execute()
  return { row: copied!.row!, offers: offers.length }
}

const scanned = (severity: Severity): Evidence => {
  const { action: _, ...found } = finding('CVE-1', { severity })
  return { checks: [{ check: 'cve_scan', result: 'scanned', message: '', findings: [found] }] }
}

test.each<[string, Evidence, Severity | null, object]>([
  ['nothing-known', { checks: [] }, null, { status: 'published', served: true, held_reason: null }],
  ['harmless', scanned('Low'), null, { status: 'published', served: true, pipeline: { cve_scan: 'allowed' } }],
  ['accepted', scanned('High'), 'High', { status: 'published', served: true, cve_status: 'approved' }],
  [
    'not-accepted',
    scanned('High'),
    null,
    {
      ...{ status: 'pending_review', served: false, held_reason: 'cve_review', review_origin: 'promotion' },
      ...{ review_since: now, review_due_at: new Date('2026-03-12T00:00:00Z'), cve_results: [{ action: 'review' }] },
    },
  ],
  [
    'worse-than-accepted',
    scanned('Critical'),
    'High',
    { status: 'quarantined', served: false, cve_status: 'blocked', quarantined_by: 'system' },
  ],
])('%s', async (name, evidence, accepted, expected) => {
  const { row, offers } = await copy(name, evidence, accepted)
  expect(row).toMatchObject(expected)
  expect(offers).toBe(row.served ? 1 : 0)
  const result = { published: 'SUCCESS', pending_review: 'WARNING', quarantined: 'FAILURE', rejected: '' }[row.status]
  expect(audited).toMatchObject([{ action: 'PROMOTE', result, outcome: row.status }])
  const steps = (row.validation_steps as { name: string }[]).map((step) => step.name)
  expect(steps.includes('publication')).toBe(row.served)
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from packages where name = ${name}`.execute(
    database.db,
  )
  expect(rows[0]?.n).toBe(2)
})
