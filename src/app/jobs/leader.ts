// Leader election: a lease in the database that one process holds and renews.
import { clockFault, type DatabaseClock } from '../../store/database-clock.ts'
import type { Db } from '../../store/db.ts'

/** Another process leads at most LEASE_MS + RENEW_MS after the leader froze or its machine was lost. */
export const LEASE_MS = 10_000
export const RENEW_MS = 3_000

export interface Leader {
  isLeader(): boolean
  /** Whether this process leads. Renews its own lease that ran out while the process stalled, unless another one took it. */
  leads(): Promise<boolean>
  /** Whether this or another process leads. */
  exists(): Promise<boolean>
  /**
   * Takes or renews the lease. If the database fails, leadership ends when the lease runs out. A process whose machine has a
   * wrong clock gives up the lease and does not take one.
   */
  tick(): Promise<void>
  resign(): Promise<void>
}

/**
 * @param deps.isDead whether the process of an instance is known to be dead; its lease is then taken immediately
 * @param deps.onFault is called once when the clock of the machine becomes wrong
 */
export function createLeader(deps: {
  db: Db
  clock: DatabaseClock
  instanceId: string
  isDead(instanceId: string): Promise<boolean>
  onFault(fault: string): void
}): Leader {
  const { db, clock, instanceId } = deps
  let until = 0
  let isClockRight = true

  /** @returns whether the clock of this machine is right enough to lead */
  async function compareClocks(): Promise<boolean> {
    await clock.measure()
    const fault = clockFault(clock)
    if (fault !== null && isClockRight) deps.onFault(fault)
    isClockRight = fault === null
    return isClockRight
  }

  async function take(): Promise<boolean> {
    const now = clock.now().getTime()
    const lease = { name: 'leader', holder: instanceId, expires_at: new Date(now + LEASE_MS) }
    const held = await db
      .insertInto('leases')
      .values(lease)
      .onConflict((c) =>
        c
          .column('name')
          .doUpdateSet(lease)
          .where((eb) => eb.or([eb('leases.holder', '=', instanceId), eb('leases.expires_at', '<', new Date(now))])),
      )
      .returning('holder')
      .executeTakeFirst()
    until = held ? now + LEASE_MS : 0
    return held !== undefined
  }

  /** @returns whether this process still held the lease */
  async function renew(): Promise<boolean> {
    const now = clock.now().getTime()
    const own = await db
      .updateTable('leases')
      .set({ expires_at: new Date(now + LEASE_MS) })
      .where('name', '=', 'leader')
      .where('holder', '=', instanceId)
      .returning('holder')
      .executeTakeFirst()
    until = own ? now + LEASE_MS : 0
    return own !== undefined
  }

  async function resign(): Promise<void> {
    until = 0
    await db.deleteFrom('leases').where('name', '=', 'leader').where('holder', '=', instanceId).execute()
  }

  // After a sleep of the machine, this clock continues from the time before it: it is wrong until the next measurement.
  const isLeader = () => clock.now().getTime() < until && clockFault(clock) === null
  const leads = async () => isLeader() || (until > 0 && renew())
  return {
    isLeader,
    leads,
    async exists() {
      if (await leads()) return true
      const held = db.selectFrom('leases').select('holder').where('name', '=', 'leader')
      return (await held.where('expires_at', '>', clock.now()).executeTakeFirst()) !== undefined
    },
    async tick() {
      if (!(await compareClocks())) {
        if (until > 0) await resign()
        return
      }
      if (await take()) return
      const other = await db.selectFrom('leases').select('holder').where('name', '=', 'leader').executeTakeFirst()
      if (!other || !(await deps.isDead(other.holder))) return
      await db.deleteFrom('leases').where('name', '=', 'leader').where('holder', '=', other.holder).execute()
      await take()
    },
    resign,
  }
}
