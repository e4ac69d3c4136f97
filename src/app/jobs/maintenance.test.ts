// A recovery that takes longer than a lease, with a clock and timers that the test moves.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createLog } from '../../kernel/log.ts'
import type { Publisher } from '../../publish/publisher.ts'
import { asDatabaseClock } from '../../store/database-clock.ts'
import type { Database } from '../../store/db.ts'
import { createLeader, LEASE_MS, RENEW_MS } from './leader.ts'
import { createMaintenance } from './maintenance.ts'

let database: Database
let ms = Date.parse('2026-03-01T12:00:00Z')
const clock = asDatabaseClock({ now: () => new Date(ms) })

beforeAll(async () => void (database = await createTestDatabase()))
afterAll(async () => database.close())
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const process = (instanceId: string) =>
  createLeader({ db: database.db, clock, instanceId, isDead: () => Promise.resolve(false), onFault: () => {} })

/** Maintenance whose recovery begins when `recovering` resolves, and ends when the test calls `recovered`. */
function slowlyRecovering(publisher: Partial<Publisher> = {}) {
  const own = process('first')
  let ticked: Promise<void> = Promise.resolve()
  const leader = { ...own, tick: () => (ticked = own.tick()) }
  let recovered!: () => void
  let begin!: () => void
  const recovering = new Promise<void>((resolve) => (begin = resolve))
  const held = new Promise<void>((resolve) => (recovered = resolve))
  const nothing = () => Promise.resolve()
  let heartbeats = 0
  const heartbeat = async () => {
    heartbeats++
  }
  const maintenance = createMaintenance({
    ...{ db: database.db, clock, leader, log: createLog('silent'), active: [], outboxes: [], backgroundIndexes: [] },
    staging: { sweep: nothing, heartbeat, close: nothing } as never,
    manifests: { catchUp: nothing } as never,
    publisher: {
      recover: () => (begin(), held.then(() => [])),
      collect: nothing,
      settled: nothing,
      saveBlocks: nothing,
      ...publisher,
    } as never,
    pendingDeletions: { run: nothing } as never,
    ...{ paths: {} as never, history: {} as never, installability: {} as never, downloadReader: {} as never },
    ...{
      activity: {} as never,
      growth: {} as never,
      tasks: {} as never,
      keptAnswers: {} as never,
      componentScan: {} as never,
      rematch: {} as never,
      factsWriter: { writeDue: nothing },
    },
    audit: { flush: nothing } as never,
    checkpoints: { write: nothing } as never,
  })
  return { maintenance, leader, recovering, recovered, ticked: () => ticked, heartbeats: () => heartbeats }
}

async function leaseEndsAt(): Promise<number> {
  const lease = await database.db.selectFrom('leases').select('expires_at').executeTakeFirstOrThrow()
  return lease.expires_at.getTime()
}

test('a recovery that takes longer than a lease keeps it, and the process counts as alive meanwhile', async () => {
  const { maintenance, leader, recovering, recovered, ticked, heartbeats } = slowlyRecovering()
  const second = process('second')
  const started = maintenance.start()
  await recovering
  for (let passed = 0; passed < 2 * LEASE_MS; passed += RENEW_MS) {
    ms += RENEW_MS
    vi.advanceTimersByTime(RENEW_MS)
    await ticked()
    expect(await leaseEndsAt()).toBe(ms + LEASE_MS)
    await second.tick()
  }
  expect([leader.isLeader(), second.isLeader()]).toEqual([true, false])
  expect(heartbeats()).toBeGreaterThan(1)
  recovered()
  await started
  await maintenance.stop()
})

test('a stop waits for the clean-up after a publish before it saves and gives up the lease', async () => {
  const done: string[] = []
  const { maintenance, leader, recovered } = slowlyRecovering({
    async settled() {
      await leaseEndsAt()
      done.push(leader.isLeader() ? 'cleaned by the leader' : 'cleaned too late')
    },
    async saveBlocks() {
      done.push('saved')
    },
  })
  recovered()
  await maintenance.start()
  await maintenance.stop()
  expect(done).toEqual(['cleaned by the leader', 'saved'])
})
