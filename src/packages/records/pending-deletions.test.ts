// Pending deletions over a real database and real directories: failures, retries, and names uploaded again.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createHash, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { factsToMatch } from '../../domain/package.ts'
import { FORMATS } from '../../formats/index.ts'
import { exists } from '../../kernel/files.ts'
import { systemClock } from '../../kernel/clock.ts'
import { insertRecord } from '../documents/fixture.ts'
import type { Database } from '../../store/db.ts'
import { createObjectPool } from '../../store/files/object-pool.ts'
import { placeBytes, removalsUnderWay } from '../../store/files/placement.ts'
import { insertBlobs, withBytes } from '../../store/files/with-bytes.ts'
import { createPool, type Pool } from '../../store/files/pool.ts'
import { createPaths, ensurePaths, type Paths } from '../../store/paths.ts'
import { createMemoryStore } from '../../store/objects/memory-store.fixture.ts'
import { objectKey, RemovalUncertain, StorageUnavailable } from '../../store/objects/object-store.ts'
import { createManifests } from './manifests.ts'
import { createPendingDeletions } from './pending-deletions.ts'
import { blobRow } from './stored-file.ts'

let directory: string
let paths: Paths
let database: Database
let errors: unknown[]
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pending-deletions-'))
  paths = createPaths(directory)
  await ensurePaths(paths, [])
  database = await createTestDatabase()
})
beforeEach(async () => {
  errors = []
  await sql`truncate pending_deletions`.execute(database.db)
})
afterAll(async () => {
  await database.close()
  await rm(directory, { recursive: true })
})

const pendingDeletions = (pool: Pool = createPool(paths)) =>
  createPendingDeletions({
    db: database.db,
    clock: systemClock,
    pool,
    manifests: createManifests(database.db, paths),
    checkpoint: () => {},
    onError: (error) => errors.push(error),
  })

async function addManifest(key: string): Promise<string> {
  const path = join(paths.manifests, key)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, '{}')
  await database.db.insertInto('pending_deletions').values({ kind: 'manifest', key }).execute()
  return path
}

const now = async () => (await sql<{ at: Date }>`select now() as at`.execute(database.db)).rows[0]!.at

/** @param since start of the retry delays */
const rows = (since = new Date(0)) =>
  database.db
    .selectFrom('pending_deletions')
    .select(['key', 'attempts', sql<boolean>`due_at > ${since}::timestamptz + interval '20 seconds'`.as('waits')])
    .orderBy('id')
    .execute()

test('one that fails is reported and waits for its retry, and the others are carried out', async () => {
  const stuck = await addManifest('jammy/a/a_1_amd64.json')
  const removed = await addManifest('jammy/b/b_1_amd64.json')
  // A directory in place of the file makes its removal fail.
  await rm(stuck)
  await mkdir(stuck)
  const since = await now()
  await pendingDeletions().run()
  expect(await rows(since)).toEqual([{ key: 'jammy/a/a_1_amd64.json', attempts: 1, waits: true }])
  expect(errors.map(String)).toEqual(['Error: the deletion of manifest jammy/a/a_1_amd64.json failed'])
  expect(await exists(removed)).toBe(false)

  // Not due yet, even on a machine that stalls.
  await sql`update pending_deletions set due_at = due_at + interval '1 hour'`.execute(database.db)
  await pendingDeletions().run()
  expect((await rows()).map(({ attempts }) => attempts)).toEqual([1])

  await rm(stuck, { recursive: true })
  await sql`update pending_deletions set due_at = now()`.execute(database.db)
  await pendingDeletions().run()
  expect(await rows()).toEqual([])
})

test.each(['jammy/s/strange.json', 'jammy/s/a_b_c_d.json', 'jammy/s/%5F.json'])(
  'the manifest %s is removed whatever its name says',
  async (key) => {
    const path = await addManifest(key)
    await pendingDeletions().run()
    expect(errors).toEqual([])
    expect(await rows()).toEqual([])
    expect(await exists(path)).toBe(false)
  },
)

test('the sweep deletes the row of a removed file after an hour, unless a record refers to it', async () => {
  const { db } = database
  const pool = createPool(paths)
  const { sha256: referred } = await insertRecord(db, { name: 'referred' })
  const removed = 'a'.repeat(64)
  // The state after a failed upload: bytes at most, and no row.
  await placeBytes(db, pool, removed, 'deb')
  await sql`update blobs set removal_token = 'old', removal_ended_at = now() where sha256 = ${referred}`.execute(db)
  const kept = async () => (await db.selectFrom('blobs').select('sha256').execute()).map(({ sha256 }) => sha256).sort()
  await pendingDeletions().sweep()
  expect(await kept()).toEqual([referred, removed].sort())

  await sql`update blobs set removal_ended_at = removal_ended_at - interval '61 minutes'`.execute(db)
  await pendingDeletions().sweep()
  expect(await kept()).toEqual([referred])
})

describe('packages in an object store:', () => {
  async function stored(text: string) {
    const store = createMemoryStore()
    const pool = createObjectPool({ store, local: createPool(paths), newPath: () => join(directory, randomUUID()) })
    const sha256 = createHash('sha256').update(text).digest('hex')
    const file = { format: FORMATS[0]!, sha256, filename: 'a' }
    const path = join(directory, sha256)
    await writeFile(path, text)
    const keep = () => pool.keep(path, file)
    await keep()
    return { store, pool, file, keep, has: () => store.objects.has(objectKey(file)) }
  }

  test('an object that could not be removed while the store was away is removed by a retry', async () => {
    const { store, pool, file, has } = await stored('away')
    const { remove } = store
    store.remove = () => Promise.reject(new StorageUnavailable('does not answer (ECONNREFUSED)', false))
    await expect(placeBytes(database.db, pool, file.sha256, file.format)).rejects.toThrow('does not answer')
    await database.db.insertInto('pending_deletions').values({ kind: 'file', key: file.sha256 }).execute()
    await pendingDeletions(pool).run()
    expect(await rows()).toEqual([{ key: file.sha256, attempts: 1, waits: true }])
    store.remove = remove
    await sql`update pending_deletions set due_at = now()`.execute(database.db)
    await pendingDeletions(pool).run()
    expect([await rows(), has()]).toEqual([[], false])
  })

  test('bytes whose removal the store may carry out later are stored again only after that', async () => {
    const { store, pool, file, keep, has } = await stored('late')
    const { remove } = store
    store.remove = () => Promise.reject(new RemovalUncertain('does not answer (TimeoutError)'))
    await expect(placeBytes(database.db, pool, file.sha256, file.format)).rejects.toThrow(RemovalUncertain)
    const claim = await database.db
      .selectFrom('blobs')
      .select(['removal_ended_at', sql<boolean>`removal_began_at > now() + interval '15 minutes'`.as('is_held')])
      .where('sha256', '=', file.sha256)
      .executeTakeFirst()
    expect(claim).toEqual({ removal_ended_at: null, is_held: true })
    // A second removal does not end the first one's claim.
    store.remove = remove
    expect([await placeBytes(database.db, pool, file.sha256, file.format), has()]).toEqual([false, true])

    // A backup need not wait; an upload is refused.
    expect(await removalsUnderWay(database.db)).toBe(false)
    const facts = { ...factsToMatch({ ...PACKAGE, format: file.format }), files: [], record: { fields: [] } }
    const digests = { sha256: file.sha256, sha512: '', sha1: '', md5: '' }
    const row = blobRow({ digests, filename: file.filename, sizeBytes: 4 }, facts, new Date())
    const insert = () =>
      withBytes(database.db, keep, (seen) => database.db.transaction().execute((tx) => insertBlobs(tx, [row], seen)))
    await expect(insert()).rejects.toMatchObject({ code: 'storage_unavailable' })

    // The store executes the removal, and the claim becomes void.
    store.objects.clear()
    await sql`update blobs set removal_began_at = now() - interval '11 seconds'`.execute(database.db)
    await insert()
    expect(has()).toBe(true)
  })
})

const PACKAGE = { name: 'a', version: '1.0', arch: 'amd64', sourcePackage: null, sourceVersion: null }
