import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { debFormat } from '../formats/deb/index.ts'
import { findDistribution as find, formats } from '../formats/index.ts'
import type { Database } from '../store/db.ts'
import { SettingsSchema } from '../domain/settings.ts'
import Value from 'typebox/value'
import { createSources, SYNC, type Sources } from './sources.ts'
import { createUpstreams } from '../upstream/upstream.ts'

/** One distribution more, of two architectures. */
function findDistribution(codename: string) {
  if (codename !== 'multi') return find(codename)
  return { format: debFormat, distribution: { ...find('jammy')!.distribution, architectures: ['amd64', 'arm64'] } }
}

let database: Database
let sources: Sources

beforeAll(async () => {
  database = await createTestDatabase()
  const clock = { now: () => new Date() }
  const readers = { acquire: () => Promise.reject(new Error('nothing is read')), close: async () => {} }
  sources = createSources({
    ...{ db: database.db, clock, formats, audit: { record: async () => {} } },
    registry: {
      find: findDistribution,
      place: findDistribution,
      isActive: () => true,
      recognize: () => null,
      distributions: [],
    },
    mayBePrivate: false,
    settings: () => Value.Create(SettingsSchema),
    upstreams: createUpstreams({
      ...{ http: { open: () => Promise.reject(new Error('nothing is fetched')) }, clock, formats },
      ...{
        stagingDirectory: '/nowhere',
        importDirectories: [],
        wait: async () => {},
        readers: { quick: readers, slow: readers },
      },
    }),
  })
})
afterAll(() => database?.close())

test.each([
  ['multi', ['amd64', 'arm64']],
  ['multi-security', ['amd64', 'arm64']],
  ['elsewhere', ['amd64']],
])('a source of the suite %s that names no architectures is read for %j', async (distribution, expected) => {
  const given = { type: 'apt', url: 'http://deb.example/', distribution, allow_unsigned: true }
  const origin = { ip: null, requestId: null }
  const created = await sources.create({ name: distribution, ...given }, { name: 'ann' } as never, origin)
  expect(created.architectures).toEqual(expected)
  const own = { ...given, name: `own ${distribution}`, url: 'http://own.example/', arch: 'riscv64' }
  expect((await sources.create(own, { name: 'ann' } as never, origin)).architectures).toEqual(['riscv64'])
})

test('an index that is no longer signed is taken when a person says so, and counts as never signed', async () => {
  const caller = { name: 'ann' } as never
  const origin = { ip: null, requestId: null }
  const given = { type: 'rpm', url: 'http://signed.example/', gpg_key: 'key', allow_unsigned: true }
  const { id } = await sources.create({ name: 'signed', ...given }, caller, origin)
  const { db } = database
  await db
    .updateTable('sources')
    .set({ signed_by: ['ABC'] })
    .where('id', '=', id)
    .execute()
  expect((await sources.change(String(id), { name: 'signed once' }, caller, origin)).signed_by).toEqual(['ABC'])
  expect((await sources.change(String(id), { allow_unsigned: true }, caller, origin)).signed_by).toEqual([])
})

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
