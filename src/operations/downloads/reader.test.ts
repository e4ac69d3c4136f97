// Reading access logs: every download counts once, even when logs are renamed, copied, packed, cut off, or read by two processes.
import { appendFile, copyFile, mkdir, readFile, rename, symlink, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { insertRecord } from '../../packages/documents/fixture.ts'
import type { Database } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'
import { createReaderBench, logLine, NOW, targetOf, type Asked, type ReaderBench } from './fixture.ts'

let database: Database
let hello: PackageRow
let other: PackageRow
let bench: ReaderBench

beforeAll(async () => {
  database = await createTestDatabase()
  hello = await insertRecord(database.db, { name: 'hello' })
  other = await insertRecord(database.db, { name: 'other', version: '2:1.0' })
})
afterAll(() => database.close())

const TABLES = ['downloads', 'download_logs', 'download_log_choices', 'download_clients', 'download_agents'] as const
const COUNTERS = ['download_packages', 'download_files', 'download_days', 'download_package_days'] as const
const REST = ['download_file_days', 'download_totals', 'recent_downloads'] as const

beforeEach(async () => {
  bench = await createReaderBench(database.db)
})
afterEach(async () => {
  for (const table of [...TABLES, ...COUNTERS, ...REST]) await database.db.deleteFrom(table).execute()
  await bench.close()
})

const put = (name: string, ...lines: Asked[]) => appendFile(join(bench.ours, name), lines.map(logLine).join(''))
const LOG = 'access-apt.log'
const total = async (days = 30) => (await bench.downloads.stats(days)).summary.total_downloads
const logs = async () => (await bench.downloads.stats(30)).logs
const seconds = (n: number) => new Date(NOW.getTime() - n * 1000)

test('a download is counted with its package, client and day', async () => {
  await put(LOG, { file: hello, bytes: 1234 }, { file: other, address: '2001:db8::1', agent: 'curl/8.5.0' })
  await bench.read()
  const stats = await bench.downloads.stats(30)
  expect(stats).toMatchObject({
    summary: {
      ...{ total_downloads: 2, unique_packages: 2, unique_clients: 2, total_bytes: 2234, log_available: true },
      per_format: { deb: 2, rpm: 0, apk: 0 },
      per_client_type: { apt: 1, curl: 1, dnf: 0, other: 0 },
      ...{ avg_per_day: 0.07, peak_day: '2026-11-23' },
    },
    recent: [
      { ip: '2001:db8::1', name: 'other', version: '2:1.0', format: 'deb', status: 200, client_type: 'curl' },
      { ip: '192.0.2.1', name: 'hello', date: '2026-11-23T12:00:00.000+00:00', bytes: 1234, path: targetOf(hello) },
    ],
  })
  expect(stats.per_package).toContainEqual({
    ...{ name: 'hello', format: 'deb', downloads: 1, bytes: 1234, clients: 1, versions: ['1.0-1'] },
  })
  expect(stats.per_day).toHaveLength(30)
  expect(stats.per_day.at(-1)).toEqual({ date: '2026-11-23', downloads: 2, bytes: 2234 })
})

test('downloads are zero without a log', async () => {
  await bench.read()
  const stats = await bench.downloads.stats(7)
  expect(stats.summary).toMatchObject({ total_downloads: 0, log_available: false, peak_day: null })
  expect(stats.per_day).toHaveLength(7)
})

test.each<[string, Omit<Asked, 'file'>[], number]>([
  ['a whole answer and the rest of it after an interruption', [{}, { status: 206 }], 1],
  ['a range of which the beginning is unknown', [{ status: 206 }], 1],
  ['a file in four parts', [{ status: 206 }, { status: 206 }, { status: 206 }, { status: 206 }], 1],
  ['a file twice', [{}, {}], 2],
  ['two clients with parts', [{ status: 206 }, { status: 206, address: '192.0.2.2' }], 2],
  ['an answer from the object store', [{ status: 302, bytes: 0 }], 1],
  ['a file that the client has, and a look at it', [{ status: 304 }, { method: 'HEAD' }], 0],
  ['a file that is not there', [{ status: 404 }], 0],
])('%s: %j is counted as %i, in one look and in several', async (_, asked, expected) => {
  await put(LOG, ...asked.map((one) => ({ ...one, file: hello })))
  await bench.read()
  expect(await total()).toBe(expected)
  for (const one of asked) {
    await put('access-rpm.log', {
      ...one,
      file: hello,
      address: `198.51.100.${(one.address ?? '.1').split('.').at(-1)}`,
    })
    await bench.read()
  }
  expect(await total()).toBe(2 * expected)
})

test('the rest of a download that is fetched after midnight is no download of its own, and has its bytes', async () => {
  await put(LOG, { file: hello, at: new Date('2026-11-22T23:59:58Z') })
  await bench.read()
  await put(LOG, { file: hello, status: 206, at: new Date('2026-11-23T00:00:04Z'), bytes: 50 })
  await bench.read()
  expect((await bench.downloads.stats(30)).summary).toMatchObject({ total_downloads: 1, total_bytes: 1050 })
})

test('bytes that the object store gave are those of the file', async () => {
  await put(LOG, { file: hello, status: 302, bytes: 0 })
  await bench.read()
  expect((await bench.downloads.stats(30)).summary.total_bytes).toBe(hello.size_bytes)
})

test('indexes, other sites, packages that are not known and lines of other formats are no downloads', async () => {
  await put(
    LOG,
    ...['/repos/dists/jammy/InRelease', '/downloads/hello_1.0_amd64.deb', '/repos/dists/nowhere/pool/a/b/c.deb'].map(
      (file) => ({ file }),
    ),
    { file: targetOf(hello).replace('hello', 'never') },
    { file: targetOf(hello).replace(/pool\/../, 'pool/00') },
  )
  await appendFile(join(bench.ours, LOG), `what is this\n${'x'.repeat(500_000)}\n\u0000\u0001\n`)
  await put(LOG, { file: hello, at: new Date('2027-11-23T12:00:00Z') }, { file: hello })
  await bench.read()
  expect(await total()).toBe(1)
  expect(await logs()).toMatchObject([{ kind: 'listeners', lines: 10, unreadable: 4, unknown: 2 }])
  expect(bench.warnings).toEqual([])
})

test('a line is read once: by this process, the next one, and two at the same time', async () => {
  await put(LOG, { file: hello })
  await bench.read()
  await bench.read()
  await bench.another().catchUp(() => false)
  await put(LOG, ...Array.from({ length: 200 }, (_, i) => ({ file: hello, address: `10.0.0.${i}` })))
  await Promise.all([bench.read(), bench.another().catchUp(() => false), bench.another().catchUp(() => false)])
  expect(await total()).toBe(201)
  expect(await logs()).toMatchObject([{ lines: 201 }])
})

test('a line that is still being written is counted when it is whole', async () => {
  const line = logLine({ file: hello })
  await put(LOG, { file: other })
  await appendFile(join(bench.ours, LOG), line.slice(0, 100))
  await bench.read()
  expect(await total()).toBe(1)
  await appendFile(join(bench.ours, LOG), line.slice(100))
  await bench.read()
  expect(await total()).toBe(2)
})

test('rotation by renaming loses nothing and counts nothing twice, also when it was packed before it was read', async () => {
  const path = join(bench.ours, LOG)
  await put(LOG, { file: hello, at: seconds(50) }, { file: hello, at: seconds(49) })
  await bench.read()
  await put(LOG, { file: hello, at: seconds(40) })
  await rename(path, `${path}-20261123`)
  await put(LOG, { file: hello, at: seconds(30) })
  await bench.read()
  expect(await total()).toBe(4)

  await put(LOG, { file: hello, at: seconds(20) })
  await rename(path, `${path}.1`)
  await writeFile(`${path}.1.gz`, gzipSync(await readFile(`${path}.1`)))
  await unlink(`${path}.1`)
  await put(LOG, { file: hello, at: seconds(10) })
  await bench.read()
  expect(await total()).toBe(6)
  await rename(`${path}.1.gz`, `${path}.2.gz`)
  await bench.another().catchUp(() => false)
  expect(await total()).toBe(6)
  expect(await logs()).toHaveLength(3)
})

test('rotation by copying and truncating loses nothing and counts nothing twice', async () => {
  const path = join(bench.ours, LOG)
  await put(LOG, { file: hello, at: seconds(50) })
  await bench.read()
  await put(LOG, { file: hello, at: seconds(40) })
  await copyFile(path, `${path}.1`)
  await truncate(path, 0)
  await bench.read()
  expect(await total()).toBe(2)
  await put(LOG, { file: hello, at: seconds(30) })
  await bench.read()
  expect(await total()).toBe(3)
})

test('a packed log that is cut off is read up to there, and on when it is whole', async () => {
  const lines = Array.from({ length: 5000 }, (_, i) => ({ file: hello, address: `10.1.${i >> 8}.${i & 255}` }))
  const packed = gzipSync(lines.map(logLine).join(''))
  const path = join(bench.ours, `${LOG}.1.gz`)
  await writeFile(path, packed.subarray(0, packed.length / 2))
  await bench.read()
  const half = await total()
  expect(half).toBeGreaterThan(500)
  expect(half).toBeLessThan(5000)
  await writeFile(path, packed)
  await bench.read()
  expect(await total()).toBe(5000)
  expect(bench.warnings).toEqual([])
})

test('two logs that begin with the same line are two logs', async () => {
  await put(LOG, { file: hello }, { file: hello, at: seconds(1) })
  await put('access-rpm.log', { file: hello }, { file: other, at: seconds(2) })
  await bench.read()
  await bench.read()
  expect(await total()).toBe(4)
})

test('logs of other machines are in directories of their own', async () => {
  await mkdir(join(bench.ours, 'edge-1'))
  await put(join('edge-1', LOG), { file: hello })
  await bench.read()
  expect(await total()).toBe(1)
})

test('a process that dies before it committed leaves nothing, and one that is stopped leaves the rest', async () => {
  const lines = Array.from({ length: 6_000 }, (_, i) => ({
    file: hello,
    address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
  }))
  await put(LOG, ...lines)
  const dies = bench.another({
    checkpoint: () => {
      throw new Error('died')
    },
  })
  await dies.catchUp(() => false)
  expect(bench.warnings).toHaveLength(1)
  expect(await total()).toBe(0)
  let looks = 0
  await bench.another().catchUp(() => ++looks > 3)
  const part = await total()
  expect(part).toBeGreaterThan(0)
  expect(part).toBeLessThan(6_000)
  await bench.read()
  expect(await total()).toBe(6_000)
})

test('many downloads are counted in several transactions: one of all of them would hold the process', async () => {
  const lines = Array.from({ length: 6_000 }, (_, i) => ({ file: hello, address: `10.0.${i >> 8}.${i & 255}` }))
  await put(LOG, ...lines)
  let transactions = 0
  const counting = () => {
    transactions++
  }
  await bench.another({ checkpoint: counting }).catchUp(() => false)
  expect(transactions).toBeGreaterThanOrEqual(3)
  expect(await total()).toBe(6_000)
})

test('logs of nginx count from the time on at which they are named, and those of the listeners do not', async () => {
  const access = join(bench.nginx, 'repos.access.log')
  const nginx = (...lines: Asked[]) => appendFile(access, lines.map(logLine).join(''))
  await put(LOG, { file: hello, at: seconds(100) })
  await nginx({ file: hello, at: seconds(100) })
  await bench.read()
  expect(await total()).toBe(1)

  bench.settings.downloads.nginx_logs = `${access}, ${join(bench.nginx, 'none.log')}`
  await bench.read()
  expect(await total()).toBe(1)
  bench.clock.at = new Date(NOW.getTime() + 60_000)
  await put(LOG, { file: hello, at: bench.clock.at })
  await nginx({ file: hello, at: bench.clock.at })
  await bench.read()
  expect(await total()).toBe(2)
  await rename(access, `${access}.1`)
  await bench.read()
  expect(await total()).toBe(2)

  bench.settings.downloads.count = 'both'
  bench.clock.at = new Date(NOW.getTime() + 120_000)
  await bench.read()
  await put(LOG, { file: hello, at: bench.clock.at })
  await nginx({ file: other, at: bench.clock.at })
  await bench.read()
  expect(await total()).toBe(4)

  bench.settings.downloads.nginx_logs = ''
  bench.clock.at = new Date(NOW.getTime() + 180_000)
  await put(LOG, { file: hello, at: bench.clock.at })
  await bench.read()
  expect(await total()).toBe(5)
})

test('downloads that nginx serves between the choice and the next look at the logs count', async () => {
  const access = join(bench.nginx, 'repos.access.log')
  await put(LOG, { file: hello, at: seconds(100) })
  await bench.read()
  bench.settings.downloads.nginx_logs = access
  await bench.reader.noteChoice()
  const at = new Date(NOW.getTime() + 2000)
  await appendFile(access, logLine({ file: hello, at }))
  bench.clock.at = new Date(NOW.getTime() + 10_000)
  await bench.read()
  expect(await total()).toBe(2)
})

test('a log outside of the allowed directories is not read, also not through a link', async () => {
  const outside = join(bench.ours, 'access-outside.log')
  await put('access-outside.log', { file: hello })
  await symlink(outside, join(bench.nginx, 'linked.log'))
  bench.settings.downloads.nginx_logs = `${join(bench.nginx, 'linked.log')},${outside}`
  await bench.read()
  await bench.read()
  expect(await total()).toBe(0)
  expect(bench.warnings).toHaveLength(2)
})

test('days that are not kept are not counted', async () => {
  bench.settings.retention.access_log_days = 10
  await put(LOG, ...[9, 10, 11, 200].map((days) => ({ file: hello, at: seconds(days * 86_400) })))
  await bench.read()
  expect(await total(365)).toBe(2)
})
