// Rebuilding the tables from the manifests: counters and publications, also after an interrupted run.
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Json } from '../../domain/json.ts'
import type { Signers } from '../../formats/intake-format.ts'
import { createPublishingHouse, type PublishingHouse } from '../../publish/publisher.fixture.ts'
import type { Database } from '../../store/db.ts'
import { createManifests, type Manifests } from './manifests.ts'
import { reindex } from './reindex.ts'

const PACKAGES = ['jammy a', 'jammy b', 'jammy c', 'bookworm d', 'bookworm e']
let database: Database
let house: PublishingHouse
let manifests: Manifests
/** keys of the manifests that were read, in order */
let read: string[]
let rebuilt: string[]
let recovered: number
let behind: string[]
let cursor: Json | null
let stop: AbortController

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  house = await createPublishingHouse(database, {} as Signers, ['jammy', 'bookworm'])
  manifests = createManifests(database.db, house.paths)
  for (const [codename, name] of PACKAGES.map((line) => line.split(' ') as [string, string]))
    await house.addPackage(codename, name)
  await manifests.catchUp()
  read = []
  rebuilt = []
  recovered = 0
  behind = []
  cursor = null
  stop = new AbortController()
})
afterEach(() => house.close())

/** Empties the tables as a lost database would. */
async function loseRecords(): Promise<void> {
  await sql`truncate packages, blobs, offers, offer_entries, offer_entry_pieces, publications, package_counts, finding_counts, artifacts cascade`.execute(
    database.db,
  )
}

const names = async () =>
  (await database.db.selectFrom('packages').select(['distribution', 'name']).execute())
    .map((row) => `${row.distribution} ${row.name}`)
    .sort()

/** @param stopAfter the run is aborted after this many manifests */
function run(stopAfter = Infinity) {
  return reindex(
    {
      db: database.db,
      manifests: {
        ...manifests,
        read(key) {
          read.push(key)
          if (read.length >= stopAfter) stop.abort(new Error('the service is stopping'))
          return manifests.read(key)
        },
      },
      pool: house.deps.pool,
      publisher: {
        rebuild: (codename) => Promise.resolve(void rebuilt.push(codename)),
        recover: () => Promise.resolve(behind).finally(() => recovered++),
      },
      checkpoint: () => {},
      find: (codename) => (house.deps.known(codename) ? house.deps.offered(codename) : null),
    },
    {
      cursor,
      signal: stop.signal,
      async save(saved) {
        stop.signal.throwIfAborted()
        cursor = JSON.parse(JSON.stringify(saved)) as Json
      },
      line: () => {},
    },
  )
}

test('reindexing restores every record and publishes the distributions', async () => {
  await loseRecords()
  expect(await run()).toEqual({ packages_indexed: 5, orphans: 0, missing_files: 0 })
  expect([await names(), rebuilt.sort(), recovered]).toEqual([PACKAGES.toSorted(), ['bookworm', 'jammy'], 0])
})

test('reindexing changes nothing when the database is complete', async () => {
  expect(await run()).toEqual({ packages_indexed: 5, orphans: 0, missing_files: 0 })
  expect([rebuilt, recovered]).toEqual([[], 0])
})

describe('a run that was interrupted', () => {
  test('restores the rest, counts everything once, and publishes what is behind', async () => {
    await loseRecords()
    await expect(run(3)).rejects.toThrow('the service is stopping')
    expect(await names()).toHaveLength(3)
    stop = new AbortController()
    expect(await run()).toEqual({ packages_indexed: 5, orphans: 0, missing_files: 0 })
    expect([await names(), recovered]).toEqual([PACKAGES.toSorted(), 1])
  })

  test('reads only the manifests after its cursor', async () => {
    await run()
    const [, , third, ...rest] = read
    const place = (await manifests.read(third!))!.offer!.from_revision
    const all = { packages_indexed: 3, orphans: 0, missing_files: 0, with_manifest: 3, restored: ['jammy'] }
    cursor = { ...all, after: { place, key: third! } }
    read = []
    expect(await run()).toEqual({ packages_indexed: 5, orphans: 0, missing_files: 0 })
    expect([read, rebuilt]).toEqual([rest, ['jammy']])
  })

  test('publishes the distributions that are left', async () => {
    await run()
    cursor = { ...cursor, restored: ['bookworm'] }
    read = []
    expect(await run()).toEqual({ packages_indexed: 5, orphans: 0, missing_files: 0 })
    expect([read, rebuilt, (cursor as { restored?: string[] }).restored]).toEqual([[], ['bookworm'], []])
  })

  test('fails when a distribution cannot be published', async () => {
    await run()
    behind = ['jammy']
    await expect(run()).rejects.toMatchObject({ code: 'publication_failed', detail: 'could not be published: jammy' })
  })
})
