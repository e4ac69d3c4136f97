// Which packages a change of the advisories is matched for, and what happens when two callers ask. Uses PGlite in memory.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { PackageRow } from '../store/tables.ts'
import { formats } from '../formats/index.ts'
import { insertRecord } from '../sbom/fixture.ts'
import type { CveResult } from '../scanners/scanner.ts'
import type { Database } from '../store/db.ts'
import { createRematch, type AdvisoryNews, type RematchDeps } from './rematch.ts'

let database: Database
let scanned: string[]
let news: AdvisoryNews
let noted: number
let scan: () => Promise<CveResult['result']>

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(() => {
  scanned = []
  noted = 0
  scan = () => Promise.resolve('no_data')
  news = { generation: 1, complete: true, packages: [{ ecosystem: 'Ubuntu', package: 'curl' }] }
})
afterEach(async () => {
  await database.db.deleteFrom('offers').execute()
  await database.db.deleteFrom('packages').execute()
  await database.db.deleteFrom('blobs').execute()
})
afterAll(() => database.close())

function rematch() {
  const jammy = formats.flatMap((format) => [...format.distributions]).find(({ codename }) => codename === 'jammy')!
  const deps = {
    db: database.db,
    distributions: [jammy],
    covers: (_: unknown, ecosystem: string) => ecosystem === 'Ubuntu',
    onError: (error: unknown) => {
      throw error
    },
    scanner: {
      name: 'osv',
      async scan({ facts }: { facts: Pick<PackageRow, 'name'> }) {
        scanned.push(facts.name)
        return { result: await scan(), findings: [], message: '', coverage: null }
      },
    },
    components: {
      among: () => Promise.resolve([]),
      touched: () => Promise.resolve([]),
      about: () => Promise.resolve([]),
    },
    news: {
      seen: () => Promise.resolve(noted),
      since: () => Promise.resolve(news),
      note: (generation: number) => Promise.resolve(void (noted = generation)),
    },
  }
  return createRematch(deps as unknown as RematchDeps)
}

test('only packages that the changed advisories name are matched, by name or source package', async () => {
  await insertRecord(database.db, { name: 'curl' })
  await insertRecord(database.db, { name: 'libcurl4', sourcePackage: 'curl' })
  await insertRecord(database.db, { name: 'bash' })
  await insertRecord(database.db, { name: 'curl', version: '2.0-1', status: 'rejected' })
  await rematch().changed()
  expect(scanned).toEqual(['curl', 'libcurl4'])
})

test.each<[string, Partial<AdvisoryNews>]>([
  ['the changes are not known completely', { complete: false, packages: [] }],
  ['a change names no package', { packages: [{ ecosystem: 'Ubuntu', package: null }] }],
])('every package is matched when %s', async (_, change) => {
  news = { ...news, ...change }
  await insertRecord(database.db, { name: 'curl' })
  await insertRecord(database.db, { name: 'bash' })
  await rematch().changed()
  expect(scanned).toEqual(['curl', 'bash'])
})

test('advisories of another ecosystem match nothing', async () => {
  news.packages = [{ ecosystem: 'npm', package: null }]
  await insertRecord(database.db, { name: 'curl' })
  await rematch().changed()
  expect(scanned).toEqual([])
})

test('a caller that comes during a run gets the next run, and both succeed', async () => {
  await insertRecord(database.db, { name: 'curl' })
  let release = () => {}
  scan = () => new Promise((resolve) => (release = () => resolve('no_data')))
  const { changed } = rematch()
  const first = changed()
  while (scanned.length === 0) await new Promise(setImmediate)
  // New advisories arrive meanwhile: the second caller's run must cover them.
  const second = changed()
  news = { ...news, generation: 2 }
  release()
  scan = () => Promise.resolve('no_data')
  await Promise.all([first, second])
  expect(scanned).toEqual(['curl', 'curl'])
  expect(noted).toBe(2)
})
