import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { insertRecord } from '../packages/documents/fixture.ts'
import type { Database } from '../store/db.ts'
import { createTestDatabase } from '../../test/database.ts'
import { lookAt, PRESENT_MS } from './onlookers.ts'

const NOW = Date.parse('2026-03-05T12:00:00Z')

let database: Database
let one: number
let other: number

beforeAll(async () => {
  database = await createTestDatabase()
  one = (await insertRecord(database.db, { name: 'one' })).id
  other = (await insertRecord(database.db, { name: 'other' })).id
})
beforeEach(() => database.db.deleteFrom('onlookers').execute())
afterAll(() => database.close())

const looks = (name: string, id = one, afterMs = 0) => lookAt(database.db, id, name, new Date(NOW + afterMs))
const rows = () => database.db.selectFrom('onlookers').select(['package_id', 'username']).execute()

test('each is told of the others who look at the same package, not of oneself', async () => {
  expect(await looks('maria')).toEqual([])
  expect(await looks('ben')).toEqual(['maria'])
  expect(await looks('maria')).toEqual(['ben'])
  expect(await looks('ann', other)).toEqual([])
  expect(await looks('ann')).toEqual(['ben', 'maria'])
})

test('who is not heard of any more is forgotten, also as a row; who says it again stays', async () => {
  await looks('maria')
  await looks('ben')
  await looks('ben', one, PRESENT_MS)
  expect(await looks('ann', one, PRESENT_MS + 1)).toEqual(['ben'])
  expect((await rows()).map(({ username }) => username).sort()).toEqual(['ann', 'ben'])
})

test('many at once are all kept', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `person-${10 + i}`)
  await Promise.all(names.map((name) => looks(name)))
  expect(await rows()).toHaveLength(30)
  expect(await looks('maria')).toEqual(names.slice(0, 20))
})

test('a package that is gone has no onlookers, and takes them with it', async () => {
  const { id } = await insertRecord(database.db, { name: 'gone' })
  await looks('maria', id)
  await database.db.deleteFrom('offers').where('package_id', '=', id).execute()
  await database.db.deleteFrom('packages').where('id', '=', id).execute()
  expect(await rows()).toEqual([])
  expect(await looks('maria', id)).toEqual([])
  expect(await rows()).toEqual([])
})
