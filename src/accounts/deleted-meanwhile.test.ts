// What is made for a person, machine or place that somebody deletes at the same moment. Runs on PGlite, where transactions take
// turns, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, meanwhile } from '../../test/database.ts'
import type { Caller } from '../domain/caller.ts'
import type { Database, Db } from '../store/db.ts'
import { createAccounts, GOOD, ORIGIN, outcome, ROOT, type Accounts } from './fixture.ts'

let database: Database
let at: Accounts
let ben: Caller
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  const { db } = database
  for (const table of ['readers', 'machines', 'users', 'distributions'] as const) await db.deleteFrom(table).execute()
  at = await createAccounts(db)
  await db.insertInto('distributions').values({ codename: 'jammy', format: 'deb', definition: '{}' }).execute()
  await at.users.create(ROOT, { username: 'ben', password: GOOD, role: 'uploader' }, ORIGIN)
  ben = await at.signIn('ben')
  return () => at.close()
})

const removeBen = (tx: Db) => tx.deleteFrom('users').where('username', '=', 'ben').execute()
const allow = (kind: 'person' | 'machine', name: string) => at.readers.add({ place: 'jammy', kind, name }, ROOT, ORIGIN)

test.each<[string, () => Promise<() => Promise<unknown>>, (tx: Db) => Promise<unknown>, string]>([
  ['a right of a person', async () => () => allow('person', 'ben'), removeBen, 'not_found'],
  [
    'a right to a place',
    async () => () => allow('person', 'ben'),
    (tx) => tx.deleteFrom('distributions').execute(),
    'not_found',
  ],
  [
    'a right of a machine',
    async () => {
      await at.machines.create({ name: 'web' }, ROOT, ORIGIN)
      return () => allow('machine', 'web')
    },
    (tx) => tx.updateTable('machines').set({ revoked_at: at.clock.now() }).execute(),
    'not_found',
  ],
  ['a token', async () => () => at.tokens.create(ben, { name: 'ci' }, ORIGIN), removeBen, 'unauthorized'],
  [
    'the sign-in of a program',
    async () => {
      const { user_code: code } = await at.deviceSignIn.begin('gatehouse', ORIGIN)
      return () => at.deviceSignIn.answer(ben, code, true, ORIGIN)
    },
    removeBen,
    'unauthorized',
  ],
])('%s is refused when that is deleted at the same moment', async (_, prepare, remove, code) => {
  const work = await prepare()
  expect(await outcome(meanwhile(database, remove, work))).toBe(code)
  expect(await at.readers.list()).toEqual([])
})
