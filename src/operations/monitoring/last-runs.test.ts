import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Database } from '../../store/db.ts'
import { lastRunsOf } from './last-runs.ts'

let database: Database
beforeAll(async () => void (database = await createTestDatabase()))
afterAll(() => database.close())

const day = (n: number) => new Date(Date.UTC(2026, 10, n))

test('metrics say how the last run of each job ended, and when the last good one did', async () => {
  const tick = (job: string, n: number, error: string | null, finished_at: Date | null = day(n)) => ({
    ...{ job, due_at: day(n), started_at: day(n), finished_at, error },
  })
  await database.db
    .insertInto('job_ticks')
    .values([
      tick('good', 1, 'x'),
      tick('good', 2, null),
      tick('bad', 1, null),
      tick('bad', 2, 'x'),
      tick('never', 1, 'x'),
      tick('runs', 1, null),
      tick('runs', 2, null, null),
      tick('not asked for', 1, null),
    ])
    .execute()
  expect(await lastRunsOf(database.db, ['good', 'bad', 'never', 'runs', 'unknown'])).toEqual([
    { job: 'good', failed: false, succeededAt: day(2) },
    { job: 'bad', failed: true, succeededAt: day(1) },
    { job: 'never', failed: true, succeededAt: null },
    { job: 'runs', failed: false, succeededAt: day(1) },
  ])
})
