// What distributions offered in the past: the offers reproduce each publication, and old ones are pruned with their bytes.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { changeRecord, lockRecord } from '../packages/records/change-record.ts'
import { deleteRecords } from '../packages/records/delete-records.ts'
import { createHistory } from '../packages/records/history.ts'
import { createPendingDeletions } from '../packages/records/pending-deletions.ts'
import { createManifests } from '../packages/records/manifests.ts'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from './publisher.fixture.ts'

const DAY = 86_400_000

let site: Site
let house: PublishingHouse
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())
beforeEach(async () => {
  house = await createPublishingHouse(site.database, site.signers, ['jammy'])
})
afterEach(() => house.close())

async function publish(): Promise<void> {
  house.clock.advance(60_000)
  await house.publisher.converge('jammy')
}
const audit = { record: async () => {}, flush: async () => {} }
const rowOf = (name: string) =>
  house.db.selectFrom('records').selectAll().where('name', '=', name).executeTakeFirstOrThrow()

async function add(...names: string[]): Promise<void> {
  for (const name of names) await house.addPackage('jammy', name)
  await publish()
}

async function remove(name: string): Promise<void> {
  const { id } = await rowOf(name)
  await deleteRecords(house.db, audit, [id], {
    offeredOf: () => house.deps.offered('jammy'),
    manifestKey: (row) => `${row.name}.json`,
    auditOf: () => ({ action: 'DELETE', result: 'SUCCESS', user: 'test' }),
  })
  await publish()
}

async function change(name: string, event: 'quarantine'): Promise<void> {
  const { id } = await rowOf(name)
  await house.db.transaction().execute(async (tx) => {
    await changeRecord(tx, audit, await lockRecord(tx, id), { event }, house.deps.offered('jammy'))
  })
  await publish()
}

const publications = () => house.db.selectFrom('publications').selectAll().orderBy('revision').execute()

/** The names that a revision had according to the offers, in the order of its index. */
async function offeredAt(revision: number): Promise<string[]> {
  const rows = await house.db
    .selectFrom('offers')
    .select('name')
    .where('from_revision', '<=', revision)
    .where((eb) => eb.or([eb('until_revision', 'is', null), eb('until_revision', '>', revision)]))
    .orderBy('from_revision')
    .execute()
  return rows.map((row) => row.name)
}

/** The names that the index of a generation lists, in its order. */
async function listedIn(generation: string): Promise<string[]> {
  const packed = await readFile(join(house.tree('jammy').base, generation, 'main/binary-amd64/Packages.gz'))
  const index = gunzipSync(packed).toString()
  return [...index.matchAll(/^Package: (.*)$/gm)].map((match) => match[1] ?? '')
}

const pooled = async (name: string) => {
  const row = await house.db
    .selectFrom('blobs')
    .select(['sha256', 'format', 'filename'])
    .where('filename', 'like', `${name}\\_%`)
    .executeTakeFirst()
  return row !== undefined && (await house.deps.pool.has(row))
}

/** Prunes, then removes bytes and tree files, as the chores do, once the grace time is over. */
async function prune(days: number): Promise<void> {
  const { db, clock, deps } = house
  await house.db
    .updateTable('offers')
    .set({ unlink_at: new Date(0) })
    .where('unlink_at', 'is not', null)
    .execute()
  await house.publisher.removeUnpublished('jammy')
  await createHistory({ db, clock, days: () => days }).prune()
  const manifests = createManifests(db, house.paths)
  const { pool, checkpoint, onError } = deps
  await createPendingDeletions({ db, clock, pool, manifests, checkpoint, onError }).run()
}

test('the offers tell of each publication what its index listed, and why it was made', async () => {
  await add('a', 'b')
  await add('c')
  await remove('a')
  await change('b', 'quarantine')
  await add('a')
  await house.publisher.rebuild('jammy')
  const all = await publications()
  const told = await Promise.all(
    all.map(async ({ revision, causes }) => [(await offeredAt(revision)).join(' '), ...causes]),
  )
  expect(told).toEqual([
    ['a b', 'upload'],
    ['a b c', 'upload'],
    ['b c', 'delete'],
    ['c', 'quarantine'],
    ['c a', 'upload'],
    ['c a', 'rebuild'],
  ])
  for (const { revision, generation } of all) expect(await listedIn(generation)).toEqual(await offeredAt(revision))
  expect(await house.db.selectFrom('distributions').select('generation').execute()).toEqual([
    { generation: all.at(-1)!.generation },
  ])
})

describe('the bytes of a package that is no longer offered', () => {
  test('stay as long as a kept publication names it', async () => {
    await add('a', 'b')
    await remove('a')
    house.clock.advance(10 * DAY)
    await add('c')
    await prune(30)
    expect([await pooled('a'), (await publications()).length]).toEqual([true, 3])
    house.clock.advance(25 * DAY)
    await prune(30)
    // The publication without it was live when the kept days began; the earlier one is gone, and the offer with it.
    expect((await publications()).map(({ causes }) => causes)).toEqual([['delete'], ['upload']])
    expect([await pooled('a'), await pooled('b')]).toEqual([false, true])
    expect(await house.db.selectFrom('offers').select('name').orderBy('name').execute()).toEqual([
      { name: 'b' },
      { name: 'c' },
    ])
    await house.publisher.rebuild('jammy')
    expect(await listedIn((await publications()).at(-1)!.generation)).toEqual(['b', 'c'])
  })

  test('an index in the memory of another process is not continued over pruned history', async () => {
    await add('a', 'b')
    const other = house.addPublisher()
    await other.rebuild('jammy')
    await remove('a')
    house.clock.advance(60_000)
    await prune(0)
    expect(await house.db.selectFrom('offers').select('name').execute()).toEqual([{ name: 'b' }])
    await house.addPackage('jammy', 'c')
    await other.converge('jammy')
    expect(await listedIn((await publications()).at(-1)!.generation)).toEqual(['b', 'c'])
  })

  test('go when it was quarantined and deleted, or never was in a publication', async () => {
    await add('a', 'b')
    await change('a', 'quarantine')
    await remove('a')
    await house.addPackage('jammy', 'never')
    await remove('never')
    await prune(30)
    expect([await pooled('a'), await pooled('never'), await pooled('b')]).toEqual([false, false, true])
    // The past offers are still known.
    expect(await offeredAt(2)).toEqual(['a', 'b'])
  })
})
