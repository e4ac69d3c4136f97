import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { migrate, schemaVersion, type Database } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

test('migrations started by three processes at the same time run once', async () => {
  await Promise.all([migrate(database.db), migrate(database.db), migrate(database.db)])
  expect(await schemaVersion(database.db)).toBe(Object.keys(MIGRATIONS).at(-1))
})
