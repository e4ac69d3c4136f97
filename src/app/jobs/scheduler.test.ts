// When jobs run, and which results of a job are reported as failures. Uses PGlite in memory.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import { HttpError } from '../../kernel/http-error.ts'
import { createLog } from '../../kernel/log.ts'
import type { Database } from '../../store/db.ts'
import { createScheduler, type Job } from './scheduler.ts'

const HOUR = 3_600_000
const START = Date.parse('2026-03-05T00:30:00Z')
let database: Database
let time: number
let events: AuditEvent[]
let leading: boolean
let logged: unknown[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  time = START
  events = []
  leading = true
  logged = []
  await database.db.deleteFrom('job_ticks').execute()
  await ranAt(new Date(time - HOUR))
})

const hourly = (run: Job['run']): Job => ({
  id: 'feed',
  name: 'Read the feed',
  schedule: () => ({ pattern: '0 * * * *', timezone: 'UTC' }),
  run,
})

/** How long it waits for a job that does not end; none of these tests needs it. */
let graceMs = 60_000

function schedulerOf(...jobs: Job[]) {
  return createScheduler({
    db: database.db,
    clock: { now: () => new Date(time) },
    log: Object.assign(createLog('silent'), { error: (_: unknown, message: string) => void logged.push(message) }),
    jobs,
    settings: () => ({}) as Settings,
    isLeader: () => leading,
    graceMs,
    audit: {
      record: (event) => {
        events.push(...[event].flat())
        return Promise.resolve()
      },
    },
  })
}

/** Records an earlier run, because a job that never ran waits for a timer. */
async function ranAt(at: Date): Promise<void> {
  await database.db
    .insertInto('job_ticks')
    .values({ job: 'feed', due_at: at, started_at: at, finished_at: at, error: null })
    .execute()
}

/** Starting a scheduler checks what is due, once. */
async function checkOnce(scheduler: ReturnType<typeof schedulerOf>): Promise<void> {
  await scheduler.start()
  await scheduler.stop()
}

/** Lets the hourly job come due once for each outcome. */
async function runs(outcomes: Job['run'][]): Promise<void> {
  const due = [...outcomes]
  const scheduler = schedulerOf(hourly((signal) => due.shift()!(signal)))
  for (const _ of outcomes) {
    time += HOUR
    await checkOnce(scheduler)
  }
  expect(due).toEqual([])
}

const fail = (error: Error) => () => Promise.reject(error)
const succeed = () => Promise.resolve({ read: 3 })
const down = fail(new HttpError('status', 'feed.example.org answered 503'))

test('a failing job is reported once, until it succeeds again', async () => {
  await runs([succeed, down, down, down, succeed, down])
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
  ['a Problem', fail(new Problem('scanner_unavailable', 'the scanner is loading')), 'the scanner is loading'],
  [
    'a result with status failed',
    () => Promise.resolve({ status: 'failed', message: 'no feed could be read' }),
    'no feed could be read',
  ],
  [
    'an unexpected error, without its message,',
    fail(new Error('relation "secret" of /srv/data does not exist')),
    'an unexpected error; the log has it',
  ],
] as const)('%s is reported as a failure', async (_, run, reason) => {
  await runs([run])
  expect(events).toMatchObject([{ detail: `Read the feed: ${reason}` }])
})

test.each([['updated'], ['up_to_date'], ['cooldown']])('a result with status %s is not a failure', async (status) => {
  await runs([() => Promise.resolve({ status, message: 'the feed' })])
  expect(events).toEqual([])
})

test.each([
  ['the work is already running', 'already_running'],
  ['its task goes on after a restart', 'shutting_down'],
] as const)('a run skipped because %s is neither a failure nor a success', async (_, code) => {
  const busy = fail(new Problem(code, 'the feed is being read already'))
  await runs([busy, down, busy, down])
  expect(events).toHaveLength(1)
  const ticks = await database.db.selectFrom('job_ticks').select('error').orderBy('due_at').offset(1).execute()
  expect(ticks.map(({ error }) => error !== null)).toEqual([false, true, false, true])
})

describe('the next run', () => {
  const next = (pattern: string, timezone: string | null) => {
    const job = { ...hourly(succeed), schedule: () => (timezone === null ? null : { pattern, timezone }) }
    const [state] = schedulerOf(job).state()
    return [state?.next_run, state?.paused]
  }

  test.each([
    ['is in the time zone of the job', '2026-01-10T12:00Z', '15 5 * * *', 'Europe/Paris', '2026-01-11T04:15'],
    ['follows the time zone into summer', '2026-03-28T12:00Z', '15 5 * * *', 'Europe/Paris', '2026-03-29T03:15'],
    ['follows it back into winter', '2026-10-24T12:00Z', '15 5 * * *', 'Europe/Paris', '2026-10-25T04:15'],
    ['is at the end of a gap that has its time', '2026-03-28T12:00Z', '30 2 * * *', 'Europe/Paris', '2026-03-29T01:00'],
    ['is the first of two equal times', '2026-10-24T12:00Z', '30 2 * * *', 'Europe/Paris', '2026-10-25T00:30'],
    ['is not the second of them', '2026-10-25T00:31Z', '30 2 * * *', 'Europe/Paris', '2026-10-26T01:30'],
    [
      'comes every hour when the clock is set back',
      '2026-10-25T00:40Z',
      '37 * * * *',
      'Europe/Paris',
      '2026-10-25T01:37',
    ],
    ['is in UTC', '2026-03-29T00:00Z', '30 2 * * *', 'UTC', '2026-03-29T02:30'],
  ])('%s', (_, now, pattern, timezone, expected) => {
    time = Date.parse(now)
    expect(next(pattern, timezone)).toEqual([`${expected}:00.000+00:00`, false])
  })

  test('of a job that is switched off is null, and the job is paused', () => {
    expect(next('0 * * * *', null)).toEqual([null, true])
  })
})

/** A scheduler whose checks the test triggers one by one. */
async function checkedByHand(t: { onTestFinished(end: () => Promise<void>): void }) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let ran = 0
  const scheduler = schedulerOf(hourly(() => Promise.resolve({ ran: ++ran })))
  t.onTestFinished(async () => {
    await scheduler.stop()
    vi.useRealTimers()
  })
  // Nothing is due at the start.
  await ranAt(new Date(time))
  await scheduler.start()
  return { ran: () => ran, check: () => vi.advanceTimersToNextTimer() }
}

test('a due time that could not be claimed is claimed by the next check', async (t) => {
  const { ran, check } = await checkedByHand(t)
  time += HOUR
  const { schema } = database.db
  await schema.alterTable('job_ticks').renameTo('job_ticks_gone').execute()
  check()
  await expect.poll(() => logged).toContain('job could not be started')
  await schema.alterTable('job_ticks_gone').renameTo('job_ticks').execute()
  expect(ran()).toBe(0)
  check()
  await expect.poll(() => ran()).toBe(1)
})

test('a replica that becomes leader runs what the former leader missed', async (t) => {
  leading = false
  const { ran, check } = await checkedByHand(t)
  // The former leader ran at 01:00 and stopped before 02:00.
  await ranAt(new Date(START + HOUR / 2))
  time = START + 2 * HOUR
  leading = true
  check()
  await expect.poll(() => ran()).toBe(1)
  const last = await database.db.selectFrom('job_ticks').select('due_at').orderBy('due_at', 'desc').executeTakeFirst()
  expect(last?.due_at).toEqual(new Date('2026-03-05T02:00:00Z'))
})

const ticks = () =>
  database.db
    .selectFrom('job_ticks')
    .select(['started_at', 'finished_at', 'error'])
    .orderBy('due_at')
    .offset(1)
    .execute()

describe('a stop', () => {
  const untilStopped = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

  test('ends a job that obeys, and the next process runs it again', async () => {
    time += HOUR
    await checkOnce(schedulerOf(hourly(untilStopped)))
    expect(await ticks()).toEqual([])
    expect([events, logged]).toEqual([[], []])
    await checkOnce(schedulerOf(hourly(succeed)))
    expect(await ticks()).toMatchObject([{ error: null }])
  })

  test('does not wait for a job that never ends, which the next process runs again', async () => {
    time += HOUR
    graceMs = 1
    await checkOnce(schedulerOf(hourly(() => new Promise(() => {}))))
    graceMs = 60_000
    expect(await ticks()).toMatchObject([{ finished_at: null }])
    time += 1000
    await checkOnce(schedulerOf(hourly(succeed)))
    expect(await ticks()).toMatchObject([{ error: 'the process that ran the job ended' }, { error: null }])
  })
})

test('a job whose process died runs again at once, and not a third time before its next hour', async () => {
  /** A process that is killed while the job runs. */
  const killed = async () => {
    time += 1000
    await database.db
      .insertInto('job_ticks')
      .values({ job: 'feed', due_at: new Date(time), started_at: new Date(time), finished_at: null, error: null })
      .execute()
  }
  let ran = 0
  const counting = () => schedulerOf(hourly(() => Promise.resolve({ ran: ++ran })))
  await killed()
  time += 1000
  // The repetition kills its process too.
  graceMs = 1
  await checkOnce(schedulerOf(hourly(() => (ran++, new Promise(() => {})))))
  graceMs = 60_000
  expect(ran).toBe(1)
  time += 1000
  await checkOnce(counting())
  expect(ran).toBe(1)
  time += HOUR
  await checkOnce(counting())
  expect(ran).toBe(2)
  expect((await ticks()).map(({ error }) => error !== null)).toEqual([true, true, false])
})
