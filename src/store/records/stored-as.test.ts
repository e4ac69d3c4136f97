// The search for packages by a file. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { sql, type RawBuilder } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Database } from '../db.ts'
import { artifactPage } from './artifact-query.ts'
import { digested, isAmong, named, storedAs } from './stored-as.ts'
import { createTotals } from './totals.ts'

const MANY = 20_000
let database: Database

const digestOf = async (text: string) => {
  const { rows } = await sql<{ d: string }>`select encode(sha256(${text}::bytea), 'hex') as d`.execute(database.db)
  return rows[0]!.d
}

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await sql`insert into distributions (codename, format, definition) values ('bookworm', 'deb', '{}')`.execute(db)
  await sql`insert into blobs (sha256, format, filename, size_bytes, sha512, sha1, md5, facts, files, created_at)
    select encode(sha256(('file ' || n)::bytea), 'hex'), 'deb', 'tool-' || n || '_1%3a1.0_amd64.deb', 1, '', '', '', '{}', '', now()
    from generate_series(1, ${MANY}) n`.execute(db)
  await sql`insert into packages (distribution, format, name, version, arch, status, sha256, received_sha256,
      imported_at, imported_by, import_method, pipeline, validation_steps, coverage, deps_missing, tags)
    select 'bookworm', 'deb', 'tool-' || n, '1:1.0', 'amd64', 'published', encode(sha256(('file ' || n)::bytea), 'hex'),
      encode(sha256((case when n % 2 = 0 then 'file ' else 'came as ' end || n)::bytea), 'hex'),
      now(), 'u', 'upload', '{}', '[]', '{}', '[]', '[]' from generate_series(1, ${MANY}) n`.execute(db)
  await sql`insert into artifacts (format, name, latest_id, search, latest_imported_at, distributions, statuses, archs)
    select format, name, id, name || ' cafe2026 ' || id, imported_at, array[distribution], array[status], array[arch] from packages`.execute(
    db,
  )
  for (const table of ['blobs', 'packages', 'artifacts']) await sql`analyze ${sql.table(table)}`.execute(db)
})
afterAll(() => database.close())

test.each<[what: string, text: () => string | Promise<string>, names: string[] | null]>([
  ['a whole digest', () => digestOf('file 7'), ['tool-7']],
  ['its beginning, in capitals', async () => (await digestOf('file 7')).slice(0, 12).toUpperCase(), ['tool-7']],
  ['a digest as tools write it', async () => `sha256:${await digestOf('file 7')}`, ['tool-7']],
  ['the digest of the bytes as they came', () => digestOf('came as 7'), ['tool-7']],
  ['the name of a file', () => 'tool-9_1%3a1.0_amd64.deb', ['tool-9']],
  ['its address', () => 'https://x.test/pool/ab/cdef/tool-9_1%253a1.0_amd64.deb', ['tool-9']],
  ['a part of such a name', () => 'tool-9_1', null],
  ['a digest that nothing has', () => 'ab'.repeat(32), null],
  ['a word', () => 'cafe2026', null],
  ['broken escapes', () => 'tool%zz', null],
])('%s', async (_, text, names) => {
  const found = await storedAs(database.db, await text())
  expect(found?.map(({ name }) => name) ?? null).toEqual(names)
})

test('the list has the package of the file; a text that is no file is looked for in names and descriptions', async () => {
  const totals = createTotals({ clock: { now: () => new Date(0) }, ttlSeconds: 0 })
  const list = async (search: string) => {
    const { items, total } = await artifactPage(database.db, totals, { search }, 'name', { page: 1, perPage: 2 })
    return [total, items.map(({ record }) => record.name)]
  }
  expect(await list((await digestOf('file 7')).slice(0, 16))).toEqual([1, ['tool-7']])
  expect(await list('cafe2026 1999')).toEqual([11, ['tool-1999', 'tool-19990']])
})

test.each<[string, () => RawBuilder<unknown>]>([
  ['a digest', () => digested('0123456789abcdef')],
  ['a file name', () => named('tool-9_1%3a1.0_amd64.deb')],
  [
    'the names that were found',
    () => sql`select latest_id from artifacts where ${isAmong([{ name: 'tool-9', format: 'deb' }])}`,
  ],
])('the query for %s reads an index, not the whole table', async (_, query) => {
  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${query()}`.execute(database.db)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain('Index')
  expect(plan).not.toContain('Seq Scan')
})
