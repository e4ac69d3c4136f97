import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from 'kysely'
import { createTestDatabase } from '../../../test/database.ts'
import type { Database } from '../db.ts'
import { artifactPage, LISTED_VERSIONS } from './artifact-query.ts'
import { rowsWithFindings } from '../../packages/records/review-query.ts'
import { createTotals } from './totals.ts'

const MEGABYTE = 1_000_000

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await sql`insert into distributions (codename, format, definition) values ('bookworm', 'deb', '{}')`.execute(db)
  await sql`insert into blobs (sha256, format, filename, size_bytes, sha512, sha1, md5, facts, files, created_at, description, dependencies)
    values ('a', 'deb', 'a.deb', 1, '', '', '', '{}', '', now(), repeat('é', ${MEGABYTE}), jsonb_build_array(repeat('d', ${MEGABYTE})))`.execute(
    db,
  )
  await sql`insert into packages (distribution, format, name, version, arch, status, sha256, received_sha256,
      imported_at, imported_by, import_method, pipeline, validation_steps, coverage, deps_missing, tags, cve_results)
    select 'bookworm', 'deb', 'large-' || i, '1', 'amd64', 'published', 'a', 'a',
      now(), 'u', 'upload', '{}', jsonb_build_array(repeat('s', ${MEGABYTE})), '{}', (select jsonb_agg('dep-' || n) from generate_series(1, 50000) n), '[]',
      case when i = 2 then null else (select jsonb_agg(jsonb_build_object('id', 'CVE-' || n)) from generate_series(1, 50000) n) end
    from generate_series(1, 3) i`.execute(db)
  await sql`insert into artifacts (format, name, latest_id, search, latest_imported_at, distributions, statuses, archs)
    select format, name, id, name, imported_at, array[distribution], array[status], array[arch] from packages`.execute(
    db,
  )
})
afterAll(() => database.close())

test('a page of packages with megabytes of texts and lists stays small', async () => {
  const totals = createTotals({ clock: { now: () => new Date(0) }, ttlSeconds: 0 })
  const { items } = await artifactPage(database.db, totals, {}, 'name', { page: 1, perPage: 200 })
  expect(items).toHaveLength(3)
  expect(items[0]!.record.description).toBe('é'.repeat(300))
  expect(items[0]!.record.deps_missing).toHaveLength(20)
  expect(JSON.stringify(items).length).toBeLessThan(10_000)
})

test('a page lists the latest versions of a name that has many, and counts all of them', async () => {
  const { db } = database
  // Each version exists for two architectures.
  await sql`insert into packages (distribution, format, name, version, arch, status, sha256, received_sha256,
      imported_at, imported_by, import_method, pipeline, validation_steps, coverage, deps_missing, tags)
    select 'bookworm', 'deb', 'many', '1.' || n, arch, 'published', 'a', 'a', now(), 'u', 'upload', '{}', '[]', '{}', '[]', '[]'
    from generate_series(1, 150) n, unnest(array['amd64', 'arm64']) arch order by n`.execute(db)
  await sql`insert into artifacts (format, name, latest_id, search, latest_imported_at, distributions, statuses, archs)
    select 'deb', 'many', max(id), 'many', now(), array['bookworm'], array['published'], array['amd64'] from packages where name = 'many'`.execute(
    db,
  )
  const totals = createTotals({ clock: { now: () => new Date(0) }, ttlSeconds: 0 })
  const { items } = await artifactPage(db, totals, { search: 'many' }, 'name', { page: 1, perPage: 200 })
  const last = Array.from({ length: LISTED_VERSIONS }, (_, n) => `1.${150 - n}`)
  expect(items.map(({ versions, versionsTotal }) => [versions, versionsTotal])).toEqual([[last, 150]])
})

test('a page of the review has the first findings of each package and no other texts', async () => {
  const rows = await rowsWithFindings(database.db, [3, 2, 1], 4)
  const first = [1, 2, 3, 4].map((n) => ({ id: `CVE-${n}` }))
  expect(rows.map(({ id, cve_results: findings }) => [id, findings])).toEqual([
    [3, first],
    [2, null],
    [1, first],
  ])
  expect(JSON.stringify(rows).length).toBeLessThan(10_000)
})
