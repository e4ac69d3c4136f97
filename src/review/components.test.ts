// Which records are scanned, what a failure costs the other records, and which records changed library advisories concern.
// test/gate/components shows with the real service what findings do to a record.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildDeb } from '../../test/samples/deb.ts'
import { createTestDatabase } from '../../test/database.ts'
import { realReaders } from '../formats/readers/fixture.ts'
import { findDistribution } from '../formats/index.ts'
import { createBring } from '../formats/reading/bring.ts'
import type { ReaderPool } from '../formats/readers/pool.ts'
import { insertRecord } from '../packages/documents/fixture.ts'
import type { OsvFinding } from '../gate/engines/osv/findings.ts'
import { createComponents } from '../store/files/components.ts'
import { type Database } from '../store/db.ts'
import type { PackageRow } from '../store/tables.ts'
import { createComponentReading } from './component-reading/reading.ts'
import { createComponentScan, type ComponentScanDeps } from './components.ts'
import { systemActor } from './deps.ts'

const MANIFEST = 'opt/node_modules/left-pad/package.json'
const finding: OsvFinding = {
  id: 'CVE-1',
  severity: 'Critical',
  cvss: null,
  description: null,
  package_name: 'left-pad',
  package_version: '1.0.0',
  package_type: 'npm',
  fix_state: 'unknown',
  fix_versions: [],
  urls: [],
  epss: null,
  epss_percent: null,
  epss_label: null,
  in_kev: false,
  sources: ['osv-components'],
}

let database: Database
let directory: string
let readers: ReaderPool
let errors: unknown[]
/** stored files by SHA-256; the pool lacks all others */
let stored: Map<string, string>
let opened: string[]
let generation: number
let answer: () => OsvFinding[]

beforeAll(async () => {
  database = await createTestDatabase()
  directory = await mkdtemp(join(tmpdir(), 'components-'))
  readers = realReaders(directory, { mostReaders: 1 })
})
beforeEach(() => {
  errors = []
  stored = new Map()
  opened = []
  generation = 1
  answer = () => []
})
afterEach(async () => {
  await database.db.deleteFrom('offers').execute()
  await database.db.deleteFrom('packages').execute()
  await database.db.deleteFrom('blobs').execute()
})
afterAll(async () => {
  await Promise.all([database.close(), readers.close()])
  await rm(directory, { recursive: true, force: true })
})

const newPath = () => join(directory, randomUUID())

function scan({ scanning = true, mayWork = true } = {}) {
  const settings = { validation: { grype_scan: scanning }, cve_policy: { critical: 'block', sla_days: {} } }
  const coverage = {
    engine: 'osv-components',
    engine_version: null,
    database_date: null,
    distro_matched: 'npm',
    files_seen: 1,
    files_skipped: [],
    bytes: 1,
  }
  const nothing = async () => {}
  const parts = {
    db: database.db,
    clock: { now: () => new Date('2026-03-05T00:00:00Z') },
    engines: ['osv', 'osv-components'],
    onError: (error: unknown) => void errors.push(error),
    settings: () => settings,
    mayWork: () => mayWork,
    offered: findDistribution,
    bus: { emit: () => {} },
    audit: { record: nothing },
    manifests: { write: nothing },
    pendingDeletions: { run: nothing },
    readComponents: createComponentReading({
      ...{ pool: readers, bring: createBring(directory, newPath), newPath, options: () => ({}) },
    }),
    components: createComponents(database.db),
    pool: {
      async withFile({ sha256 }: { sha256: string }, work: (path: string) => Promise<unknown>) {
        opened.push(sha256)
        const path = stored.get(sha256)
        return path === undefined ? null : work(path)
      },
    },
    matcher: {
      generation: async () => generation,
      match: async (packages: unknown[]) => packages.map(() => ({ findings: answer(), coverage })),
    },
  }
  return createComponentScan(parts as unknown as ComponentScanDeps)
}

/** A record whose stored file contains left-pad of this version. */
async function carrier(name: string, version = '1.0.0'): Promise<PackageRow> {
  const row = await insertRecord(database.db, { name, files: [MANIFEST] })
  const path = join(directory, `${name}.deb`)
  await writeFile(path, await buildDeb({ name, files: { [MANIFEST]: JSON.stringify({ name: 'left-pad', version }) } }))
  stored.set(row.sha256, path)
  return row
}

const rowOf = (id: number) =>
  database.db.selectFrom('records').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const waiting = async () => (await database.db.selectFrom('component_work').select('package_id').execute()).length

describe('a record', () => {
  test('is looked into once, whichever way it came into the table', async () => {
    const row = await carrier('one')
    expect(await scan().catchUp()).toEqual({ records: 1, reopened: 0, failed: 0 })
    expect(await scan().catchUp()).toMatchObject({ records: 0 })
    expect(opened).toEqual([row.sha256])
    expect(
      await database.db.selectFrom('components').select(['ecosystem', 'name', 'version', 'path']).execute(),
    ).toEqual([{ ecosystem: 'npm', name: 'left-pad', version: '1.0.0', path: MANIFEST }])
  })

  test('without a file that libraries are known by is never opened', async () => {
    await insertRecord(database.db, { name: 'plain', files: ['usr/bin/plain', 'opt/package.json'] })
    expect(await scan().catchUp()).toMatchObject({ records: 1 })
    expect(opened).toEqual([])
    expect(await waiting()).toBe(0)
  })

  test('that was given other bytes is looked into again', async () => {
    const row = await carrier('one')
    await scan().catchUp()
    const other = await carrier('two', '2.0.0')
    await database.db.updateTable('packages').set({ sha256: other.sha256 }).where('id', '=', row.id).execute()
    await scan().catchUp()
    expect(await waiting()).toBe(0)
    expect((await createComponents(database.db).ofFiles([row.sha256, other.sha256])).get(other.sha256)).toMatchObject([
      { version: '2.0.0' },
    ])
  })

  test('is held, still served, when a library has a hole; once', async () => {
    const { id } = await carrier('one')
    answer = () => [finding]
    expect(await scan().catchUp()).toEqual({ records: 1, reopened: 1, failed: 0 })
    expect(await rowOf(id)).toMatchObject({
      status: 'pending_review',
      served: true,
      held_reason: 'dependency_scan',
      last_scan: null,
    })
    expect(await scan().match(id, 'rematch', systemActor('scheduler'))).toMatchObject({ newIds: [], reasons: [] })
  })

  test('that was never scanned itself does not become scanned by its libraries', async () => {
    const { id } = await carrier('one')
    await database.db
      .updateTable('packages')
      .set({ cve_results: null, cve_summary: JSON.stringify({ scanned: false }) })
      .where('id', '=', id)
      .execute()
    answer = () => [finding]
    await scan().catchUp()
    expect(await rowOf(id)).toMatchObject({ last_scan: null, cve_summary: { scanned: false, critical: 1 } })
  })

  test('is matched again when the advisories changed meanwhile', async () => {
    const { id } = await carrier('one')
    answer = () => {
      if (generation === 2) return [finding]
      generation = 2
      return []
    }
    expect(await scan().catchUp()).toMatchObject({ reopened: 1 })
    expect(await rowOf(id)).toMatchObject({ status: 'pending_review' })
  })

  test('that is rejected stays as it is', async () => {
    const { id } = await carrier('one')
    await database.db.updateTable('packages').set({ status: 'rejected' }).where('id', '=', id).execute()
    answer = () => [finding]
    expect(await scan().catchUp()).toMatchObject({ records: 1, reopened: 0 })
    expect(await rowOf(id)).toMatchObject({ status: 'rejected', cve_results: null })
  })

  test('waits for its verdict while scanning is switched off, its libraries being known', async () => {
    const { id } = await carrier('one')
    answer = () => [finding]
    await scan({ scanning: false }).catchUp()
    expect(await rowOf(id)).toMatchObject({ status: 'published' })
    expect(await scan({ scanning: false }).match(id, 'rescan', systemActor('system'))).toBeNull()
    expect(await scan().catchUp()).toMatchObject({ reopened: 1 })
    expect(opened).toHaveLength(1)
  })
})

describe('what goes wrong with one', () => {
  test('keeps nobody from the others, and is tried again', async () => {
    const lost = await insertRecord(database.db, { name: 'a-lost', files: [MANIFEST] })
    const unreadable = await insertRecord(database.db, { name: 'b-unreadable', files: [MANIFEST] })
    stored.set(unreadable.sha256, join(directory, 'nothing-here'))
    const good = await carrier('c-good')
    expect(await scan().catchUp()).toEqual({ records: 1, reopened: 0, failed: 1 })
    expect(errors).toHaveLength(1)
    expect(await waiting()).toBe(2)
    for (const { sha256 } of [lost, unreadable]) stored.set(sha256, stored.get(good.sha256) as string)
    expect(await scan().catchUp()).toEqual({ records: 2, reopened: 0, failed: 0 })
  })

  test('a record that is deleted while its file is read leaves nothing', async () => {
    const { sha256 } = await carrier('one')
    const components = createComponents(database.db)
    await database.db.deleteFrom('offers').execute()
    await database.db.deleteFrom('packages').execute()
    await database.db.deleteFrom('blobs').execute()
    await components.keep(sha256, { components: [], filesSeen: 1, bytes: 1, skipped: [] }, new Date())
    expect(await components.of(sha256)).toBeNull()
    expect(await waiting()).toBe(0)
  })

  test('two processes that read the same file keep it once', async () => {
    const { sha256 } = await carrier('one')
    const components = createComponents(database.db)
    const found = {
      components: [{ ecosystem: 'npm' as const, name: 'a', key: 'a', version: '1', path: 'p', license: null }],
      filesSeen: 1,
      bytes: 1,
      skipped: [],
    }
    await Promise.all([components.keep(sha256, found, new Date()), components.keep(sha256, found, new Date())])
    expect(await components.of(sha256)).toMatchObject(found)
  })
})

test('news concern the records that have such a library, and no other', async () => {
  const one = await carrier('one')
  const two = await carrier('two')
  await insertRecord(database.db, { name: 'plain' })
  const room = scan()
  await room.catchUp()
  const told = (packages: { ecosystem: string; package: string | null }[], complete = true) =>
    room.touched({ complete, packages })
  expect(await told([{ ecosystem: 'npm', package: 'left-pad' }])).toEqual([one.id, two.id])
  expect(
    await told([
      { ecosystem: 'npm', package: 'right-pad' },
      { ecosystem: 'PyPI', package: 'left-pad' },
      { ecosystem: 'Ubuntu:22.04:LTS', package: null },
    ]),
  ).toEqual([])
  expect(await told([{ ecosystem: 'npm', package: null }])).toEqual([one.id, two.id])
  expect(await told([], false)).toEqual([one.id, two.id])
  expect(await told([])).toEqual([])
})

test('records of which nothing new is said are told apart without touching them', async () => {
  const rows = [await carrier('one'), await carrier('two')] as const
  const plain = await insertRecord(database.db, { name: 'plain' })
  const room = scan()
  await room.catchUp()
  const ids = [...rows.map(({ id }) => id), plain.id, 999_999]
  expect(await room.unchanged(ids)).toEqual(new Set(rows.map(({ id }) => id)))
  answer = () => [finding]
  expect(await room.unchanged(ids)).toEqual(new Set())
  await room.match(rows[0].id, 'rematch', systemActor('scheduler'))
  expect(await room.unchanged(ids)).toEqual(new Set([rows[0].id]))
  answer = () => [{ ...finding, severity: 'High' }]
  expect(await room.unchanged(ids)).toEqual(new Set())
})

test('a process that is not the leader leaves the work to it', async () => {
  await carrier('one')
  const passive = scan({ mayWork: false })
  passive.nudge()
  await passive.stop()
  expect(await waiting()).toBe(1)
})
