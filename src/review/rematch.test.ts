// Which packages are matched after a change of the advisories, and where an interrupted run continues.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Seen } from '../domain/evidence.ts'
import type { Json } from '../domain/json.ts'
import type { PackageStatus } from '../domain/status.ts'
import type { TaskProgress } from '../domain/tasks.ts'
import type { PackageRow } from '../store/tables.ts'
import { formats } from '../formats/index.ts'
import { insertRecord } from '../packages/documents/fixture.ts'
import { insertEvidence } from '../packages/records/evidence.ts'
import type { CveResult } from '../gate/engines/scanner.ts'
import type { Database } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { createRematch } from './rematch.ts'
import type { AdvisoryNews, RematchDeps } from './rematch-changed.ts'

const NOW = new Date('2026-03-05T00:00:00Z')
let database: Database
let scanned: string[]
let news: AdvisoryNews
let noted: number
let scan: (name: string) => Promise<CveResult['result']>
let errors: unknown[]
/** what the task saved last */
let cursor: Json | null
let stop: AbortController

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(() => {
  scanned = []
  errors = []
  cursor = null
  stop = new AbortController()
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
  const distributions = formats.flatMap((format) => [...format.distributions])
  const deps = {
    db: database.db,
    clock: { now: () => NOW },
    places: async () => ['jammy', 'noble'].map((name) => distributions.find(({ codename }) => codename === name)!),
    covers: (_: unknown, ecosystem: string) => ecosystem === 'Ubuntu',
    onError: (error: unknown) => void errors.push(error),
    scanner: {
      name: 'osv',
      async scan({ facts }: { facts: Pick<PackageRow, 'name'> }) {
        scanned.push(facts.name)
        return { result: await scan(facts.name), findings: [], message: '', coverage: null }
      },
    },
    components: {
      among: () => Promise.resolve([]),
      touched: () => Promise.resolve([]),
      about: () => Promise.resolve([]),
    },
    news: {
      seen: () => Promise.resolve(noted),
      current: () => Promise.resolve(news.generation),
      since: () => Promise.resolve(news),
      note: (generation: number) => Promise.resolve(void (noted = generation)),
    },
  }
  const { changed, isDue, behind } = createRematch(deps as unknown as RematchDeps)
  return { isDue, behind, changed: () => changed(task) }
}

/** The task of each run. A later run continues from the cursor of the previous one. */
const task: TaskProgress = {
  get cursor() {
    return cursor
  },
  get signal() {
    return stop.signal
  },
  async save(saved) {
    stop.signal.throwIfAborted()
    // As the database would store it.
    cursor = JSON.parse(JSON.stringify(saved)) as Json
  },
  line: () => {},
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

describe('records that were stored while newer advisories came into force', () => {
  /** A record that was scanned with the advisories of this generation. */
  async function stored(generation: number, name = 'curl', status: PackageStatus = 'published'): Promise<number> {
    const row = await insertRecord(database.db, { name, status })
    await transaction(database.db, (tx) => insertEvidence(tx, [{ record: row, seen: [seen(generation)] }], NOW))
    return row.id
  }
  const seen = (generation: number): Seen => ({ check: 'cve_scan', result: 'scanned', message: '', generation })
  const inForce = (generation: number) => database.db.updateTable('advisory_state').set({ generation }).execute()
  const behind = async () => {
    const rows = await database.db.selectFrom('evidence').select('package_id').where('behind', '=', true).execute()
    return rows.map(({ package_id: id }) => id)
  }

  test('are matched again, once', async () => {
    await inForce(2)
    const id = await stored(1)
    await stored(2, 'bash')
    await stored(1, 'rejected', 'rejected')
    expect(await behind()).toContain(id)
    await rematch().behind()
    await rematch().behind()
    expect(scanned).toEqual(['curl'])
    expect(await behind()).not.toContain(id)
  })

  test.each<[string, typeof scan]>([
    ['cannot answer', () => Promise.resolve('error')],
    ['fails', () => Promise.reject(new Error('broken'))],
  ])('stay behind when the scanner %s', async (_, answer) => {
    await inForce(2)
    const id = await stored(1)
    scan = answer
    await rematch().behind()
    expect(await behind()).toEqual([id])
  })
})

describe('a run that is interrupted', () => {
  /** Matches until the package with this name was scanned. */
  async function interruptedAt(name: string): Promise<void> {
    scan = (scannedName) => {
      if (scannedName === name) stop.abort(new Error('the service is stopping'))
      return Promise.resolve('no_data')
    }
    await expect(rematch().changed()).rejects.toThrow('the service is stopping')
    stop = new AbortController()
    scan = () => Promise.resolve('no_data')
    scanned = []
  }

  beforeEach(async () => {
    news.packages.push({ ecosystem: 'Ubuntu', package: 'bash' }, { ecosystem: 'Ubuntu', package: 'zsh' })
    for (const name of ['bash', 'curl']) await insertRecord(database.db, { name, distribution: 'jammy' })
    for (const name of ['bash', 'curl', 'zsh']) await insertRecord(database.db, { name, distribution: 'noble' })
  })

  test('continues with the distribution that was not finished, and then notes the generation', async () => {
    await interruptedAt('zsh')
    expect([cursor, noted]).toMatchObject([{ done: ['jammy'], report: { matched: 0 } }, 0])
    await rematch().changed()
    expect([scanned, noted]).toEqual([['bash', 'curl', 'zsh'], 1])
  })

  test.each([
    ['nothing was matched', {}, ['bash', 'curl', 'bash', 'curl', 'zsh']],
    ['one distribution was matched', { done: ['jammy'] }, ['bash', 'curl', 'zsh']],
    ['a record was matched', { distribution: 'jammy', after: 'first' }, ['curl', 'bash', 'curl', 'zsh']],
    ['all were matched', { done: ['jammy', 'noble'] }, []],
    ['the advisories changed since', { done: ['jammy'], generation: 7 }, ['bash', 'curl', 'bash', 'curl', 'zsh']],
    ['packages were matched to others before', { done: ['jammy'], seen: 3 }, ['bash', 'curl', 'bash', 'curl', 'zsh']],
    ['a distribution is no longer offered', { done: ['focal', 'noble'] }, ['bash', 'curl']],
  ])('continues from the cursor when %s', async (_, saved, names) => {
    const [first] = await database.db.selectFrom('packages').select('id').orderBy('id').execute()
    const report = { matched: 4, changed: 1, reopened: 0, failed: 0, milliseconds: 50 }
    const fresh = {
      seen: 0,
      generation: 1,
      done: [],
      distribution: null,
      names: 0,
      after: 0,
      componentsAfter: 0,
      report,
    }
    cursor = { ...fresh, ...saved, ...('after' in saved ? { after: first!.id } : {}) }
    await rematch().changed()
    expect([scanned, noted]).toEqual([names, 1])
  })

  test('does not note the generation when a package failed before it was interrupted', async () => {
    scan = (name) => (name === 'curl' ? Promise.reject(new Error('broken')) : Promise.resolve('no_data'))
    const first = rematch().changed()
    const { failed } = await first
    expect([failed, errors.length, noted]).toEqual([2, 2, 0])
    cursor = { ...cursor, done: ['jammy'], distribution: null, after: 0 }
    scan = () => Promise.resolve('no_data')
    const report = await rematch().changed()
    expect([report.failed, noted]).toEqual([2, 0])
  })
})

describe('a match is due', () => {
  test.each([
    ['when the advisories changed', 0, true],
    ['not when the packages were matched to them', 1, false],
  ])('%s', async (_, seen, due) => {
    noted = seen
    expect(await rematch().isDue()).toBe(due)
  })

  test('not again in a process that matched them with failures', async () => {
    await insertRecord(database.db, { name: 'curl' })
    scan = () => Promise.reject(new Error('broken'))
    const { changed, isDue } = rematch()
    await changed()
    expect([noted, await isDue()]).toEqual([0, false])
    news = { ...news, generation: 2 }
    expect(await isDue()).toBe(true)
  })
})
