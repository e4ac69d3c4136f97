// Events for the streams of this process. The audit chain is the source, so every replica sends the same events with the
// same ids, and a client can continue at another replica. Nothing is read while nobody listens.
import type { BusEvents } from '../../kernel/bus.ts'
import { createShared } from '../../kernel/shared.ts'
import type { Db } from '../../store/db.ts'
import { LIVE_ACTIONS, liveEventsOf, type ChainedEntry, type LiveEvent } from './live-events.ts'
import type { TaskProgress } from './task-progress.ts'
import { readTotals } from './totals.ts'

export interface LiveListener {
  receive(events: readonly LiveEvent[]): void
  /** Accounts or tokens changed: the rights of the listener must be checked again. */
  accountsChanged(): void
  /** The service stops. */
  end(): void
}

export interface LiveFeed {
  /** @returns a function that stops listening */
  listen(listener: LiveListener): () => void
  /** The last entry whose events were sent, or are being sent, to listeners. */
  position(): Promise<number>
  /**
   * The last events after an entry, up to and including those of another one.
   * @returns `missed`: how many earlier entries are left out
   */
  replay(after: number, upTo: number): Promise<{ events: LiveEvent[]; missed: number }>
  /** Looks for new events soon. */
  wake(): void
  /** Ends all streams; later listeners end immediately. */
  stop(): void
}

export interface LiveFeedDeps {
  db: Db
  /** chains entries, so that they have their position */
  audit: { flush(): Promise<void> }
  tasks: TaskProgress
  health(): Promise<{ status: string }>
  onError(error: unknown): void
  /** interval between checks for events of other replicas, in ms; `wake` is faster */
  everyMs?: number
}

/** Most entries that a client receives again when it connects again. */
const REPLAYED = 500
/** Entries read at a time. */
const BATCH = 500
/** `missed` counts no further. */
const MOST_MISSED = 10_000
/** Health is checked once in this many checks. */
const HEALTH_EVERY = 15

/** Entries after which callers may have lost their rights. */
const OF_ACCOUNTS = /^(USER_|TOKEN_|PASSWORD_|LOGOUT|MFA_)/

/** Bus events that announce entries. */
export const LIVE_SIGNALS = ['package', 'decision'] as const satisfies (keyof BusEvents)[]

export function createLiveFeed({ db, audit, tasks, health, onError, everyMs = 2_000 }: LiveFeedDeps): LiveFeed {
  const listeners = new Set<LiveListener>()
  let timer: NodeJS.Timeout | null = null
  let at: number | null = null
  let looks = 0
  let stopped = false
  let last = { pending: -1, health: '' }

  /** Sets the start of a feed that had no listener so far. */
  const begin = createShared(async () => {
    if (at !== null) return
    await audit.flush()
    const head = await db.selectFrom('audit_chain').select('seq').executeTakeFirst()
    await tasks.begin()
    last = { pending: (await readTotals(db)).pendingReview, health: '' }
    at = head?.seq ?? 0
  })

  async function sendEntries(): Promise<void> {
    await audit.flush()
    for (;;) {
      const rows = await db.selectFrom('audit').selectAll().where('seq', '>', at).orderBy('seq').limit(BATCH).execute()
      const entries = rows as ChainedEntry[]
      if (entries.some(({ action }) => OF_ACCOUNTS.test(action))) for (const one of listeners) one.accountsChanged()
      at = entries.at(-1)?.seq ?? at
      send(entries.flatMap(liveEventsOf))
      if (entries.length < BATCH) return
    }
  }

  async function states(): Promise<LiveEvent[]> {
    const events = await tasks.changes()
    const { pendingReview: pending } = await readTotals(db)
    if (pending !== last.pending) events.push({ event: 'review_queue', data: { pending }, id: null, access: 'reader+' })
    last.pending = pending
    if (looks++ % HEALTH_EVERY === 0) {
      const { status } = await health()
      if (status !== last.health) events.push({ event: 'health', data: { status }, id: null, access: 'reader+' })
      last.health = status
    }
    return events
  }

  function send(events: readonly LiveEvent[]): void {
    if (events.length > 0) for (const one of listeners) one.receive(events)
  }

  const look = createShared(async () => {
    if (listeners.size === 0 || stopped) return
    await begin()
    await sendEntries()
    send(await states())
  })

  function wake(): void {
    if (listeners.size === 0) return
    look().catch((error: unknown) => {
      // The database is closed after `stop`, without waiting for a running check.
      if (!stopped) onError(error)
    })
  }

  return {
    listen(listener) {
      listeners.add(listener)
      if (stopped) listener.end()
      timer ??= setInterval(wake, everyMs).unref()
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0 || timer === null) return
        clearInterval(timer)
        timer = null
        at = null
        looks = 0
      }
    },
    async position() {
      await begin()
      return at ?? 0
    },
    async replay(after, upTo) {
      const wanted = db
        .selectFrom('audit')
        .where('seq', '>', after)
        .where('seq', '<=', upTo)
        .where('action', 'in', [...LIVE_ACTIONS])
      const rows = (await wanted.selectAll().orderBy('seq', 'desc').limit(REPLAYED).execute()).reverse()
      const oldest = rows.length < REPLAYED ? null : rows[0]?.seq
      const earlier =
        oldest == null ? [] : await wanted.select('seq').where('seq', '<', oldest).limit(MOST_MISSED).execute()
      return { events: (rows as ChainedEntry[]).flatMap(liveEventsOf), missed: earlier.length }
    },
    wake,
    stop() {
      stopped = true
      if (timer) clearInterval(timer)
      for (const one of [...listeners]) one.end()
    },
  }
}
