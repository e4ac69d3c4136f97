// Refused packages: which ones are old enough to be deleted. Uses PGlite in memory.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { DAY_MS } from '../../domain/durations.ts'
import type { Database } from '../../store/db.ts'
import { refusedPackagesStep } from './refused-packages.ts'

const NOW = Date.parse('2026-03-10T00:00:00Z')
const daysAgo = (days: number) => new Date(NOW - days * DAY_MS)

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await sql`insert into distributions (codename, format, definition) values ('jammy', 'deb', '{}')`.execute(db)
  await sql`insert into blobs (sha256, format, filename, size_bytes, sha512, sha1, md5, facts, files, created_at)
    values ('s', 'deb', 'f', 1, '', '', '', '{}', '', now())`.execute(db)
})
afterAll(() => database.close())

/** Days since its arrival, its quarantine by a person, and a decision about it. */
type Ages = [arrived: number, quarantined: number | null, decided: number | null]

const CASES: [name: string, status: string, ages: Ages][] = [
  ['old-quarantined', 'quarantined', [31, null, null]],
  ['old-rejected', 'rejected', [31, null, 31]],
  ['quarantined-lately', 'quarantined', [31, 29, null]],
  ['rejected-lately', 'rejected', [31, null, 29]],
  ['arrived-lately', 'quarantined', [29, null, null]],
  ['waiting', 'pending_review', [300, null, null]],
  ['published', 'published', [300, null, null]],
]

async function insert(name: string, status: string, [arrived, quarantined, decided]: Ages): Promise<void> {
  const { db } = database
  const { rows } = await sql<{
    id: number
  }>`insert into packages (distribution, format, name, version, arch, sha256, received_sha256, status, imported_at,
    imported_by, import_method, pipeline, validation_steps, coverage, deps_missing, tags)
    values ('jammy', 'deb', ${name}, '1', 'amd64', 's', 's', ${status}, ${daysAgo(arrived)}, 'x', 'upload', '{}', '[]', '{}', '[]', '[]')
    returning id`.execute(db)
  const id = rows[0]!.id
  if (quarantined !== null)
    await sql`insert into reviews (package_id, quarantined_at) values (${id}, ${daysAgo(quarantined)})`.execute(db)
  if (decided !== null)
    await sql`insert into decisions (package_id, package, version, arch, distribution, format, sha256, action, status, previous_status,
      justification, decided_by, decided_at, covers, policy_snapshot, active)
      values (${id}, ${name}, '1', 'amd64', 'jammy', 'deb', 's', 'reject', 'rejected', 'pending_review', 'x', 'x', ${daysAgo(decided)}, '[]', '{}', true)`.execute(
      db,
    )
}

test('only refused packages without anything new for the kept days go, and none with 0 days', async () => {
  for (const [name, status, ages] of CASES) await insert(name, status, ages)
  const deleted: string[] = []
  const reasons = new Set<unknown>()
  const stepFor = (days: number) =>
    refusedPackagesStep({
      db: database.db,
      clock: { now: () => new Date(NOW) },
      settings: () => ({ retention: { quarantine_days: days } }) as never,
      async deleteIds(ids, _by, _origin, extra) {
        const rows = await database.db
          .deleteFrom('packages')
          .where('id', 'in', [...ids])
          .returning('name')
          .execute()
        deleted.push(...rows.map(({ name }) => name))
        reasons.add(extra?.['reason'])
        return rows as never
      },
    })
  const progress = {
    by: 'test',
    before: { packages: 5 },
    save: async () => {},
    line: () => {},
    signal: new AbortController().signal,
  }
  expect(await stepFor(0).run(progress)).toEqual({ packages: 5 })
  expect(await stepFor(30).plan(progress.signal)).toEqual({ packages: 2 })
  expect(await stepFor(30).run(progress)).toEqual({ packages: 7 })
  expect(deleted.sort()).toEqual(['old-quarantined', 'old-rejected'])
  expect([...reasons]).toEqual(['retention.quarantine_days'])
})

test('a package that a person decides about after the plan stays', async () => {
  const { db } = database
  for (const name of ['decided-meanwhile', 'still-refused']) await insert(name, 'quarantined', [31, null, null])
  const deleted: string[] = []
  const step = refusedPackagesStep({
    ...{ db, clock: { now: () => new Date(NOW) } },
    settings: () => ({ retention: { quarantine_days: 30 } }) as never,
    async deleteIds(ids, _by, _origin, _extra, choose) {
      await db.updateTable('packages').set({ status: 'published' }).where('name', '=', 'decided-meanwhile').execute()
      const rows = await db.selectFrom('packages').selectAll().where('id', 'in', ids).execute()
      const chosen = await choose!(db, rows as never)
      deleted.push(...chosen.map(({ name }) => name))
      return chosen as never
    },
  })
  const progress = { by: 'test', before: null, save: async () => {}, line: () => {} }
  expect(await step.run({ ...progress, signal: new AbortController().signal })).toEqual({ packages: 1 })
  expect(deleted).toEqual(['still-refused'])
})
