// Runs jobs at their times, each due moment once among all replicas, also one that was missed. Knows no job.
import { Cron } from 'croner'
import type { Settings } from '../domain/settings.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import { isoTimeOrNull, type Clock } from '../kernel/clock.ts'
import { HttpError } from '../kernel/http-client.ts'
import type { Log } from '../kernel/log.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'

export interface Job {
  id: string
  name: string
  /** five fields of crontab(5) and a time zone; null: switched off */
  schedule(settings: Settings): { pattern: string; timezone: string } | null
  /** @returns what is worth a line of the log; the status `failed`, with a message, is a failure like one thrown */
  run(): Promise<Record<string, unknown> | void>
}

/** As the health report lists it (decisions, section 17). */
export interface JobState {
  id: string
  name: string
  next_run: string | null
  paused: boolean
}

export interface Scheduler {
  state(): JobState[]
  start(): Promise<void>
  /** Lets running jobs come to their end. */
  stop(): Promise<void>
}

const LOOK_MS = 20_000
const KEPT_DAYS = 90

/** @param audit notes a job that fails after it did not: a feed that is down for a day is one piece of news, not 24 */
export function createScheduler(parts: {
  db: Db
  clock: Clock
  log: Log
  audit: Pick<AuditLog, 'record'>
  jobs: readonly Job[]
  settings(): Settings
  isLeader(): boolean
}): Scheduler {
  const { db, clock, log, jobs } = parts
  const since = new Map<string, Date>()
  const running = new Map<string, Promise<void>>()
  const failing = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let looking: Promise<void> = Promise.resolve()

  /** Settings are read each time, so that a change re-plans at once. */
  function nextOf(job: Job): Date | null {
    const planned = job.schedule(parts.settings())
    return planned
      ? new Cron(planned.pattern, { timezone: planned.timezone }).nextRun(since.get(job.id) ?? clock.now())
      : null
  }

  async function look(): Promise<void> {
    if (!parts.isLeader()) return
    for (const job of jobs) {
      if (running.has(job.id)) continue
      const due = nextOf(job)
      if (due === null || due > clock.now()) continue
      // Of several missed moments one run is enough.
      since.set(job.id, clock.now())
      if (await claim(job, due)) start(job, due)
    }
  }

  async function claim(job: Job, due: Date): Promise<boolean> {
    const claimed = await db
      .insertInto('job_ticks')
      .values({ job: job.id, due_at: due, started_at: clock.now(), finished_at: null, error: null })
      .onConflict((c) => c.doNothing())
      .returning('job')
      .executeTakeFirst()
    return claimed !== undefined
  }

  function start(job: Job, due: Date): void {
    const run = work(job, due)
      .catch((error: unknown) => log.error({ err: error, job: job.id }, 'a tick could not be noted'))
      .finally(() => running.delete(job.id))
    running.set(job.id, run)
  }

  async function work(job: Job, due: Date): Promise<void> {
    let error: string | null = null
    try {
      const said = await job.run()
      if (said?.['status'] === 'failed') throw new Problem('upstream_error', String(said['message']))
      log.info({ job: job.id, ...said }, 'job done')
      failing.delete(job.id)
    } catch (cause) {
      error = (cause as Error).message
      log.error({ err: cause, job: job.id }, 'job failed')
      if (!failing.has(job.id))
        await parts.audit.record({
          action: 'SCHEDULER_JOB_FAILED',
          result: 'FAILURE',
          user: 'scheduler',
          outcome: 'failed',
          detail: `${job.name}: ${reasonOf(cause)}`,
          extra: { job: job.id },
        })
      failing.add(job.id)
    }
    await db
      .updateTable('job_ticks')
      .set({ finished_at: clock.now(), error })
      .where('job', '=', job.id)
      .where('due_at', '=', due)
      .execute()
    await db
      .deleteFrom('job_ticks')
      .where('due_at', '<', new Date(clock.now().getTime() - KEPT_DAYS * 86_400_000))
      .execute()
  }

  return {
    state: () =>
      jobs.map((job) => {
        const next = nextOf(job)
        return { id: job.id, name: job.name, next_run: isoTimeOrNull(next), paused: next === null }
      }),
    async start() {
      const rows = await db
        .selectFrom('job_ticks')
        .select(['job', (eb) => eb.fn.max('started_at').as('last')])
        .groupBy('job')
        .execute()
      const last = new Map(rows.map((row) => [row.job, row.last]))
      // A job that never ran waits for its time: a new service does not begin with everything at once.
      for (const job of jobs) since.set(job.id, last.get(job.id) ?? clock.now())
      const tick = () => {
        looking = look().catch((error: unknown) => log.error({ err: error }, 'the schedule could not be read'))
      }
      tick()
      timer = setInterval(tick, LOOK_MS).unref()
    },
    async stop() {
      if (timer) clearInterval(timer)
      await looking
      await Promise.all(running.values())
    },
  }
}

/** What may be told to people outside: of a failure nobody expected, only that there was one. */
function reasonOf(cause: unknown): string {
  if (isProblem(cause)) return cause.detail
  return cause instanceof HttpError ? cause.message : 'an unexpected error; the log has it'
}
