// Names of repositories are published as files: whatever changes a name reaches clients, and nothing that is refused does.
import { readdir, rm } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createRepositories } from '../../registries/repositories.ts'
import { createNames } from '../../registries/names.ts'
import { createRegistryReader } from '../../serve/registries/registry-reader.ts'
import { listingPath } from '../../store/files/listing-files.ts'
import { openRegistry } from './listing.fixture.ts'

let site: Awaited<ReturnType<typeof openRegistry>>
const by = { name: 'ada', origin: { ip: null, requestId: null } }
const audit = { record: async () => {}, flush: async () => {} }
let repository = ''
let count = 0

beforeAll(async () => {
  site = await openRegistry()
})
afterAll(() => site.close())
beforeEach(async () => {
  const name = `team${++count}`
  repository = `npm/${name}`
  await createRepositories({ ...site, audit }).create({ format: 'npm', name, kind: 'hosted' }, by)
})

const reader = () => createRegistryReader(site.paths.listings)

async function shown(name: string) {
  await site.publisher.converge(repository)
  const document = await reader().document(repository, name, 'full', 'https://packages.example/npm/team')
  return document && (JSON.parse(gunzipSync(document.gzip).toString()) as Record<string, unknown>)
}

test('a name shows its versions in their order, with the address of the repository', async () => {
  await site.addFile(repository, 'left', '10')
  await site.addFile(repository, 'left', '9')
  expect(await shown('left')).toMatchObject({
    files: ['9 any', '10 any'],
    at: 'https://packages.example/npm/team/x',
  })
  expect(await shown('Left')).toBeNull()
})

test.each([
  ['pending_review', ['1 any held'], 'it waits for a review'],
  ['quarantined', [], 'it is in quarantine'],
  ['rejected', [], 'it was rejected in a review'],
] as const)('a file that is %s is not given to clients, who hear why', async (status, files, reason) => {
  await site.addFile(repository, 'held', '1', status)
  expect((await shown('held'))?.['files']).toEqual(files)
  const listing = await reader().listing(repository, 'held')
  expect(listing?.files['held-1.tgz']).toMatchObject({ version: '1', held: reason })
})

test.each<[string, (id: number) => Promise<unknown>, unknown]>([
  [
    'a decision',
    (id) => site.db.updateTable('packages').set({ status: 'quarantined' }).where('id', '=', id).execute(),
    { files: ['1 any', '2 any'] },
  ],
  [
    'an offer that ends',
    (id) => site.db.updateTable('offers').set({ until_revision: 9 }).where('package_id', '=', id).execute(),
    { files: ['1 any held', '2 any'] },
  ],
  ['a tag', () => names().setTag({ repository, name: 'left' }, 'next', '2', by), { tags: { next: '2' } }],
  [
    'a note',
    () => names().note({ repository, name: 'left' }, { 1: { deprecated: 'old' } }, by),
    { notes: { 1: { deprecated: 'old' } } },
  ],
])('%s is shown with the next publish', async (_, change, expected) => {
  const id = await site.addFile(repository, 'left', '1')
  await site.addFile(repository, 'left', '2')
  await shown('left')
  await change(id)
  expect(await shown('left')).toMatchObject(expected as object)
})
const names = () => createNames({ ...site, audit })

test('a name without files is gone, and its deleted version comes back with the same bytes only', async () => {
  const id = await site.addFile(repository, 'gone', '1')
  await shown('gone')
  const { sha256 } = await site.db
    .selectFrom('packages')
    .select('sha256')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await site.db.deleteFrom('packages').where('id', '=', id).execute()
  expect(await shown('gone')).toBeNull()
  const of = { repository, name: 'gone' }
  await names().requireUnspent(of, { version: '1', arch: 'any', sha256 })
  await expect(names().requireUnspent(of, { version: '1', arch: 'any', sha256: 'other' })).rejects.toMatchObject({
    code: 'version_spent',
  })
})

test('two replicas that publish a name at once end with its newest state, and leave nothing beside it', async () => {
  const publishers = [site.publisher, site.another(), site.another()]
  for (let version = 1; version <= 12; version++) {
    await site.addFile(repository, 'busy', String(version))
    await Promise.all(publishers.map((one) => one.converge(repository)))
    expect(((await shown('busy'))?.['files'] as string[]).length).toBe(version)
  }
  const directory = listingPath(site.paths.listings, repository, 'busy').replace(/\/[^/]+$/, '')
  expect(await readdir(directory)).toHaveLength(1)
})

test('a name of hundreds of files is rendered in a reader, which knows the real formats only', async () => {
  for (let version = 0; version <= 300; version++) await site.addFile(repository, 'large', `1.0.${version}`)
  expect(Object.keys((await shown('large'))?.['versions'] as object)).toHaveLength(301)
})

test('a file that was lost is written again by the hourly collection', async () => {
  await site.addFile(repository, 'lost', '1')
  await shown('lost')
  await rm(listingPath(site.paths.listings, repository, 'lost'))
  expect(await shown('lost')).toBeNull()
  await site.publisher.collect()
  expect(await shown('lost')).toMatchObject({ files: ['1 any'] })
})

test('a name that was not published before the process died is published by recovery', async () => {
  await site.addFile(repository, 'late', '1')
  expect(await site.publisher.recover()).toEqual([])
  expect(await reader().listing(repository, 'late')).toMatchObject({ name: 'late' })
})

test('a name that cannot be published keeps no other from its clients', async () => {
  for (const name of ['a', 'broken', 'c', 'd']) await site.addFile(repository, name, '1')
  await site.publisher.converge(repository, ['d'])
  expect(await reader().listing(repository, 'd')).toMatchObject({ name: 'd' })
  expect(await reader().listing(repository, 'c')).toBeNull()
  const failure = { code: 'publication_failed' }
  await expect(site.publisher.converge(repository, ['broken', 'a'])).rejects.toMatchObject(failure)
  expect(await reader().listing(repository, 'a')).toMatchObject({ name: 'a' })
  await expect(site.publisher.converge(repository)).rejects.toMatchObject(failure)
  expect(await reader().listing(repository, 'c')).toMatchObject({ name: 'c' })
})
