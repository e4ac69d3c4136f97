// The way in with a real database, staging area and pool; the publisher is a stand-in that accepts or fails.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { buildDeb } from '../../test/samples/deb.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { findDistribution, recognize } from '../formats/index.ts'
import type { Step } from '../gate/step.ts'
import { createBus } from '../kernel/bus.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Database } from '../store/db.ts'
import { createPool } from '../store/files/pool.ts'
import { createStaging, type Staging } from '../store/files/staging.ts'
import { createPaths, ensurePaths, type Paths } from '../store/paths.ts'
import { createManifests } from '../packages/records/manifests.ts'
import type { Meta, Source } from '../packages/arrival.ts'
import type { FormatRegistry } from '../packages/identify.ts'
import { createPublishRecords } from '../packages/publish-records.ts'
import { createIntake, type Intake } from './intake.ts'

const META: Meta = { method: 'import', importedBy: 'somebody', origin: { ip: null, requestId: null } }
const SETTINGS = { validation: { max_upload_size_mb: 1, sha256_check: true } } as Settings
const clock = { now: () => new Date('2026-03-05T00:00:00Z') }

let database: Database
let paths: Paths
let staging: Staging
let intake: Intake
let events: AuditEvent[]
let converged: string[]
let errors: unknown[]
/** replaced by tests */
let record: AuditLog['record']
let converge: Publisher['converge']
let steps: Step[]

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  const { db } = database
  paths = createPaths(await mkdtemp(join(tmpdir(), 'intake-')))
  await ensurePaths(paths, [])
  events = []
  converged = []
  errors = []
  steps = []
  record = (event) => Promise.resolve(void events.push(...[event].flat()))
  converge = (codename) => Promise.resolve(void converged.push(codename))
  const pool = createPool(paths)
  staging = createStaging({ db, clock, paths, pool, exclusive: true })
  await staging.register()
  await db
    .insertInto('distributions')
    .values({ codename: 'jammy', format: 'deb', definition: '{}', initialized_at: clock.now() })
    .execute()
  const audit = { record: (...call: Parameters<AuditLog['record']>) => record(...call) } as AuditLog
  const publisher = {
    expect: () => () => {},
    converge: (codename: string) => converge(codename),
  } as unknown as Publisher
  const registry: FormatRegistry = {
    ...{ recognize, find: findDistribution, place: findDistribution, distributions: [] },
    isActive: (codename) => codename !== 'noble',
  }
  intake = createIntake({
    db,
    clock,
    bus: createBus((error) => errors.push(error)),
    audit,
    pool,
    staging,
    publisher,
    registry,
    steps,
    settings: () => SETTINGS,
    checkpoint: () => {},
    publishRecords: createPublishRecords({
      ...{ db, audit, publisher, registry },
      manifests: createManifests(db, paths),
      checkpoint: () => {},
      clean: () => Promise.resolve(),
    }),
    onError: (error) => void errors.push(error),
  })
})
afterEach(async () => {
  await database.db.deleteFrom('offers').execute()
  await database.db.deleteFrom('packages').execute()
  await database.db.deleteFrom('blobs').execute()
  await database.db.deleteFrom('distributions').execute()
  await rm(paths.root, { recursive: true })
})
afterAll(() => database.close())

function source(bytes: Uint8Array, codename = 'jammy', declaredSha256: string | null = null): Source {
  return {
    async deliver(to) {
      to.target(codename)
      await to.store(
        (async function* () {
          yield bytes
        })(),
      )
      return { declaredSha256 }
    },
  }
}

const staged = () => readdir(join(paths.incoming, staging.instanceId))
const names = async () =>
  (await database.db.selectFrom('packages').select('name').orderBy('name').execute()).map((row) => row.name)

test('a package becomes a record whose bytes are in the pool, and its distribution is published', async () => {
  const result = await intake.accept(source(await buildDeb({ name: 'one' })), META)
  expect(result).toMatchObject({ status: 'published', package: 'one', distribution: 'jammy', duplicate: false })
  expect(converged).toEqual(['jammy'])
  expect(await names()).toEqual(['one'])
  expect(await staged()).toEqual([])
  expect(events).toMatchObject([{ action: 'IMPORT', result: 'SUCCESS', package: 'one', outcome: 'published' }])
})

describe('a refused source', () => {
  test('that names an unknown distribution is not read', async () => {
    let read = false
    const unread: Source = {
      async deliver(to) {
        to.target('nowhere')
        read = true
        return Promise.resolve({ declaredSha256: null })
      },
    }
    await expect(intake.accept(unread, META)).rejects.toMatchObject({ code: 'unknown_distribution' })
    expect(read).toBe(false)
    expect(events).toMatchObject([{ result: 'FAILURE', outcome: 'unknown_distribution', distribution: 'nowhere' }])
  })

  test.each<[string, () => Promise<Source>]>([
    ['distribution_inactive', async () => source(await buildDeb(), 'noble')],
    ['invalid_package', () => Promise.resolve(source(Buffer.from('no package')))],
    ['arch_mismatch', async () => source(await buildDeb({ arch: 'riscv64' }))],
    ['checksum_mismatch', async () => source(await buildDeb(), 'jammy', '0'.repeat(64))],
  ])('with %s is audited, and leaves neither record nor file', async (code, make) => {
    await expect(intake.accept(await make(), META)).rejects.toMatchObject({ code })
    expect(events).toMatchObject([{ action: 'IMPORT', result: 'FAILURE', outcome: code }])
    expect(await names()).toEqual([])
    expect(await staged()).toEqual([])
  })

  test('throws its own error although the audit log fails, which is reported apart', async () => {
    record = () => Promise.reject(new Error('database gone'))
    await expect(intake.accept(source(Buffer.from('no package')), META)).rejects.toMatchObject({
      code: 'invalid_package',
    })
    expect(errors).toMatchObject([{ message: 'database gone' }])
    expect(await staged()).toEqual([])
  })
})

test('a step that throws leaves no file behind', async () => {
  steps.push({ key: 'antivirus', label: '', run: () => Promise.reject(new Problem('scanner_unavailable', 'loading')) })
  await expect(intake.accept(source(await buildDeb()), META)).rejects.toMatchObject({ code: 'scanner_unavailable' })
  expect(await staged()).toEqual([])
})

test('a record that cannot be published is deleted again', async () => {
  converge = () => Promise.reject(new Error('no index'))
  await expect(intake.accept(source(await buildDeb({ name: 'one' })), META)).rejects.toMatchObject({
    code: 'publication_failed',
  })
  expect(await names()).toEqual([])
  expect(events.map(({ action }) => action)).toEqual(['IMPORT', 'PUBLISH_FAILURE', 'IMPORT'])
})

test('a second file of the same name is a conflict, and the same file exists already', async () => {
  const bytes = await buildDeb({ name: 'one' })
  await intake.accept(source(bytes), META)
  await expect(intake.accept(source(bytes), META)).rejects.toMatchObject({ code: 'already_exists' })
  const other = await buildDeb({ name: 'one', files: { 'usr/other': 'other' } })
  await expect(intake.accept(source(other), META)).rejects.toMatchObject({ code: 'duplicate_conflict' })
})

describe('several sources', () => {
  test('each have an end of their own, and share a transaction', async () => {
    const good = await Promise.all(['aa', 'bb', 'cc'].map((name) => buildDeb({ name })))
    const sources = [...good.map((bytes) => source(bytes)), source(Buffer.from('no package'))]
    const ends = []
    for await (const end of intake.acceptAll(sources, META)) ends.push(end)
    ends.sort((x, y) => x.index - y.index)
    expect(ends).toMatchObject([
      { index: 0, result: { package: 'aa' } },
      { index: 1, result: { package: 'bb' } },
      { index: 2, result: { package: 'cc' } },
      { index: 3, error: { code: 'invalid_package' } },
    ])
    expect(await names()).toEqual(['aa', 'bb', 'cc'])
    expect(await staged()).toEqual([])
  })

  test('are taken from a stream as they are worked on, not all at the same time', async () => {
    let taken = 0
    let most = 0
    let running = 0
    const sources = async function* () {
      for (; taken < 300; taken++) yield Promise.resolve(counted(source(Buffer.from('no package'))))
    }
    const counted = (inner: Source): Source => ({
      async deliver(to) {
        most = Math.max(most, ++running)
        try {
          return await inner.deliver(to)
        } finally {
          running--
        }
      },
    })
    let ended = 0
    for await (const end of intake.acceptAll(sources(), META)) ended += 'error' in end ? 1 : 0
    expect(ended).toBe(300)
    expect(most).toBeLessThanOrEqual(128)
  })

  test('are fewer at the same time when they are large', async () => {
    let running = 0
    let most = 0
    const large = Array.from({ length: 20 }, (): Source => ({
      sizeBytes: 100 * 1024 * 1024,
      async deliver(to) {
        most = Math.max(most, ++running)
        try {
          return await source(Buffer.from('no package')).deliver(to)
        } finally {
          running--
        }
      },
    }))
    let ended = 0
    for await (const end of intake.acceptAll(large, META)) ended += 'error' in end ? 1 : 0
    expect(ended).toBe(20)
    expect(most).toBeLessThanOrEqual(5)
  })

  test('that were begun come to their end when the caller stops early', async () => {
    const good = await Promise.all(['aa', 'bb', 'cc'].map((name) => buildDeb({ name })))
    for await (const _ of intake.acceptAll(
      good.map((bytes) => source(bytes)),
      META,
    ))
      break
    expect(await names()).toEqual(['aa', 'bb', 'cc'])
    expect(await staged()).toEqual([])
  })
})
