// Evidence that was replaced long ago is deleted, with the findings that nothing refers to; evidence in force stays.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Seen } from '../../domain/evidence.ts'
import type { Severity } from '../../domain/finding.ts'
import { finding, insertRecord } from '../../packages/documents/fixture.ts'
import { noteEvidence } from '../../packages/records/evidence.ts'
import type { Database } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { evidenceStep } from './evidence.ts'
import type { StepProgress } from './step.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const progress: StepProgress = {
  by: 'test',
  before: null,
  save: async () => {},
  line: () => {},
  signal: new AbortController().signal,
}
const stepOn = (day: number) =>
  evidenceStep({
    clock: { now: () => dayOf(day) },
    db: database.db,
    settings: () => ({ retention: { evidence_days: 10 } }) as never,
  })
const dayOf = (day: number) => new Date(Date.UTC(2026, 2, day))
const scanned = (severity: Severity): Seen => ({
  ...{ check: 'cve_scan', result: 'scanned', message: '' },
  findings: [finding('CVE-1', { severity })],
})

test('rows go when they were replaced longer ago than the days that are kept, and their findings with them', async () => {
  const { db } = database
  const record = await insertRecord(db, { name: 'curl' })
  for (const [day, severity] of [
    [1, 'Low'],
    [2, 'High'],
    [5, 'Critical'],
    [6, 'High'],
  ] as const)
    await transaction(db, (tx) => noteEvidence(tx, record, [scanned(severity)], dayOf(day)))
  const kept = async () => {
    const rows = await db.selectFrom('evidence').select(['at', 'replaced_at']).orderBy('id').execute()
    const { length } = await db.selectFrom('finding_sets').select('digest').execute()
    return [rows.map(({ at, replaced_at: end }) => [at.getUTCDate(), end?.getUTCDate() ?? null]), length]
  }
  const all = [
    [1, 2],
    [2, 5],
    [5, 6],
    [6, null],
  ]
  expect(await kept()).toEqual([all, 3])
  expect(await stepOn(12).plan(progress.signal)).toEqual({ rows: 0 })
  expect(await stepOn(12).run(progress)).toEqual({ rows: 0, finding_sets: 0 })
  expect(await kept()).toEqual([all, 3])

  expect(await stepOn(15).plan(progress.signal)).toEqual({ rows: 1 })
  expect(await stepOn(15).run(progress)).toEqual({ rows: 1, finding_sets: 1 })
  expect(await kept()).toEqual([all.slice(1), 2])

  // The evidence with the finding High is still in force.
  expect(await stepOn(28).run(progress)).toEqual({ rows: 2, finding_sets: 1 })
  expect(await kept()).toEqual([[[6, null]], 1])

  await db.deleteFrom('offers').execute()
  await db.deleteFrom('packages').execute()
  // A transaction that began earlier may be about to refer to them again.
  expect(await stepOn(6).run(progress)).toEqual({ rows: 0, finding_sets: 0 })
  expect(await stepOn(28).run(progress)).toEqual({ rows: 0, finding_sets: 1 })
})
