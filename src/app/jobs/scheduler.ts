// Runs jobs at their scheduled times, including missed ones. Each due time runs on one replica.
import { Cron } from 'croner'
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import { isProblem, Problem } from '../../domain/problem.ts'
import { isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { failureOf } from '../../kernel/failure.ts'
import { HttpError } from '../../kernel/http-error.ts'
import { atMost } from '../../kernel/in-time.ts'
import type { Log } from '../../kernel/log.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'

export interface Job {
  id: string
  name: string
  /** five fields as in crontab(5), and a time zone; null when the job is switched off */
  schedule(settings: Settings): { pattern: string; timezone: string } | null
  /**
   * @param signal aborts when the service stops; a job that throws its reason runs again in the next process
   * @returns fields for the log; a `status` of `failed` with a `message` counts as a failure, like a thrown error
   */
  run(signal: AbortSignal): Promise<Record<string, unknown>>
}

/** One job in the health report (docs/api-decisions.md, section 17). */
export interface JobState {
  id: string
  name: string
  next_run: string | null
  paused: boolean
}

export interface Scheduler {
  state(): JobState[]
  /** Resolves when the jobs that are due are started. */
  start(): Promise<void>
  /** Starts no further job and tells the running ones to end. Waits some seconds for those that do not. */
  stop(): Promise<void>
}

const CHECK_MS = 20_000
const KEPT_DAYS = 90
/** How long a stopping service waits for jobs. */
const GRACE_MS = 8_000
/** The end of a run that was told to stop. */
const STOPPED = Symbol('stopped')
/** The error of a run whose process died. */
const INTERRUPTED = 'the process that ran the job ended'

/** @param deps.audit records only the first failure after a success, so that a feed that is down all day makes one entry */
export function createScheduler(deps: {
  db: Db
  clock: Clock
  log: Log
  audit: Pick<AuditLog, 'record'>
  jobs: readonly Job[]
  settings(): Settings
  isLeader(): boolean
  /** how long `stop` waits for jobs; for tests */
  graceMs?: number
}): Scheduler {
  const { db, clock, log, jobs } = deps
  /** per job, the time after which the next due time is searched */
  const since = new Map<string, Date>()
  const running = new Map<string, Promise<void>>()
  const failing = new Set<string>()
  let stopping = new AbortController()
  let wasLeader = false
  let timer: NodeJS.Timeout | null = null
  let checking: Promise<void> = Promise.resolve()

  /** Settings are read each time, so that a change takes effect immediately. */
  function nextOf(job: Job): Date | null {
    const planned = job.schedule(deps.settings())
    return planned
      ? new Cron(planned.pattern, { timezone: planned.timezone }).nextRun(since.get(job.id) ?? clock.now())
      : null
  }

  async function check(): Promise<void> {
    if (!deps.isLeader()) {
      wasLeader = false
      return
    }
    // Another replica may have led until now: its runs show what was missed.
    if (!wasLeader) {
      await readLastRuns()
      await repeatInterrupted()
    }
    wasLeader = true
    for (const job of jobs)
      await startIfDue(job).catch((error: unknown) =>
        log.error({ err: error, job: job.id }, 'job could not be started'),
      )
  }

  async function startIfDue(job: Job): Promise<void> {
    if (running.has(job.id)) return
    const now = clock.now()
    const due = nextOf(job)
    if (due === null || due > now) return
    // When the claim fails, `since` stays, and the next check tries the same due time again.
    const claimed = await claim(job, due)
    // One run replaces several missed ones.
    since.set(job.id, now)
    if (claimed) start(job, due)
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
      .catch((error: unknown) => log.error({ err: error, job: job.id }, 'the end of a job could not be recorded'))
      .finally(() => running.delete(job.id))
    running.set(job.id, run)
  }

  async function work(job: Job, due: Date): Promise<void> {
    const error = await run(job)
    if (error === STOPPED) return giveBack(job, due)
    await db
      .updateTable('job_ticks')
      .set({ finished_at: clock.now(), error })
      .where('job', '=', job.id)
      .where('due_at', '=', due)
      .execute()
    await db
      .deleteFrom('job_ticks')
      .where('due_at', '<', new Date(clock.now().getTime() - KEPT_DAYS * DAY_MS))
      .execute()
  }

  /** The next process finds this due time without a run, and catches up. */
  async function giveBack(job: Job, due: Date): Promise<void> {
    log.info({ job: job.id }, 'job stopped; the next process runs it again')
    await db.deleteFrom('job_ticks').where('job', '=', job.id).where('due_at', '=', due).execute()
  }

  /**
   * Runs jobs again whose last run ended with its process, or was left by a process that no longer leads. Each only once: a
   * job whose last two runs both ended with their process waits for its next time.
   */
  async function repeatInterrupted(): Promise<void> {
    for (const job of jobs) {
      const [last, before] = await db
        .selectFrom('job_ticks')
        .select(['due_at', 'finished_at', 'error'])
        .where('job', '=', job.id)
        .orderBy('due_at', 'desc')
        .limit(2)
        .execute()
      if (!last || last.finished_at || running.has(job.id)) continue
      const now = clock.now()
      await db
        .updateTable('job_ticks')
        .set({ finished_at: now, error: INTERRUPTED })
        .where('job', '=', job.id)
        .where('due_at', '=', last.due_at)
        .execute()
      if (before?.error === INTERRUPTED || job.schedule(deps.settings()) === null) continue
      log.warn({ job: job.id }, `${INTERRUPTED}; it runs again`)
      since.set(job.id, now)
      if (await claim(job, now)) start(job, now)
    }
  }

  /** @returns the error's message; null when the job succeeded, or its work was already being done */
  async function run(job: Job): Promise<string | null | typeof STOPPED> {
    const { signal } = stopping
    try {
      signal.throwIfAborted()
      const result = await job.run(signal)
      if (result['status'] === 'failed') throw new Problem('upstream_error', String(result['message']))
      log.info({ job: job.id, ...result }, 'job done')
      failing.delete(job.id)
      return null
    } catch (cause) {
      if (signal.aborted && cause === signal.reason) return STOPPED
      // A person or another replica does the same work, or its task continues after the restart: nothing is missed.
      if (isProblem(cause, 'already_running') || isProblem(cause, 'shutting_down')) {
        log.info({ job: job.id, reason: cause.detail }, 'job skipped: its work is done elsewhere')
        return null
      }
      log.error({ err: cause, job: job.id }, 'job failed')
      if (!failing.has(job.id))
        await deps.audit.record({
          action: 'SCHEDULER_JOB_FAILED',
          result: 'FAILURE',
          user: 'scheduler',
          outcome: 'failed',
          detail: `${job.name}: ${reasonOf(cause)}`,
          extra: { job: job.id },
        })
      failing.add(job.id)
      return (cause as Error).message
    }
  }

  async function readLastRuns(): Promise<void> {
    const rows = await db
      .selectFrom('job_ticks')
      .select(['job', (eb) => eb.fn.max('started_at').as('last')])
      .groupBy('job')
      .execute()
    const last = new Map(rows.map((row) => [row.job, row.last]))
    // A job that never ran waits for its next time: a new service does not start with all jobs at the same time.
    for (const job of jobs) since.set(job.id, last.get(job.id) ?? since.get(job.id) ?? clock.now())
  }

  return {
    state: () =>
      jobs.map((job) => {
        const next = nextOf(job)
        return { id: job.id, name: job.name, next_run: isoTimeOrNull(next), paused: next === null }
      }),
    async start() {
      stopping = new AbortController()
      await readLastRuns()
      const tick = () => {
        checking = check().catch((error: unknown) => log.error({ err: error }, 'the schedule could not be read'))
      }
      tick()
      await checking
      timer = setInterval(tick, CHECK_MS).unref()
    },
    async stop() {
      if (timer) clearInterval(timer)
      stopping.abort()
      await checking
      await atMost(deps.graceMs ?? GRACE_MS, Promise.all(running.values()))
      for (const job of running.keys()) log.warn({ job }, 'a job did not end in time; the next process runs it again')
    },
  }
}

/** The failure as the audit log shows it. The message of an unexpected error is only in the service's log. */
function reasonOf(cause: unknown): string {
  return cause instanceof HttpError ? cause.message : failureOf(cause).detail
}
