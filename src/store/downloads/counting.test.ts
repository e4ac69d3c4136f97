// Counters of downloads compared with a list of all of them, and the state after old days are removed.
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Database } from '../db.ts'
import { addDownloads } from './counting.ts'
import type { DownloadedFile, Given } from './identified.ts'
import { eachDay, mostDownloaded, sumsSince } from './download-query.ts'
import { removeOldDownloads } from './removal.ts'
import {
  clientDownloads,
  downloadedFiles,
  downloadedNames,
  recordKey,
  sumsOfFiles,
  whoDownloaded,
} from './who-query.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const TABLES = [
  ...(['downloads', 'download_clients', 'download_agents', 'download_packages', 'download_files'] as const),
  ...(['download_days', 'download_package_days', 'download_file_days', 'download_totals', 'recent_downloads'] as const),
]
const clear = async () => {
  for (const table of TABLES) await database.db.deleteFrom(table).execute()
}

const file = (name: string, version: string, distribution = 'jammy'): DownloadedFile => ({
  ...{ distribution, format: 'deb', sha256: `${name}-${version}`, filename: `${name}_${version}.deb`, name, version },
  ...{ arch: 'amd64', sizeBytes: 100 },
})
const FILES = [file('a', '1'), file('a', '2'), file('a', '1', 'noble'), file('b', '1'), file('c', '1')]
const TODAY = 20_000

const events = fc.array(
  fc.record({
    file: fc.constantFrom(...FILES),
    address: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'),
    agent: fc.constantFrom('apt', 'curl'),
    day: fc.integer({ min: TODAY - 5, max: TODAY }),
    whole: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
)
type Event = Omit<Given, 'clientType' | 'beganWithRange' | 'bytes'>

/** One row for each key, as the reader passes them on. */
function batchOf(list: readonly Event[]): Given[] {
  const rows = new Map<string, Given>()
  for (const one of list) {
    const key = `${recordKey(one.file)} ${one.address} ${one.agent} ${one.day}`
    const whole = one.whole + (rows.get(key)?.whole ?? 0)
    rows.set(key, { ...one, whole, clientType: one.agent, beganWithRange: false, bytes: 100 * whole })
  }
  return [...rows.values()]
}
const distinct = (list: readonly string[]) => new Set(list).size
const totalOf = (list: readonly Event[]) => list.reduce((sum, { whole }) => sum + whole, 0)

test('sums and distinct clients of every range of days are those of the list, in whatever order its batches come', async () => {
  const { db } = database
  await fc.assert(
    fc.asyncProperty(fc.array(events, { minLength: 1, maxLength: 4 }), async (batches) => {
      await clear()
      for (const batch of batches)
        await db.transaction().execute((tx) => addDownloads(tx, batchOf(batch), [], TODAY - 30))
      const all = batches.flat()
      for (const from of [TODAY - 5, TODAY - 2, TODAY]) {
        const list = all.filter(({ day }) => day >= from)
        const sums = await sumsSince(db, from)
        expect(sums.get('all')?.downloads ?? 0).toBe(totalOf(list))
        expect(sums.get('all')?.clients ?? 0).toBe(distinct(list.map(({ address }) => address)))
        expect(sums.get('packages')?.clients ?? 0).toBe(distinct(list.map((one) => one.file.name)))
        for (const { name, downloads, clients, versions } of await mostDownloaded(db, from, 50)) {
          const own = list.filter((one) => one.file.name === name)
          expect([name, downloads]).toEqual([name, totalOf(own)])
          expect([name, clients]).toEqual([name, distinct(own.map(({ address }) => address))])
          expect(versions.sort()).toEqual([...new Set(own.map((one) => one.file.version))].sort())
        }
        const radius = await whoDownloaded(db, FILES, from, 1000)
        for (const one of FILES) {
          const own = list.filter((event) => event.file === one)
          const found = radius.get(recordKey(one))
          expect(found?.downloads ?? 0).toBe(totalOf(own))
          expect(found?.clients ?? 0).toBe(distinct(own.map(({ address }) => address)))
          expect(found?.downloaded_by.reduce((sum, { downloads }) => sum + downloads, 0) ?? 0).toBe(totalOf(own))
        }
        for (const [known] of [await downloadedNames(db, 'a')]) {
          if (!known) continue
          const own = list.filter((one) => one.file.name === 'a' && one.file.version === '1')
          const files = await downloadedFiles(db, known.id, { version: '1' }, from)
          expect(await sumsOfFiles(db, known.id, files, from)).toMatchObject({
            downloads: totalOf(own),
            clients: distinct(own.map(({ address }) => address)),
          })
        }
      }
    }),
    { numRuns: 12 },
  )
})

test('every client of a file is listed once for each day, in pages, the latest first', async () => {
  const { db } = database
  await clear()
  const many = Array.from({ length: 2500 }, (_, i) => ({
    ...{ file: FILES[0]!, address: `10.1.${i >> 8}.${i & 255}`, agent: 'apt', day: TODAY - (i % 3), whole: 1 },
  }))
  await db.transaction().execute((tx) => addDownloads(tx, batchOf(many), [], 0))
  const [known] = await downloadedNames(db, 'a', 'deb')
  const found = []
  for await (const page of clientDownloads(db, await downloadedFiles(db, known!.id, {}, 0), TODAY - 1))
    found.push(...page)
  const wanted = many.filter(({ day }) => day >= TODAY - 1)
  expect(found.map(({ ip }) => ip).sort()).toEqual(wanted.map(({ address }) => address).sort())
  expect(found.map(({ date }) => date)).toEqual(
    found
      .map(({ date }) => date)
      .sort()
      .reverse(),
  )
  expect(found[0]).toMatchObject({ date: '2024-10-04', user_agent: 'apt', version: '1', distribution: 'jammy' })
})

test('old days go with everything that names a client; what is left counts on', async () => {
  const { db } = database
  await clear()
  const add = (...list: Event[]) => db.transaction().execute((tx) => addDownloads(tx, batchOf(list), [], TODAY - 10))
  const [one, other] = [FILES[0]!, FILES[3]!]
  const by = (of: DownloadedFile, address: string, day: number) => ({
    file: of,
    address,
    agent: address,
    day,
    whole: 1,
  })
  await add(by(one, '10.0.0.1', TODAY - 3), by(one, '10.0.0.2', TODAY - 2), by(one, '10.0.0.2', TODAY))
  await add(by(other, '10.0.0.3', TODAY - 3))
  expect(await removeOldDownloads(db, TODAY - 1, new AbortController().signal)).toBe(3)
  for (const [table, n] of [
    ...(['downloads', 'download_clients', 'download_agents', 'download_packages', 'download_files'] as const).map(
      (table) => [table, 1] as const,
    ),
    ['download_package_days', 1],
    ['download_file_days', 1],
  ] as const)
    expect([table, (await db.selectFrom(table).selectAll().execute()).length]).toEqual([table, n])
  await add(by(one, '10.0.0.1', TODAY), by(other, '10.0.0.3', TODAY))
  const sums = await sumsSince(db, 0)
  expect(sums.get('all')).toMatchObject({ downloads: 3, clients: 3 })
  expect(sums.get('packages')?.clients).toBe(2)
  const totals = await db.selectFrom('download_totals').selectAll().execute()
  expect(totals).toEqual([{ format: 'deb', downloads: 6 }])
})

test('counters of many packages and days go in small statements', async () => {
  const { db } = database
  const tables = ['download_package_days', 'download_days', 'recent_downloads']
  const count = async (table: string) =>
    (await sql<{ n: number }>`select count(*)::int as n from ${sql.table(table)}`.execute(db)).rows[0]?.n
  await sql`insert into download_package_days select day, package, 1, 1, 1
    from generate_series(1, 12) day, generate_series(1, 1000) package`.execute(db)
  await sql`insert into download_days select 'p' || n, day, 1, 1, 1
    from generate_series(1, 12) day, generate_series(1, 1000) n`.execute(db)
  await sql`insert into recent_downloads (at, file_id, address, agent, client_type, path, status, bytes)
    select 'epoch', 1, '', '', '', '', 200, 1 from generate_series(1, 12000)`.execute(db)
  await sql`create function refuse_many() returns trigger language plpgsql as $$ begin
    if (select count(*) from gone) > 5000 then raise exception 'too many rows of % at once', tg_table_name; end if;
    return null; end $$`.execute(db)
  for (const table of tables)
    await sql`create trigger refuse_many after delete on ${sql.table(table)} referencing old table as gone
      for each statement execute function refuse_many()`.execute(db)
  try {
    const before = await Promise.all(tables.map(count))
    await removeOldDownloads(db, 13, new AbortController().signal)
    for (const [n, table] of tables.entries()) expect(await count(table)).toBe(Number(before[n]) - 12_000)
  } finally {
    await sql`drop function refuse_many cascade`.execute(db)
  }
})

test('days without a download are listed with zeros', () => {
  expect(eachDay(TODAY - 1, TODAY, [{ day: TODAY, downloads: 2, bytes: 5 }])).toEqual([
    { date: '2024-10-03', downloads: 0, bytes: 0 },
    { date: '2024-10-04', downloads: 2, bytes: 5 },
  ])
})
