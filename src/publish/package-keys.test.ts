import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKey, readKey } from 'openpgp'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { realReaders } from '../formats/readers/fixture.ts'
import type { Database } from '../store/db.ts'
import { createPackageKeys } from './package-keys.ts'

let database: Database
let directory: string
const readers = realReaders('/nowhere', { mostReaders: 1 })
const keys: Record<'own' | 'first' | 'second', string> = { own: '', first: '', second: '' }
beforeAll(async () => {
  database = await createTestDatabase()
  directory = await mkdtemp(join(tmpdir(), 'package-keys-'))
  for (const name of ['own', 'first', 'second'] as const)
    keys[name] = (await generateKey({ userIDs: [{ name }], format: 'object' })).publicKey.armor()
  // One text with two keys, and one text that is no key.
  const stated = [
    { name: null, text: `${keys.first}\n${keys.second}` },
    { name: null, text: 'nonsense' },
  ]
  await sql`insert into sources (type, name, url, components, architectures, enabled, security, keys, allow_unsigned, created_at, created_by)
    values ('rpm', 'a', 'a', '{}', '{}', true, false, ${JSON.stringify(stated)}::jsonb, false, now(), 'test')`.execute(
    database.db,
  )
})
afterAll(async () => {
  await Promise.all([database.close(), readers.close()])
  await rm(directory, { recursive: true })
})

const create = (name: string) =>
  createPackageKeys({
    ...{ db: database.db, clock: { now: () => new Date() } },
    ...{ own: () => keys.own, path: join(directory, name), readers },
  })
const blocks = async (name: string) =>
  (await readFile(join(directory, name), 'utf8')).match(/BEGIN PGP PUBLIC KEY BLOCK/g)?.length

/** The id of the primary key. */
async function idOf(armored: string): Promise<string> {
  return (await readKey({ armoredKey: armored })).getKeyID().toHex()
}

test('a key that signed a package is published once, and restored where the file or the table is gone', async () => {
  const packageKeys = create('keys')
  await packageKeys.restore()
  expect(await blocks('keys')).toBe(1)
  expect(await packageKeys.find('apt', await idOf(keys.second))).toBeNull()
  expect(await packageKeys.find('rpm', 'F'.repeat(16))).toBeNull()
  const found = await packageKeys.find('rpm', await idOf(keys.second))
  expect(found?.armored).toContain('PUBLIC KEY')
  await packageKeys.publish(found!)
  await packageKeys.publish(found!)
  expect(await blocks('keys')).toBe(2)
  await create('other').restore()
  expect(await blocks('other')).toBe(2)
  await database.db.deleteFrom('package_keys').execute()
  await create('keys').restore()
  expect(await blocks('keys')).toBe(2)
  expect(await database.db.selectFrom('package_keys').selectAll().execute()).toHaveLength(1)
})

test('processes that publish at the same time lose no key', async () => {
  const [one, two] = [create('keys'), create('keys')]
  const ids = await Promise.all([idOf(keys.first), idOf(keys.second)])
  const found = await Promise.all(ids.map((id) => one.find('rpm', id)))
  await Promise.all([one.publish(found[0]!), two.publish(found[1]!)])
  expect(await blocks('keys')).toBe(3)
})
