// Delivers audit entries to a channel in order and at least once. The audit chain is the outbox, so nothing committed is
// lost when a process dies. Each channel has its own position in it.
import { sql } from 'kysely'
import type { Clock } from '../../kernel/clock.ts'
import { HttpError } from '../../kernel/http-error.ts'
import type { Log } from '../../kernel/log.ts'
import { trace } from '../../kernel/trace.ts'
import type { Db } from '../../store/db.ts'
import { maySend, type AuditRow } from './events.ts'

export interface Channel {
  name: string
  /** its row of `notify_cursor` */
  id: number
  /** how long one message may take */
  limitMs: number
  /** how long to wait after the first failure, and after the second, unless the receiver asks for more */
  retryMs: readonly [number, number]
  isOn(): boolean
  /**
   * The next message to send for these entries. The log has other entries between them, which no channel sends.
   * @returns null when none of them is sent
   */
  next(entries: readonly AuditRow[]): Promise<Due | null>
}

export interface Due {
  /** the last entry the message covers */
  upTo: number
  /** @throws when delivery failed */
  send(): Promise<void>
}

export interface Outbox {
  name: string
  /**
   * Delivers due messages; one caller at a time.
   * @param goOn checked before each message: a process that lost leadership or is stopping sends nothing more
   * @returns the number of delivered messages
   */
  deliver(goOn: () => boolean): Promise<number>
}

const TRIES = 3
const BATCH = 100
/** Entries that one query looks through. */
const SPAN = 20_000
/** A receiver that asks for a longer wait is called again after this, because messages about attacks and decisions wait. */
const LONGEST_WAIT_MS = 15 * 60_000

interface DeliveryPosition {
  seq: number
  tries: number
  retry_at: Date | null
}

export function createOutbox(deps: { db: Db; clock: Clock; log: Log; channel: Channel }): Outbox {
  const { db, clock, log, channel } = deps
  /** messages of the running call of `deliver` */
  let arrived = 0
  const after = (ms: number) => new Date(clock.now().getTime() + ms)

  async function place(): Promise<DeliveryPosition> {
    const known = await db.selectFrom('notify_cursor').selectAll().where('id', '=', channel.id).executeTakeFirst()
    if (known) return known
    // Starts at the current head, so earlier entries are not sent.
    const seq = (await head()) ?? 0
    await db
      .insertInto('notify_cursor')
      .values({ id: channel.id, seq, tries: 0, retry_at: null })
      .onConflict((c) => c.doNothing())
      .execute()
    return { seq, tries: 0, retry_at: null }
  }
  const head = async () => (await db.selectFrom('audit_chain').select('seq').executeTakeFirst())?.seq ?? null

  /** @returns false when another process moved the position: two leaders at the same time send a message once */
  async function move(from: DeliveryPosition, to: DeliveryPosition): Promise<boolean> {
    const moved = await db
      .updateTable('notify_cursor')
      .set(to)
      .where('id', '=', channel.id)
      .where('seq', '=', from.seq)
      .where('tries', '=', from.tries)
      .where(sql<boolean>`retry_at is not distinct from ${from.retry_at}::timestamptz`)
      .returning('id')
      .executeTakeFirst()
    return moved !== undefined
  }

  const sendable = (after: number, upTo: number): Promise<AuditRow[]> =>
    db
      .selectFrom('audit')
      .selectAll()
      .where('seq', '>', after)
      .where('seq', '<=', upTo)
      .where(maySend)
      .orderBy('seq')
      .limit(BATCH)
      .execute()

  /** @returns the place afterwards; null when it stays, because another process moved it or the receiver fails */
  async function send(due: Due, from: DeliveryPosition): Promise<DeliveryPosition | null> {
    // Reserved before it is sent; if this process dies, the reservation expires.
    const taken: DeliveryPosition = { ...from, retry_at: after(2 * channel.limitMs) }
    if (!(await move(from, taken))) return null
    try {
      await trace('notify', { 'gatehouse.channel': channel.name }, () => due.send())
      arrived++
      return taken
    } catch (error) {
      const tries = from.tries + 1
      const asked = Math.min(LONGEST_WAIT_MS, (error instanceof HttpError && error.retryAfterMs) || 0)
      const wait = channel.retryMs[tries - 1]
      if (tries < TRIES && wait !== undefined) {
        await move(taken, { ...taken, tries, retry_at: after(Math.max(wait, asked)) })
        return null
      }
      // Given up: the entry remains in the audit log, and the next one is tried when the receiver accepts messages again.
      log.error({ err: error, channel: channel.name, audit_seq: due.upTo }, 'a notification could not be delivered')
      if (asked === 0) return taken
      await move(taken, { seq: due.upTo, tries: 0, retry_at: after(asked) })
      return null
    }
  }

  /** Sends the due messages of these entries. @returns as `send` */
  async function sendEach(
    rows: readonly AuditRow[],
    from: DeliveryPosition,
    goOn: () => boolean,
  ): Promise<DeliveryPosition | null> {
    let [entries, at] = [rows, from]
    while (entries.length > 0) {
      if (!goOn()) return null
      const due = await channel.next(entries)
      const upTo = due?.upTo ?? (entries.at(-1)?.seq as number)
      const sent = due ? await send(due, at) : at
      const next: DeliveryPosition = { seq: upTo, tries: 0, retry_at: null }
      if (sent === null || !(await move(sent, next))) return null
      at = next
      entries = entries.filter((entry) => (entry.seq as number) > upTo)
    }
    return at
  }

  return {
    name: channel.name,
    async deliver(goOn) {
      arrived = 0
      let at = await place()
      const end = (await head()) ?? at.seq
      if (!channel.isOn()) {
        // A disabled channel skips entries, so that enabling it does not send all of them.
        if (end > at.seq) await move(at, { seq: end, tries: 0, retry_at: null })
        return 0
      }
      if (at.retry_at && at.retry_at > clock.now()) return 0
      while (at.seq < end) {
        const upTo = Math.min(end, at.seq + SPAN)
        const entries = await sendable(at.seq, upTo)
        const sent = await sendEach(entries, at, goOn)
        if (sent === null) break
        at = sent
        if (entries.length === BATCH || at.seq === upTo) continue
        const next: DeliveryPosition = { seq: upTo, tries: 0, retry_at: null }
        if (!(await move(at, next))) break
        at = next
      }
      return arrived
    },
  }
}
