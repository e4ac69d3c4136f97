import { afterAll, beforeAll, expect, test } from 'vitest'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { createTestDatabase } from '../../test/database.ts'
import { migrate, schemaVersion, type Database } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { lockDirectory } from './pglite/lock.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await database.close()
})

test('migrations started by three processes at once run once', async () => {
  await Promise.all([migrate(database.db), migrate(database.db), migrate(database.db)])
  expect(await schemaVersion(database.db)).toBe(Object.keys(MIGRATIONS).at(-1))
})

test('an embedded database directory is refused to a second process and taken over from a dead one', async () => {
  const place = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
  const unlock = await lockDirectory(place)
  await expect(lockDirectory(place)).rejects.toThrow(/in use by process/)
  await unlock()
  await writeFile(join(place, 'gatehouse.lock'), '1 12345\n')
  await (
    await lockDirectory(place)
  )()
  await rm(place, { recursive: true })
})
