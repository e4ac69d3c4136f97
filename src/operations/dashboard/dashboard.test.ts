// Counters and days of the dashboard. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { insertRecord } from '../../packages/documents/fixture.ts'
import { silentStatus } from '../../gate/engines/scanner.ts'
import { migrate, openDatabase, type Database, type Db } from '../../store/db.ts'
import { dashboardCounts } from '../../packages/records/dashboard-query.ts'
import { closeDecisions, insertDecision, reopenDecisions } from '../../packages/records/decisions.ts'
import type { PackageRow } from '../../store/tables.ts'
import { createActivity } from './activity.ts'
import { createDashboard } from './dashboard.ts'
import { createPoolGrowth } from './pool-growth.ts'

const NOW = new Date('2026-03-10T12:00:00Z')
const clock = { now: () => NOW }

let database: Database
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.close())

const change = (
  row: PackageRow,
  set: { deps_missing?: string; status?: 'published' | 'rejected' | 'pending_review' },
) => db.updateTable('packages').set(set).where('id', '=', row.id).execute()

const decide = (within: Db, row: PackageRow, expires: Date | null = null) =>
  insertDecision(within, row, {
    ...{ decision: 'approve', action: 'exception', status: 'published', previous_status: 'pending_review' },
    ...{ justification: 'for a test', decided_by: 'ann', decided_at: NOW, expires_in_days: 3, expires_at: expires },
    ...{ target_version: null, covers: '[]', policy_snapshot: '{}' },
    ...{ assigned_to: null, assigned_at: null, resolved_at: null, resolved_by: null, resolution_note: null },
  })

const createdDashboard = () =>
  createDashboard({
    ...{ db, clock, activity: createActivity({ db, clock }), growth: createPoolGrowth({ db, clock }) },
    ...{ audit: { flush: async () => {} } },
    antivirus: async () => silentStatus('clamav'),
  })

describe('the counters', () => {
  test('follow missing dependencies through changes, statuses and deletions', async () => {
    const [one, other] = [await insertRecord(db, { name: 'one' }), await insertRecord(db, { name: 'other' })]
    const missing = async () => (await dashboardCounts(db)).depsMissing
    expect(await missing()).toBe(0)
    await change(one, { deps_missing: '["a"]' })
    await change(other, { deps_missing: '["a","b"]' })
    expect(await missing()).toBe(2)
    await change(one, { deps_missing: '["b"]' })
    expect(await missing()).toBe(2)
    await change(one, { deps_missing: '[]' })
    expect(await missing()).toBe(1)
    await change(other, { status: 'rejected' })
    expect(await missing()).toBe(0)
    await change(other, { status: 'pending_review' })
    expect(await missing()).toBe(1)
    await db.deleteFrom('offers').where('package_id', '=', other.id).execute()
    await db.deleteFrom('packages').where('id', '=', other.id).execute()
    expect(await missing()).toBe(0)
  })

  test('follow decisions that are made, closed and reopened', async () => {
    const row = await insertRecord(db, { name: 'decided' })
    const counts = async () => {
      const { decisions, activeDecisions } = await dashboardCounts(db)
      return [decisions, activeDecisions.exception]
    }
    const { id } = await decide(db, row)
    expect(await counts()).toEqual([1, 1])
    await closeDecisions(db, [id], { at: NOW, by: 'ann', note: 'over' })
    await closeDecisions(db, [id], { at: NOW, by: 'ann', note: 'over' })
    expect(await counts()).toEqual([1, 0])
    await reopenDecisions(db, [id], 'over')
    expect(await counts()).toEqual([1, 1])
    await closeDecisions(db, [id], { at: NOW, by: 'ann', note: 'over' })
  })

  test('begin with what an older database holds', async () => {
    const old = await openDatabase('pglite://memory')
    try {
      await migrate(old.db, '0009-imports')
      const row = await insertRecord(old.db, { name: 'before' })
      await old.db.updateTable('packages').set({ deps_missing: '["x"]' }).execute()
      await decide(old.db, row)
      await migrate(old.db)
      expect(await dashboardCounts(old.db)).toMatchObject({
        ...{ depsMissing: 1, decisions: 1 },
        activeDecisions: { exception: 1, reject: 0, accept_risk: 0, upgrade_required: 0 },
      })
    } finally {
      await old.close()
    }
  })
})

describe('the days', () => {
  const entry = (seq: number | null, day: string, action: string, outcome: string, result = 'SUCCESS' as const) => ({
    ...{ at: new Date(`${day}T23:59:59Z`), action, result, outcome, seq, extra: '{}' },
  })
  const failed = (seq: number, day: string, action: string, outcome: string) => ({
    ...entry(seq, day, action, outcome),
    result: 'FAILURE' as const,
  })

  test('count each chained entry once, whoever counts', async () => {
    const activities = [createActivity({ db, clock }), createActivity({ db, clock })]
    await db
      .insertInto('audit')
      .values([
        entry(1, '2026-03-09', 'UPLOAD', 'published'),
        entry(2, '2026-03-09', 'IMPORT', 'pending_review'),
        failed(3, '2026-03-09', 'UPLOAD', 'quarantined'),
        failed(4, '2026-03-10', 'UPLOAD', 'already_exists'),
        entry(5, '2026-03-10', 'SECURITY_DECISION', 'exception'),
        entry(6, '2026-03-10', 'SECURITY_DECISION', 'assigned'),
        entry(7, '2026-03-10', 'RESCAN', 'published'),
        entry(8, '2026-03-10', 'LOGIN', 'ok'),
        // Not chained yet: its later position may be between others.
        entry(null, '2026-03-10', 'UPLOAD', 'published'),
      ])
      .execute()
    await Promise.all(activities.map(({ catchUp }) => catchUp()))
    await activities[0]!.catchUp()
    const days = [
      { date: '2026-03-08', imports: 0, failures: 0, decisions: 0, cve_scans: 0 },
      { date: '2026-03-09', imports: 2, failures: 1, decisions: 0, cve_scans: 3 },
      { date: '2026-03-10', imports: 0, failures: 1, decisions: 1, cve_scans: 1 },
    ]
    expect(await activities[0]!.history(3)).toEqual(days)

    await db.updateTable('audit').set({ seq: 9 }).where('seq', 'is', null).execute()
    await activities[1]!.catchUp()
    expect((await activities[0]!.history(1))[0]).toMatchObject({ imports: 1, cve_scans: 2 })
    await db.deleteFrom('audit').execute()
    await activities[1]!.catchUp()
    expect((await activities[0]!.history(1))[0]).toMatchObject({ imports: 1, cve_scans: 2 })
  })
})

test('alerts name overdue reviews, deadlines, held packages and missing dependencies, the most urgent kind first', async () => {
  const soon = new Date('2026-03-12T12:00:00Z')
  const late = await insertRecord(db, { name: 'late', status: 'pending_review' })
  const near = await insertRecord(db, { name: 'near', status: 'pending_review' })
  await insertRecord(db, { name: 'bad', status: 'quarantined' })
  const lacking = await insertRecord(db, { name: 'lacking' })
  await db
    .updateTable('packages')
    .set({ review_due_at: new Date('2026-03-09') })
    .where('id', '=', late.id)
    .execute()
  await db.updateTable('packages').set({ review_due_at: soon }).where('id', '=', near.id).execute()
  await change(lacking, { deps_missing: '["libnowhere"]' })
  const decision = await decide(db, lacking, soon)

  const { alerts, security_review: review, packages, recent_imports: recent } = await createdDashboard().stats()
  expect(alerts.map(({ type, package: name, message }) => [type, name, message])).toEqual([
    ['sla_expired', 'late', 'the review was due on 2026-03-09'],
    ['sla_warning', 'near', 'the review is due on 2026-03-12'],
    ['sla_warning', 'lacking', 'the exception ends on 2026-03-12'],
    ['security', 'bad', expect.stringMatching(/^is quarantined/)],
    ['security', 'near', expect.stringMatching(/^waits for a decision/)],
    ['security', 'late', expect.stringMatching(/^waits for a decision/)],
    ['deps_missing', 'lacking', 'dependencies are missing: libnowhere'],
  ])
  expect(review).toMatchObject({ overdue: 1, expiring_soon_total: 1 })
  expect(review).toMatchObject({ exception: 1, expiring_soon: [{ decision_id: decision.id, remaining_days: 2 }] })
  expect(packages.deps_missing_count).toBe(1)
  expect(recent[0]).toMatchObject({ package: 'lacking', status: 'published' })
})

test('counts of overdue reviews and of decisions that end soon are not limited to the listed ones', async () => {
  const dashboard = createdDashboard()
  const row = await insertRecord(db, { name: 'many-exceptions' })
  const before = (await dashboard.stats()).security_review
  for (let i = 0; i < 15; i++) {
    const { id } = await insertRecord(db, { name: `late-${i}`, status: 'pending_review' })
    await db
      .updateTable('packages')
      .set({ review_due_at: new Date(NOW.getTime() - 1) })
      .where('id', '=', id)
      .execute()
    await decide(db, row, new Date(NOW.getTime() + 86_400_000))
  }
  const { overdue, expiring_soon_total: total, expiring_soon: listed } = (await dashboard.stats()).security_review
  expect([overdue - before.overdue, total - before.expiring_soon_total, listed.length]).toEqual([15, 15, 10])
})
