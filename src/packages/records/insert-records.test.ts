// Records inserted together: each has a separate outcome, and counters, positions and audit entries agree.
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { factsToMatch, type PackageFacts } from '../../domain/package.ts'
import { isProblem, Problem } from '../../domain/problem.ts'
import type { PackageStatus } from '../../domain/status.ts'
import { findDistribution } from '../../formats/index.ts'
import { systemClock } from '../../kernel/clock.ts'
import { createAuditLog } from '../../audit/log.ts'
import { DatabaseBusy } from '../../store/database-away.ts'
import type { Database } from '../../store/db.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { renderEntries } from './entries.ts'
import { blobRow } from './stored-file.ts'
import { belongsToOneRecord, insertRecords, type NewRecord } from './insert-records.ts'

const JAMMY = findDistribution('jammy')!
const ARRIVAL = new Date('2026-03-01T12:00:00.000Z')

let directory: string
let database: Database
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'insert-records-'))
  database = await createTestDatabase()
})
beforeEach(async () => {
  await sql`truncate distributions, blobs, packages, offers, offer_entries, offer_entry_pieces, package_counts, finding_counts, artifacts, audit cascade`.execute(
    database.db,
  )
  await database.db
    .insertInto('distributions')
    .values({
      codename: 'jammy',
      format: 'deb',
      definition: JSON.stringify(JAMMY.distribution),
      initialized_at: ARRIVAL,
    })
    .execute()
})
afterAll(async () => {
  await database.close()
  await rm(directory, { recursive: true })
})

interface Sample {
  version?: string
  status?: PackageStatus
  bytes?: string
  ensureBytes?: () => Promise<void>
}

function newRecord(
  name: string,
  { version = '1.0', status = 'published', bytes = `${name} ${version}`, ensureBytes = async () => {} }: Sample = {},
): NewRecord {
  const digest = (algorithm: string) => createHash(algorithm).update(bytes).digest('hex')
  const facts: PackageFacts = {
    ...factsToMatch({ format: 'deb', name, version, arch: 'amd64', sourcePackage: null, sourceVersion: null }),
    provides: [{ name: `${name}-api` }],
    record: { fields: [] },
  }
  const filename = `${name}_${version}_amd64.deb`
  const sha256 = digest('sha256')
  const digests = { sha256, sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') }
  const blob = blobRow({ digests, filename, sizeBytes: 100 }, facts, ARRIVAL)
  const row = { imported_at: ARRIVAL }
  return {
    ensureBytes,
    blob,
    evidence: [],
    entries:
      status === 'published' ? renderEntries(row, { ...blob, facts, files: new Uint8Array(blob.files) }, JAMMY) : [],
    audit: { action: 'UPLOAD', result: 'SUCCESS', user: 'a', package: name, version },
    review: status === 'quarantined' ? { quarantined_by: 'system' } : null,
    record: {
      distribution: 'jammy',
      format: 'deb',
      name,
      version,
      arch: 'amd64',
      status,
      cve_status: 'approved',
      held_reason: null,
      sha256,
      received_sha256: sha256,
      ...row,
      imported_by: 'a',
      import_method: 'upload',
      pipeline: '{}',
      validation_steps: '[]',
      coverage: '{}',
      deps_missing: '[]',
      tags: '[]',
    },
  }
}

async function insert(...inputs: NewRecord[]): Promise<string[]> {
  const audit = createAuditLog({
    key: 'k',
    db: database.db,
    clock: systemClock,
    directory,
    checkpoint: () => {},
    mayFile: () => false,
    onError: () => {},
  })
  const outcomes = await insertRecords(database.db, audit, JAMMY, inputs)
  return outcomes.map((outcome) =>
    !(outcome instanceof Error)
      ? `${outcome.name} ${outcome.version}`
      : isProblem(outcome)
        ? outcome.code
        : String(outcome),
  )
}

/** The state that must be consistent after any insert. */
async function state() {
  const { db } = database
  const distribution = await db.selectFrom('distributions').selectAll().executeTakeFirstOrThrow()
  const packages = await db.selectFrom('records').select(['name', 'version', 'offered_from']).orderBy('id').execute()
  const counted = await db
    .selectFrom('package_counts')
    .select(['status', 'n'])
    .where('n', '>', 0)
    .orderBy('status')
    .execute()
  return {
    counters: [distribution.published_count, distribution.pending_count, distribution.quarantined_count],
    bytes: distribution.size_bytes,
    revision: distribution.revision,
    counted: counted.map(({ status, n }) => `${status} ${n}`),
    places: packages.map((row) => [`${row.name} ${row.version}`, row.offered_from]),
    entries: (await db.selectFrom('offer_entries').select('package_id').execute()).length,
    capabilities: (await db.selectFrom('capabilities').select('name').orderBy('name').execute()).map((row) => row.name),
    artifacts: (
      await db
        .selectFrom('artifacts')
        .innerJoin('packages', 'packages.id', 'artifacts.latest_id')
        .select(['artifacts.name', 'packages.version'])
        .orderBy('artifacts.name')
        .execute()
    ).map((row) => `${row.name} ${row.version}`),
    audited: (await db.selectFrom('audit').select(['package', 'version']).orderBy('id').execute()).map(
      (row) => `${row.package} ${row.version}`,
    ),
  }
}

test('records inserted together get their own positions, entries, counters and audit entries', async () => {
  expect(await insert(newRecord('b'), newRecord('held', { status: 'pending_review' }), newRecord('a'))).toEqual([
    'b 1.0',
    'held 1.0',
    'a 1.0',
  ])
  expect(await state()).toEqual({
    counters: [2, 1, 0],
    bytes: 300,
    revision: 2,
    counted: ['pending_review 1', 'published 2'],
    places: [
      ['b 1.0', 1],
      ['held 1.0', null],
      ['a 1.0', 2],
    ],
    entries: 2,
    capabilities: ['a', 'a-api', 'b', 'b-api'],
    artifacts: ['a 1.0', 'b 1.0', 'held 1.0'],
    audited: ['b 1.0', 'held 1.0', 'a 1.0'],
  })
})

test('the second of two records with the same name, version and architecture is refused and not counted', async () => {
  expect(await insert(newRecord('twice'), newRecord('other'), newRecord('twice', { bytes: 'others' }))).toEqual([
    'twice 1.0',
    'other 1.0',
    'duplicate_conflict',
  ])
  expect(await insert(newRecord('twice', { bytes: 'more' }), newRecord('late'))).toEqual([
    'duplicate_conflict',
    'late 1.0',
  ])
  const { counters, bytes, counted, entries, audited, places, revision } = await state()
  // A refused record leaves nothing to publish.
  expect(revision).toBe(3)
  expect({ counters, bytes, counted, entries }).toEqual({
    counters: [3, 0, 0],
    bytes: 300,
    counted: ['published 3'],
    entries: 3,
  })
  expect(audited).toEqual(['twice 1.0', 'other 1.0', 'late 1.0'])
  expect(new Set(places.map(([, position]) => position)).size).toBe(3)
})

test('the later of two versions inserted together becomes the latest of the name', async () => {
  await insert(newRecord('many', { version: '1.10' }), newRecord('many', { version: '1.9' }))
  await insert(newRecord('many', { version: '1.9.1' }), newRecord('few'))
  expect((await state()).artifacts).toEqual(['few 1.0', 'many 1.10'])
})

test('a record whose bytes cannot be stored fails alone, and the others are inserted', async () => {
  const full = async () => {
    throw new Error('no room')
  }
  expect(await insert(newRecord('a'), newRecord('b', { ensureBytes: full }), newRecord('c'))).toEqual([
    'a 1.0',
    'Error: no room',
    'c 1.0',
  ])
  const { counters, bytes, audited, artifacts } = await state()
  expect({ counters, bytes, audited, artifacts }).toEqual({
    counters: [2, 0, 0],
    bytes: 200,
    audited: ['a 1.0', 'c 1.0'],
    artifacts: ['a 1.0', 'c 1.0'],
  })
})

test('records with the same bytes under several names share one stored file', async () => {
  expect(await insert(newRecord('x', { bytes: 'same' }), newRecord('y', { bytes: 'same' }))).toEqual(['x 1.0', 'y 1.0'])
  expect(await database.db.selectFrom('blobs').select('sha256').execute()).toHaveLength(1)
})

test.each([
  ['a name that is taken', new Problem('duplicate_conflict', 'taken'), true],
  ['a value the database refuses', Object.assign(new Error('invalid byte sequence'), { code: '22021' }), true],
  ['a row that is too large', Object.assign(new Error('row is too big'), { code: '54000' }), true],
  ['rows that others lock for too long', new DatabaseBusy(null), false],
  ['a database that shuts down', Object.assign(new Error('terminating connection'), { code: '57P01' }), false],
  ['a full disk', Object.assign(new Error('no space left'), { code: '53100' }), false],
  ['a connection that is refused', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), false],
  ['an error without a code', new Error('Connection terminated unexpectedly'), false],
])('%s: belongs to one record', (_, error, expected) => {
  expect(belongsToOneRecord(error)).toBe(expected)
})
