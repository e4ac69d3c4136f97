import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from 'kysely'
import { createTestDatabase } from '../../test/database.ts'
import { formats } from '../formats/index.ts'
import { insertRecord, type SampleRecord } from '../packages/documents/fixture.ts'
import type { Database } from '../store/db.ts'
import { countUpdates, findSecurityUpdates, followDistributions, securityUpdates } from './security-updates.ts'

const SOURCE = { id: 1, target: 'jammy' }
const deb = formats.find(({ id }) => id === 'deb')!
let database: Database
let revision = 0
let now = 0

/** A record that clients are offered from the next revision on. */
async function offer(sample: SampleRecord): Promise<number> {
  const { db } = database
  const { id } = await insertRecord(db, sample)
  await change()
  await sql`update offers set from_revision = ${revision} where package_id = ${id}`.execute(db)
  return id
}

async function withdraw(id: number): Promise<void> {
  await change()
  await sql`update offers set until_revision = ${revision} where package_id = ${id}`.execute(database.db)
}

const change = () =>
  sql`update distributions set revision = ${++revision} where codename = 'jammy'`.execute(database.db)

async function listed(): Promise<string[]> {
  await followDistributions(database.db, formats, new Date(++now))
  const { items, total } = await securityUpdates(database.db, 'jammy', { page: 1, perPage: 50 })
  expect(total).toBe(items.length)
  expect(await countUpdates(database.db)).toBe(total)
  return items.map(({ package: name, version, newer }) => `${name} ${version} < ${newer}`)
}

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await sql`insert into sources (id, type, name, url, distribution, components, architectures, enabled, security, keys, allow_unsigned, created_at, created_by, last_sync, target)
    overriding system value values (1, 'apt', 'fixes', 'u', 'jammy-security', '{}', '{}', true, true, '[]', true, now(), 'test', now(), 'jammy')`.execute(
    db,
  )
  const entry = (name: string, version: string) => ({
    ...{ source_id: 1, path: `${name}_${version}`, fingerprint: '', name, version, arch: 'amd64', size_bytes: 7 },
    ...{ digest_algorithm: 'sha256' as const, digest: 'aa', section: null, description: null, source_package: null },
    ...{ source_version: null, requirements: '[]', provides: '[]', synced_at: new Date() },
  })
  await db
    .insertInto('catalog')
    .values(['nginx', 'openssl', 'zlib'].map((name) => entry(name, '2.0-1')))
    .execute()
})
afterAll(() => database.close())

test('security updates are compared with offered packages, also under review and after the sync', async () => {
  const nginx = await offer({ name: 'nginx', status: 'pending_review', served: true })
  await insertRecord(database.db, { name: 'openssl', status: 'pending_review' })
  expect(await findSecurityUpdates(database.db, SOURCE, deb, new Date(++now))).toBe(1)
  expect(await listed()).toEqual(['nginx 1.0-1 < 2.0-1'])

  await offer({ name: 'zlib', version: '1.9-1' })
  await offer({ name: 'zlib', version: '1.2-1' })
  expect(await listed()).toEqual(['nginx 1.0-1 < 2.0-1', 'zlib 1.9-1 < 2.0-1'])

  const fixed = await offer({ name: 'nginx', version: '2.0-1' })
  expect(await listed()).toEqual(['zlib 1.9-1 < 2.0-1'])
  await withdraw(fixed)
  expect(await listed()).toEqual(['nginx 1.0-1 < 2.0-1', 'zlib 1.9-1 < 2.0-1'])
  await withdraw(nginx)
  expect(await listed()).toEqual(['zlib 1.9-1 < 2.0-1'])
})

test.each<[string, string]>([
  ['whose history was pruned since', 'update distributions set history_floor = revision + 1'],
  ['that was restored to an earlier state', 'update sources set compared_revision = 1000000'],
  ['that an earlier build compared', 'update sources set compared_revision = null'],
])('a distribution %s is compared as a whole', async (_, damage) => {
  await sql.raw(damage).execute(database.db)
  await database.db.deleteFrom('security_updates').execute()
  await change()
  expect(await listed()).toEqual(['zlib 1.9-1 < 2.0-1'])
})
