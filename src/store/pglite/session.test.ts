import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { startThread, unpackSeed } from './open.ts'
import type { CopyLease } from '../lease.ts'
import { createSession, DatabaseStopped, type Session, type SessionOptions } from './session.ts'

let directory: string
let threads: Worker[]
let session: Session
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-session-'))
  threads = []
})
afterEach(async () => {
  await session.close().catch(() => {})
  await rm(directory, { recursive: true })
})

async function open(options: Partial<SessionOptions> = {}): Promise<void> {
  await unpackSeed(directory)
  const start = () => {
    const thread = startThread(directory)
    threads.push(thread)
    return thread
  }
  session = await createSession({ start, durable: true, ...options })
}

async function borrow<T>(work: (lease: CopyLease) => Promise<T>): Promise<T> {
  const lease = await session.acquire()
  try {
    return await work(lease)
  } finally {
    lease.release()
  }
}
const query = (sql: string, ...parameters: unknown[]) => borrow((lease) => lease.query(sql, parameters))
const LONG = 'select count(*) from generate_series(1, 1000000000)'

test('values come back with their types, and a large result in several pages', async () => {
  await open()
  const slab = Buffer.from('0123456789')
  const { rows } = await query(
    `select 1 as n, 'é' as t, true as b, null as none, '{"a":[1]}'::jsonb as j, timestamptz '2026-01-01 00:00Z' as at, $1::bytea as bytes, array['x', 'y'] as list`,
    slab.subarray(2, 5),
  )
  expect(rows).toEqual([
    {
      n: 1,
      t: 'é',
      b: true,
      none: null,
      j: { a: [1] },
      at: new Date('2026-01-01T00:00:00Z'),
      bytes: new Uint8Array(Buffer.from('234')),
      list: ['x', 'y'],
    },
  ])
  expect(slab.toString()).toBe('0123456789')
  const large = await query(`select i, repeat('x', 1000) as text from generate_series(1, 3000) i`)
  expect(large.rows.map(({ i }) => i)).toEqual(Array.from({ length: 3000 }, (_, i) => i + 1))
  expect((await query('create table t (i int)')).rows).toEqual([])
  expect((await query('insert into t select generate_series(1, 7)')).affectedRows).toBe(7)
  await expect(query('select nothing')).rejects.toMatchObject({ code: '42703' })
  expect((await query('select count(*) as n from t')).rows).toEqual([{ n: 7 }])
})

test('COPY reads and writes text of any bytes, and its failures are errors', async () => {
  await open()
  await query('create table t (i int, b bytea, s text)')
  const text = Buffer.from('1\t\\\\x00ff\ta\\tb\n2\t\\N\té\n')
  await borrow((lease) => lease.copyIn('t (i, b, s)', text))
  expect((await query('select * from t order by i')).rows).toEqual([
    { i: 1, b: new Uint8Array([0, 255]), s: 'a\tb' },
    { i: 2, b: null, s: 'é' },
  ])
  expect(Buffer.from(await borrow((lease) => lease.copyOut('(select * from t order by i)')))).toEqual(text)
  await expect(borrow((lease) => lease.copyIn('t (i, b, s)', Buffer.from('x\t\n')))).rejects.toMatchObject({
    code: '22P02',
  })
  expect(await borrow((lease) => lease.copyOut('(select * from t where i > 2)'))).toHaveLength(0)
})

// The short statement takes seconds on a busy machine, and must not be stopped.
test('a long statement leaves the event loop free, and one over the limit is stopped', async () => {
  await open({ limitMs: 10_000 })
  const order: string[] = []
  const running = query(LONG).catch((error: unknown) => {
    order.push('stopped')
    return error
  })
  setTimeout(() => order.push('timer'), 10)
  expect(await running).toBeInstanceOf(DatabaseStopped)
  expect(order).toEqual(['timer', 'stopped'])
  expect((await query('select 1 as n')).rows).toEqual([{ n: 1 }])
})

test('a crash loses nothing that was committed; an open transaction fails and does not go on in the next thread', async () => {
  await open()
  await query('create table t (i int)')
  for (let i = 0; i < 20; i++) await query('insert into t values ($1)', i)
  await borrow(async (lease) => {
    await lease.query('begin', [])
    await lease.query('insert into t values (100)', [])
    await threads.at(-1)!.terminate()
    await expect(lease.query('insert into t values (101)', [])).rejects.toThrow(DatabaseStopped)
    await expect(lease.query('commit', [])).rejects.toThrow(DatabaseStopped)
  })
  expect((await query('select count(*) as n, max(i) as most from t')).rows).toEqual([{ n: 20, most: 19 }])
  const interrupted = query(LONG)
  setTimeout(() => void threads.at(-1)!.terminate(), 50)
  await expect(interrupted).rejects.toThrow(/the embedded database stopped/)
  expect((await query('select count(*) as n from t')).rows).toEqual([{ n: 20 }])
  expect(threads).toHaveLength(3)
})

test('a database in memory does not come back empty after a crash', async () => {
  session = await createSession({
    start: () => {
      const thread = startThread(null)
      threads.push(thread)
      return thread
    },
    durable: false,
  })
  await query('create table t (i int)')
  await threads[0]!.terminate()
  await expect(query('select * from t')).rejects.toThrow(DatabaseStopped)
  await expect(query('select 1')).rejects.toThrow(DatabaseStopped)
})

test('a large thread is replaced between callers, never within a transaction', async () => {
  await open({ largeBytes: 0, watchMs: 300 })
  await borrow(async (lease) => {
    await lease.query('create table t (i int)', [])
    await lease.query('begin', [])
    await lease.query('insert into t values (1)', [])
    await new Promise((resolve) => setTimeout(resolve, 700))
    await lease.query('insert into t values (2)', [])
    await lease.query('commit', [])
    expect(threads).toHaveLength(1)
  })
  while (threads.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await query('select i from t order by i')).rows).toEqual([{ i: 1 }, { i: 2 }])
})

test('the first thread is replaced once, as soon as the database is idle; a small one is kept from then on', async () => {
  await open({ watchMs: 100 })
  await query('create table t (i int)')
  while (threads.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  await query('insert into t values (1)')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(threads).toHaveLength(2)
  expect((await query('select i from t')).rows).toEqual([{ i: 1 }])
})
