// Which installation may use an object store.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPaths, ensurePaths, type Paths } from '../paths.ts'
import { createMemoryStore, type MemoryStore } from './memory-store.fixture.ts'
import { StorageUnavailable } from './object-store.ts'
import { checkStore, claimStore } from './ownership.ts'

let base: string
let store: MemoryStore
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'ownership-'))
  store = createMemoryStore()
})
afterEach(() => rm(base, { recursive: true }))

async function makePaths(name = 'one'): Promise<Paths> {
  const paths = createPaths(join(base, name))
  await ensurePaths(paths, [])
  return paths
}

const another = (address: string): MemoryStore => ({ ...createMemoryStore(), name: address, address })
const away = (of: MemoryStore): MemoryStore => ({
  ...of,
  get: () => Promise.reject(new StorageUnavailable('the object store does not answer', false)),
})

test('the first start claims the store, and every other one finds it', async () => {
  const paths = await makePaths()
  await claimStore(paths, store)
  expect(store.objects.get('installation')).toEqual(await readFile(paths.poolNote))
  await claimStore(paths, store)
  await checkStore(paths, store)
  expect((await readdir(paths.root)).filter((name) => name.startsWith('pool-'))).toEqual(['pool-store.json'])
})

test('replicas that start together share one claim', async () => {
  const paths = await makePaths()
  await Promise.all([1, 2, 3].map(() => claimStore(paths, store)))
  expect(store.objects.get('installation')).toEqual(await readFile(paths.poolNote))
})

test('a replica that looked before another one ended its claim leaves the note of both', async () => {
  const paths = await makePaths()
  let looks = 0
  const slow: MemoryStore = {
    ...store,
    async get(key) {
      const found = await store.get(key)
      if (looks++ === 0) await claimStore(paths, store)
      return found
    },
  }
  await claimStore(paths, slow)
  expect(store.objects.get('installation')).toEqual(await readFile(paths.poolNote))
  expect((await readdir(paths.root)).filter((name) => name.startsWith('pool-'))).toEqual(['pool-store.json'])
})

test('a start that ended before the claim did is continued, also with another address', async () => {
  const paths = await makePaths()
  await expect(claimStore(paths, away(store))).rejects.toThrow('which the first start with it needs')
  await claimStore(paths, another('s3://other'))
  expect(await readFile(paths.poolNote, 'utf8')).toContain('s3://other')
})

test('nothing is written without a store', async () => {
  const paths = await makePaths()
  const before = await readdir(paths.root)
  await claimStore(paths, null)
  await checkStore(paths, store)
  expect(await readdir(paths.root)).toEqual(before)
})

test.each<[string, () => Promise<void>, RegExp]>([
  [
    'another store than the one it was filled with',
    async () => {
      const paths = await makePaths()
      await claimStore(paths, store)
      await claimStore(paths, another('s3://other/prefix'))
    },
    /^POOL_URL names s3:\/\/other\/prefix, but this installation keeps its packages in s3:\/\/memory\?region=test: packages move only with a backup/,
  ],
  [
    'another store, in a process that only serves',
    async () => {
      const paths = await makePaths()
      await claimStore(paths, store)
      await checkStore(paths, another('s3://other'))
    },
    /^POOL_URL names s3:\/\/other, but/,
  ],
  [
    'another store that does not answer',
    async () => {
      const paths = await makePaths()
      await claimStore(paths, store)
      await claimStore(paths, away(another('s3://other')))
    },
    /does not answer, and its address is not the one of before, s3:\/\/memory/,
  ],
  [
    'no store, after it was filled with one',
    async () => {
      const paths = await makePaths()
      await claimStore(paths, store)
      await claimStore(paths, null)
    },
    /^POOL_URL must name s3:\/\/memory\?region=test, where this installation keeps its packages$/,
  ],
  [
    'a store, after packages were stored on the disk',
    async () => {
      const paths = await makePaths()
      await mkdir(join(paths.pool, 'x', 'ab'), { recursive: true })
      await writeFile(join(paths.pool, 'x', 'ab', 'package'), 'bytes')
      await claimStore(paths, store)
    },
    /^POOL_URL names s3:\/\/memory, but this installation keeps its packages in .*\/pool: packages move only with a backup/,
  ],
  [
    'the store of another installation',
    async () => {
      await claimStore(await makePaths('one'), store)
      await claimStore(await makePaths('two'), store)
    },
    /^POOL_URL: s3:\/\/memory belongs to another installation: choose another prefix, or delete its object "installation"/,
  ],
  [
    'a store whose note cannot be read',
    async () => {
      store.objects.set('installation', Buffer.from('[]'))
      await claimStore(await makePaths(), store)
    },
    /the object "installation" of s3:\/\/memory cannot be read as the note/,
  ],
])('refuses %s', async (_, start, expected) => {
  const error = await start().then(
    () => null,
    (failure: Error) => failure,
  )
  expect(error).toMatchObject({ name: 'StartError', message: expect.stringMatching(expected) })
})

test('a store that does not answer is accepted under its address, and one with its objects under another', async () => {
  const paths = await makePaths()
  await claimStore(paths, store)
  await claimStore(paths, away(store))
  await claimStore(paths, { ...store, address: 's3://moved' })
  expect(await readFile(paths.poolNote, 'utf8')).toContain('s3://moved')
  await claimStore(paths, away({ ...store, address: 's3://moved' }))
})
