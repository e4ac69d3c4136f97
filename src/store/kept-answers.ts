// The answers to requests with an `Idempotency-Key`, kept for a day, so that the same request is carried out once by all replicas.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { DAY_MS } from '../domain/durations.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/crypto.ts'
import type { Db } from './db.ts'

const TOUCH_MS = 20_000
/** A run that was not touched for this long has ended without a word: its process died, or lost the database. */
const ABANDONED_MS = 60_000
/** Of one caller; the oldest are forgotten first. */
const MOST_KEPT = 10_000
/** In place of the digest: earlier builds take it for that of another request, so they do not carry the same one out again. */
const IN_ANSWER = 'in answer'

export interface KeptAnswer {
  status: number
  headers: Record<string, string>
  body: unknown
}

/** The run of a request. One of its functions must be called. */
export interface Running {
  /** @param request digest of the request */
  keep(request: string, answer: KeptAnswer): Promise<void>
  /** The request changed nothing, so it may be sent again. */
  forget(): Promise<void>
}

export type Begun =
  { state: 'new'; run: Running } | { state: 'running' } | { state: 'answered'; request: string; answer: KeptAnswer }

export interface KeptAnswers {
  /** @param id digest of who asks and of the key */
  begin(id: string, principal: string): Promise<Begun>
  /** Deletes the answers of earlier days, and of callers with very many the oldest ones. */
  clean(): Promise<void>
}

/** @param deps.isDead whether the process of an instance is known to be dead; its runs are then over immediately */
export function createKeptAnswers(deps: {
  db: Db
  clock: Clock
  secretBox: SecretBox
  instanceId: string
  isDead(instanceId: string): Promise<boolean>
}): KeptAnswers {
  const { db, clock, secretBox, instanceId } = deps
  const ago = (ms: number) => new Date(clock.now().getTime() - ms)

  /** @returns whether the row is now that of this run */
  async function claim(id: string, principal: string, holder: string): Promise<boolean> {
    const row = { holder, touched_at: clock.now(), request: null, answer: null }
    const claimed = await db
      .insertInto('kept_answers')
      .values({ id, principal, ...row })
      .onConflict((c) =>
        c
          .column('id')
          .doUpdateSet(row)
          .where(
            sql<boolean>`kept_answers.touched_at < case when kept_answers.answer is null
              then ${ago(ABANDONED_MS)}::timestamptz else ${ago(DAY_MS)}::timestamptz end`,
          ),
      )
      .returning('id')
      .executeTakeFirst()
    return claimed !== undefined
  }

  function runOf(id: string, holder: string): Running {
    const own = () => db.updateTable('kept_answers').where('id', '=', id).where('holder', '=', holder)
    const touch = () => own().set({ touched_at: clock.now() }).execute()
    // A failure needs no word: the run counts as abandoned when several fail.
    const timer = setInterval(() => void touch().catch(() => {}), TOUCH_MS).unref()
    return {
      async keep(request, answer) {
        clearInterval(timer)
        // The digest too: a body may hold a password, which whoever reads the database could guess by it.
        const sealed = secretBox.seal(JSON.stringify({ ...answer, request }))
        await own().set({ request: IN_ANSWER, answer: sealed, touched_at: clock.now() }).execute()
      },
      async forget() {
        clearInterval(timer)
        await db.deleteFrom('kept_answers').where('id', '=', id).where('holder', '=', holder).execute()
      },
    }
  }

  /** @returns null when the row is of no use: its answer was sealed with another key, or its process has died */
  async function found(id: string): Promise<Exclude<Begun, { state: 'new' }> | null> {
    const row = await db.selectFrom('kept_answers').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) return null
    if (row.request !== null && row.answer !== null) {
      const kept = opened(row.answer)
      // An earlier build stored the digest beside the answer.
      if (kept) return { state: 'answered', request: kept.request ?? row.request, answer: kept.answer }
    } else if (!(await deps.isDead(row.holder.split('/')[0]!))) return { state: 'running' }
    await db.deleteFrom('kept_answers').where('id', '=', id).where('holder', '=', row.holder).execute()
    return null
  }

  function opened(sealed: string): { request: string | undefined; answer: KeptAnswer } | null {
    try {
      const { request, ...answer } = JSON.parse(secretBox.open(sealed)) as KeptAnswer & { request?: string }
      return { request, answer }
    } catch {
      return null
    }
  }

  return {
    async begin(id, principal) {
      const holder = `${instanceId}/${randomUUID()}`
      for (;;) {
        if (await claim(id, principal, holder)) return { state: 'new', run: runOf(id, holder) }
        const begun = await found(id)
        if (begun) return begun
      }
    },
    async clean() {
      await db.deleteFrom('kept_answers').where('touched_at', '<', ago(DAY_MS)).execute()
      await sql`delete from kept_answers where id in (select id from (select id, row_number() over
        (partition by principal order by touched_at desc) as place from kept_answers where answer is not null) as placed
        where place > ${MOST_KEPT})`.execute(db)
    },
  }
}
