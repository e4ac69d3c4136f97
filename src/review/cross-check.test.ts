// Which packages further scanners look at, how often, and what happens when a scanner fails. test/gate/grype shows with
// real scanners what findings do to a record.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CveResult, CveScanner } from '../gate/engines/scanner.ts'
import { findDistribution } from '../formats/index.ts'
import { insertRecord } from '../packages/documents/fixture.ts'
import type { Database } from '../store/db.ts'
import { createTestDatabase } from '../../test/database.ts'
import { createCrossCheck, type CrossCheckDeps } from './cross-check.ts'

const HOUR = 3_600_000
const distributions = ['jammy', 'almalinux9'].map((codename) => findDistribution(codename)!.distribution)
const coverage = {
  engine: 'second',
  engine_version: null,
  database_date: null,
  distro_matched: null,
  files_seen: 0,
  files_skipped: [],
  bytes: 0,
}

let database: Database
let now: number
let scans: string[]
let errors: unknown[]

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(() => {
  now = Date.parse('2026-03-05T00:00:00Z')
  scans = []
  errors = []
})
afterEach(async () => {
  await database.db.deleteFrom('offers').execute()
  await database.db.deleteFrom('packages').execute()
  await database.db.deleteFrom('blobs').execute()
})
afterAll(() => database.close())

const about = (name: string) => ({ package: name, version: '1.0-1', distribution: 'jammy' })

function scanner(
  answer: (name: string) => CveResult['result'] | Promise<CveResult['result']>,
  name = 'second',
): CveScanner {
  return {
    name,
    async scan({ facts, distribution }) {
      scans.push(`${name}: ${distribution.codename} ${facts.name} ${facts.version} of ${facts.sourcePackage}`)
      return { result: await answer(facts.name), findings: [], message: '', coverage }
    },
  }
}

/** The parts of the review room that run while nothing is found. */
function crossCheck(scanners: CveScanner[], more: Partial<CrossCheckDeps> = {}) {
  const parts = {
    db: database.db,
    clock: { now: () => new Date(now) },
    scanners,
    distributions,
    engines: ['first', 'second'],
    onError: (error: unknown) => void errors.push(error),
    settings: () => ({ validation: { grype_scan: true } }),
    mayWork: () => true,
    generation: async () => 1,
    delayMs: 10,
    ...more,
  }
  return createCrossCheck(parts as unknown as CrossCheckDeps)
}

describe('a look', () => {
  test('is taken at what is published where it is offered, once by each scanner', async () => {
    await insertRecord(database.db, { name: 'one', sourcePackage: 'src' })
    await insertRecord(database.db, { name: 'two', distribution: 'almalinux9' })
    await insertRecord(database.db, { name: 'held', status: 'pending_review' })
    await insertRecord(database.db, { name: 'shut', status: 'quarantined' })
    await insertRecord(database.db, { name: 'elsewhere', distribution: 'noble' })
    const check = crossCheck([scanner(() => 'no_data'), scanner(() => 'no_data', 'third')])
    expect(await check.catchUp()).toEqual({ scanned: 4, reopened: 0, failed: 0 })
    expect(scans).toEqual([
      'second: jammy one 1.0-1 of src',
      'second: almalinux9 two 1.0-1 of null',
      'third: jammy one 1.0-1 of src',
      'third: almalinux9 two 1.0-1 of null',
    ])
    expect(await check.catchUp()).toMatchObject({ scanned: 0 })
    expect(await crossCheck([scanner(() => 'no_data')]).catchUp()).toMatchObject({ scanned: 0 })
  })

  test('is taken later at what is published later, whatever its place', async () => {
    const row = await insertRecord(database.db, { name: 'held', status: 'pending_review' })
    await insertRecord(database.db, { name: 'one' })
    const check = crossCheck([scanner(() => 'no_data')])
    await check.catchUp()
    await database.db.updateTable('packages').set({ status: 'published' }).where('id', '=', row.id).execute()
    expect(await check.catchUp()).toMatchObject({ scanned: 1 })
    expect(scans.at(-1)).toContain('held')
  })

  test('that fails is tried again in an hour', async () => {
    await insertRecord(database.db, { name: 'one' })
    const state = { result: 'error' as CveResult['result'] }
    const check = crossCheck([scanner(() => state.result)])
    expect(await check.catchUp()).toMatchObject({ scanned: 1, failed: 1 })
    now += HOUR - 1000
    expect(await check.catchUp()).toMatchObject({ scanned: 0 })
    now += 2000
    state.result = 'no_data'
    expect(await check.catchUp()).toMatchObject({ scanned: 1, failed: 0 })
    now += 2 * HOUR
    expect(await check.catchUp()).toMatchObject({ scanned: 0 })
  })

  test('is taken at the others when one breaks the scanner', async () => {
    for (const name of ['a', 'bad', 'c']) await insertRecord(database.db, { name })
    const check = crossCheck([scanner((name) => (name === 'bad' ? Promise.reject(new Error('broken')) : 'no_data'))])
    expect(await check.catchUp()).toMatchObject({ scanned: 2, failed: 1 })
    expect(errors).toHaveLength(1)
  })

  test('is taken at three only by a scanner that is down', async () => {
    for (let i = 0; i < 6; i++) await insertRecord(database.db, { name: `p${i}` })
    expect(await crossCheck([scanner(() => 'error')]).catchUp()).toMatchObject({ scanned: 3, failed: 3 })
  })

  test('is taken by one process only, and not while scanning is switched off', async () => {
    await insertRecord(database.db, { name: 'one' })
    await crossCheck([scanner(() => 'no_data')], { mayWork: () => false }).catchUp()
    await crossCheck([scanner(() => 'no_data')], {
      settings: () => ({ validation: { grype_scan: false } }) as never,
    }).catchUp()
    expect(scans).toEqual([])
  })
})

test('a package published during a run is scanned in the same run, and calls at the same time share it', async () => {
  await insertRecord(database.db, { name: 'first' })
  const check: ReturnType<typeof crossCheck> = crossCheck([
    scanner(async (name): Promise<CveResult['result']> => {
      if (name === 'first') {
        await insertRecord(database.db, { name: 'meanwhile' })
        check.nudge(about('meanwhile'))
      }
      return 'no_data'
    }),
  ])
  expect(await Promise.all([check.catchUp(), check.catchUp()])).toMatchObject([{ scanned: 2 }, { scanned: 2 }])
})

test('a published package is scanned soon after its nudge; one without a nudge waits for the next run', async () => {
  const check = crossCheck([scanner(() => 'no_data')])
  for (const name of ['a', 'b', 'c']) {
    await insertRecord(database.db, { name })
    check.nudge(about(name))
  }
  await insertRecord(database.db, { name: 'not-nudged' })
  await expect.poll(() => scans.length).toBe(3)
  await check.catchUp()
  expect(scans).toHaveLength(4)
  expect(scans.at(-1)).toContain('not-nudged')
})

test('a service that stops finishes the look it is at and begins no other', async () => {
  for (const name of ['a', 'b', 'c']) await insertRecord(database.db, { name })
  const check: ReturnType<typeof crossCheck> = crossCheck([
    scanner(async (): Promise<CveResult['result']> => {
      void check.stop()
      return 'no_data'
    }),
  ])
  expect(await check.catchUp()).toMatchObject({ scanned: 1 })
  check.nudge(about('b'))
  await check.stop()
  expect(scans).toHaveLength(1)
})

test('a stop does not wait for a scanner that never answers, and its package is scanned by the next process', async () => {
  await insertRecord(database.db, { name: 'one' })
  const stop = new AbortController()
  let asked!: () => void
  const asking = new Promise<void>((resolve) => (asked = resolve))
  const never = () => (asked(), new Promise<never>(() => {}))
  const check = crossCheck([scanner(never), scanner(never, 'third')], { graceMs: 1 })
  const caught = check.catchUp(stop.signal).catch((error: unknown) => error)
  await asking
  stop.abort()
  expect(await caught).toBe(stop.signal.reason)
  await check.stop()
  expect([scans.length, errors]).toEqual([1, []])
  expect(await crossCheck([scanner(() => 'no_data')]).catchUp()).toMatchObject({ scanned: 1 })
})
