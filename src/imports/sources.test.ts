import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { formats } from '../formats/index.ts'
import type { Database } from '../store/db.ts'
import { SettingsSchema } from '../domain/settings.ts'
import Value from 'typebox/value'
import { createSources, SYNC, type Sources } from './sources.ts'
import { createUpstreams } from '../upstream/upstream.ts'

let database: Database
let sources: Sources

beforeAll(async () => {
  database = await createTestDatabase()
  const clock = { now: () => new Date() }
  sources = createSources({
    ...{ db: database.db, clock, formats, audit: { record: async () => {} } },
    registry: { find: () => null, isActive: () => true, recognize: () => null, distributions: [] },
    settings: () => Value.Create(SettingsSchema),
    upstreams: createUpstreams({
      ...{ http: { open: () => Promise.reject(new Error('nothing is fetched')) }, clock, formats },
      ...{ stagingDirectory: '/nowhere', importDirectories: [], wait: async () => {} },
    }),
  })
})
afterAll(() => database?.close())

test.each([
  ['queued', 'syncing'],
  ['running', 'syncing'],
  ['cancelling', 'syncing'],
  ['failed', 'error'],
  ['cancelled', 'error'],
] as const)('a source whose sync is %s and said that it reads is shown as %s', async (state, status) => {
  const caller = { name: 'ann' } as never
  const { id } = await sources.create(
    { name: state, type: 'rpm', url: `http://${state}.example/`, allow_unsigned: true },
    caller,
    { ip: null, requestId: null },
  )
  const { db } = database
  await db.updateTable('sources').set({ status: 'syncing' }).where('id', '=', id).execute()
  const now = new Date()
  await db
    .insertInto('tasks')
    .values({
      kind: SYNC,
      key: String(id),
      arguments: '{}',
      state,
      created_at: now,
      created_by: 'ann',
      started_at: now,
    })
    .execute()
  expect((await sources.find(String(id))).status).toBe(status)
  expect((await sources.all()).find((row) => row.id === id)?.status).toBe(status)
})
