// Feeds of two replicas over one database. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { systemClock as clock } from '../../kernel/clock.ts'
import { createAuditLog, type AuditLog } from '../../audit/log.ts'
import type { Database } from '../../store/db.ts'
import { createLiveFeed, type LiveFeed } from './live-feed.ts'
import type { LiveEvent } from './live-events.ts'
import { createTaskProgress } from './task-progress.ts'

let database: Database
let directory: string
let audit: AuditLog
const errors: unknown[] = []
const onError = (error: unknown) => void errors.push(error)
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-feed-'))
  database = await createTestDatabase()
  const { db } = database
  audit = createAuditLog({ key: 'k', db, clock, directory, checkpoint: () => {}, mayFile: () => false, onError })
})
afterAll(async () => {
  await audit.flush()
  await database.close()
  await rm(directory, { recursive: true })
  expect(errors).toEqual([])
})

const replica = () => {
  const { db } = database
  const tasks = createTaskProgress({ db, syncKind: 'sync' })
  return createLiveFeed({ db, audit, tasks, health: async () => ({ status: 'healthy' }), onError, everyMs: 20 })
}

const upload = (name: string) =>
  audit.record({ action: 'UPLOAD', result: 'SUCCESS', user: 'ann', package: name, outcome: 'published' })

function listening(feed: LiveFeed) {
  const heard = { events: [] as LiveEvent[], accounts: 0, ended: false, leave: () => {} }
  heard.leave = feed.listen({
    receive: (events) => void heard.events.push(...events),
    accountsChanged: () => {
      heard.accounts++
    },
    end: () => void (heard.ended = true),
  })
  return heard
}
const packages = (events: readonly LiveEvent[]) =>
  events.filter(({ event }) => event === 'package').map(({ id, data }) => `${id} ${String(data['package'])}`)

test('listeners of every replica hear the same events with the same ids', async () => {
  const feeds = [replica(), replica()]
  const heard = feeds.map(listening)
  const at = await Promise.all(feeds.map((feed) => feed.position()))
  for (const name of ['a', 'b', 'c']) await upload(name)
  await expect.poll(() => heard.map(({ events }) => packages(events).length)).toEqual([3, 3])
  const first = packages(heard[0]!.events)
  expect(first).toEqual(['a', 'b', 'c'].map((name, i) => `${at[0]! + 1 + i} ${name}`))
  expect(packages(heard[1]!.events)).toEqual(first)
  expect(heard[0]!.events).toContainEqual(expect.objectContaining({ event: 'health', data: { status: 'healthy' } }))

  // A client that got the first event at one replica continues at the other.
  const { events, missed } = await feeds[1]!.replay(at[0]! + 1, await feeds[1]!.position())
  expect([packages(events), missed]).toEqual([first.slice(1), 0])
  for (const feed of feeds) feed.stop()
  expect(heard.map(({ ended }) => ended)).toEqual([true, true])
})

test('a replay has the last 500 events and counts the others', async () => {
  const feed = replica()
  const before = await feed.position()
  const many = (n: number) =>
    Array.from({ length: n }, (_, i) => ({
      ...{ action: 'UPLOAD', result: 'SUCCESS' as const, user: 'ann', package: `p${i}`, outcome: 'published' },
    }))
  await audit.record(many(520))
  await audit.flush()
  const { events, missed } = await feed.replay(before, before + 520)
  expect([events.length, missed, events[0]!.data['package'], events.at(-1)!.data['package']]).toEqual([
    ...[500, 20, 'p20', 'p519'],
  ])
})

test('a feed begins at the present when somebody listens, and reads nothing while nobody does', async () => {
  const feed = replica()
  const first = listening(feed)
  await feed.position()
  await upload('heard')
  await expect.poll(() => packages(first.events)).toHaveLength(1)
  first.leave()
  await upload('unheard')
  await audit.flush()
  const second = listening(feed)
  await feed.position()
  await upload('later')
  await expect.poll(() => packages(second.events).join()).toMatch(/^\d+ later$/)
  expect(packages(first.events)).toHaveLength(1)
  feed.stop()
})

test('a change of accounts asks listeners to check their callers', async () => {
  const feed = replica()
  const heard = listening(feed)
  await feed.position()
  await audit.record({ action: 'TOKEN_REVOKE', result: 'SUCCESS', user: 'ann' })
  await expect.poll(() => heard.accounts).toBe(1)
  feed.stop()
})

test('tasks of any replica are reported when they change', async () => {
  const { db } = database
  const feed = replica()
  const heard = listening(feed)
  await feed.position()
  const of = (event: string) => heard.events.filter((one) => one.event === event).map(({ data }) => data)
  const task = { key: '4', state: 'running', created_at: new Date(), created_by: 'ann', arguments: '{}' } as const
  const { id } = await db
    .insertInto('tasks')
    .values({ ...task, kind: 'sync', cursor: '{"total":9,"done_count":2}' })
    .returning('id')
    .executeTakeFirstOrThrow()
  await expect.poll(() => of('job')).toMatchObject([{ job_id: id, kind: 'sync', status: 'running', done: 2, total: 9 }])
  await db
    .insertInto('task_lines')
    .values({
      task_id: id,
      seq: 1,
      at: new Date(),
      level: 'info',
      message: 'm',
      data: '{"status":"syncing","count":5}',
    })
    .execute()
  await db.updateTable('tasks').set({ line_count: 1 }).where('id', '=', id).execute()
  await expect.poll(() => of('sync').at(-1)).toEqual({ source_id: 4, status: 'syncing', count: 5 })
  await db.updateTable('tasks').set({ state: 'done', finished_at: new Date() }).where('id', '=', id).execute()
  await expect.poll(() => of('sync').at(-1)).toEqual({ source_id: 4, status: 'done', count: 5 })
  const reported = of('job').length
  await upload('after')
  await expect.poll(() => packages(heard.events)).toHaveLength(1)
  expect(of('job')).toHaveLength(reported)
  feed.stop()
})
