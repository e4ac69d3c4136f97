// What a job that fails is told as, and how often. When jobs run is shown where they matter (test/replicas, test/gate).
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { HttpError } from '../kernel/http-client.ts'
import { createLog } from '../kernel/log.ts'
import type { Database } from '../store/db.ts'
import { createScheduler, type Job } from './scheduler.ts'

const HOUR = 3_600_000
let database: Database
let time: number
let events: AuditEvent[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  time = Date.parse('2026-03-05T00:30:00Z')
  events = []
  await database.db.deleteFrom('job_ticks').execute()
})

/** Lets an hourly job come due once for each outcome, and waits for it. */
async function runs(outcomes: (() => Promise<Record<string, unknown> | void>)[]): Promise<void> {
  const due = [...outcomes]
  const job: Job = {
    id: 'feed',
    name: 'Read the feed',
    schedule: () => ({ pattern: '0 * * * *', timezone: 'UTC' }),
    run: () => (due.shift() as Job['run'])(),
  }
  const scheduler = createScheduler({
    db: database.db,
    clock: { now: () => new Date(time) },
    log: createLog('silent'),
    jobs: [job],
    settings: () => ({}) as Settings,
    isLeader: () => true,
    audit: { record: async (event) => void events.push(...([event].flat() as AuditEvent[])) },
  })
  // A job that never ran waits for its time, which only a timer would bring.
  await database.db
    .insertInto('job_ticks')
    .values({
      job: job.id,
      due_at: new Date(time - HOUR),
      started_at: new Date(time - HOUR),
      finished_at: new Date(time),
      error: null,
    })
    .execute()
  for (const _ of outcomes) {
    time += HOUR
    // A start looks at once.
    await scheduler.start()
    await scheduler.stop()
  }
  expect(due).toEqual([])
}

const fail = (error: unknown) => async () => {
  throw error
}
const fine = async () => ({ read: 3 })
const down = fail(new HttpError('status', 'feed.example.org answered 503'))

test('a job that fails is told once, until it succeeds', async () => {
  await runs([fine, down, down, down, fine, down])
  expect(events).toEqual(
    Array(2).fill({
      action: 'SCHEDULER_JOB_FAILED',
      result: 'FAILURE',
      user: 'scheduler',
      outcome: 'failed',
      detail: 'Read the feed: feed.example.org answered 503',
      extra: { job: 'feed' },
    }),
  )
  const ticks = await database.db.selectFrom('job_ticks').select('error').orderBy('due_at').offset(1).execute()
  expect(ticks.map(({ error }) => error !== null)).toEqual([false, true, true, true, false, true])
})

test.each([
  ['a problem', fail(new Problem('scanner_unavailable', 'the scanner is loading')), 'the scanner is loading'],
  [
    'an outcome that says so',
    async () => ({ status: 'failed', message: 'no feed could be read' }),
    'no feed could be read',
  ],
  [
    'a bug, of which nothing inner is told',
    fail(new Error('relation "secret" of /srv/data does not exist')),
    'an unexpected error; the log has it',
  ],
] as const)('%s is a failure', async (_, run, reason) => {
  await runs([run])
  expect(events).toMatchObject([{ detail: `Read the feed: ${reason}` }])
})

test.each([['updated'], ['up_to_date'], ['cooldown']])('an outcome of %s is none', async (status) => {
  await runs([async () => ({ status, message: 'said so' })])
  expect(events).toEqual([])
})
