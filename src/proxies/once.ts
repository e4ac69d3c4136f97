// Work that is done once for all who wait for it, in this process and in all others.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'

/** A holder that does not renew its row for this long has died or is frozen: another one is done before clients of npm give up. */
const HELD_MS = 15_000
const RENEW_MS = 4_000
/** How often another replica looks whether the work has ended. */
const LOOK_MS = 200

export interface Once {
  /**
   * Runs the work, or waits for whoever runs it. It goes on when nobody waits any more.
   * @param isDone asked while another replica does it: whether nothing is left to do
   * @param work sees itself whether there is nothing to do: another replica may have ended just before
   */
  run(key: string, isDone: () => Promise<boolean>, work: () => Promise<void>): Promise<void>
}

export function createOnce({ db, clock, wait }: { db: Db; clock: Clock; wait(ms: number): Promise<void> }): Once {
  const holder = randomUUID()
  const running = new Map<string, Promise<void>>()

  async function take(key: string): Promise<boolean> {
    const now = clock.now()
    const until = new Date(now.getTime() + HELD_MS)
    const { rows } = await sql`insert into upstream_fetches (key, holder, until) values (${key}, ${holder}, ${until})
      on conflict (key) do update set holder = ${holder}, until = ${until} where upstream_fetches.until < ${now}
      returning 1`.execute(db)
    return rows.length > 0
  }

  async function holding(key: string, work: () => Promise<void>): Promise<void> {
    const renewing = setInterval(() => {
      const until = new Date(clock.now().getTime() + HELD_MS)
      const renewed = db
        .updateTable('upstream_fetches')
        .set({ until })
        .where('key', '=', key)
        .where('holder', '=', holder)
      // The next one follows soon.
      renewed.execute().catch(() => {})
    }, RENEW_MS).unref()
    try {
      await work()
    } finally {
      clearInterval(renewing)
      await db.deleteFrom('upstream_fetches').where('key', '=', key).where('holder', '=', holder).execute()
    }
  }

  async function alone(key: string, isDone: () => Promise<boolean>, work: () => Promise<void>): Promise<void> {
    while (!(await take(key))) {
      await wait(LOOK_MS)
      if (await isDone()) return
    }
    await holding(key, work)
  }

  return {
    run(key, isDone, work) {
      const known = running.get(key)
      if (known) return known
      const mine = alone(key, isDone, work).finally(() => running.delete(key))
      running.set(key, mine)
      return mine
    },
  }
}
