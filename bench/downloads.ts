// Measures reading access logs and the queries on the result: 10,000,000 lines of 30 days in ten rotated logs, one in ten of them
// a package. Usage: npx node bench/downloads.ts [--lines 10000000]; PostgreSQL with bin/with-postgres.mjs
// On a machine with other work, the CPU time varies less than the elapsed time.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { createReaderBench, logLine, NOW } from '../src/operations/downloads/fixture.ts'
import { migrate, openDatabase, type Db } from '../src/store/db.ts'
import { createBenchDatabase, median } from './database.ts'
import { watchTurns } from '../test/turns.mjs'

const { values } = parseArgs({ options: { lines: { type: 'string', default: '10000000' } } })
const LINES = Number(values.lines)
const FILES = 10
const PACKAGES = 5000
const CLIENTS = 20_000
const DAYS = 30
/** One line in this many is a package; the others are indexes, mostly 304. */
const ONE_PACKAGE_IN = 10
const AGENTS = ['Debian APT-HTTP/1.3 (2.6.1)', 'Ubuntu APT-HTTP/1.3 (2.4.13)', 'curl/8.5.0', 'libdnf5/5.2']

const base = await mkdtemp(join(tmpdir(), 'gatehouse-bench-downloads-'))
const { url, drop } = await createBenchDatabase(base)
const database = await openDatabase(url)
const { db, engine } = database
await migrate(db)
const bench = await createReaderBench(db)
try {
  const targets = await offerPackages(db)
  for (let file = FILES - 1; file >= 0; file--) await writeLog(file, targets)
  console.log(`${engine}, ${LINES} lines, ${PACKAGES} packages, ${CLIENTS} addresses, load ${loadavg()[0]!.toFixed(1)}`)

  let [longest, long] = [0, 0]
  const unwatch = watchTurns(({ cpuMs }) => {
    longest = Math.max(longest, cpuMs)
    if (cpuMs > 50) long++
  })
  let peak = 0
  const memory = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 200)
  const before = process.memoryUsage.rss()
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  await bench.read()
  const used = process.cpuUsage(cpu)
  clearInterval(memory)
  unwatch()
  const seconds = (performance.now() - began) / 1000
  const cpuSeconds = (used.user + used.system) / 1e6
  console.log(
    `read in ${seconds.toFixed(0)} s, ${(LINES / seconds).toFixed(0)} lines/s; ${cpuSeconds.toFixed(0)} s of CPU`,
  )
  console.log(
    `memory ${mib(before)} MiB before, ${mib(peak)} at most; longest turn ${longest.toFixed(0)} ms of CPU, ${long} above 50`,
  )
  const again = performance.now()
  await bench.read()
  console.log(`nothing new: ${(performance.now() - again).toFixed(0)} ms`)

  const { rows } = await sql<{ size: number; n: number }>`select pg_total_relation_size('downloads')::bigint as size,
    (select count(*)::int from downloads) as n`.execute(db)
  console.log(`${rows[0]!.n} rows, ${mib(rows[0]!.size)} MiB`)
  await sql`analyze`.execute(db)
  await time('statistics of 30 days', () => bench.downloads.stats(30))
  await time('statistics of 365 days', () => bench.downloads.stats(365))
  const { summary, logs } = await bench.downloads.stats(30)
  console.log(JSON.stringify({ ...summary, lines: logs.reduce((sum, log) => sum + log.lines, 0) }))
  await time('blast radius of a name', () => bench.downloads.radiusOfName('package-1', 'deb'))
  const records = Array.from({ length: 50 }, (_, i) => ({ distribution: 'jammy', sha256: digest(i) }))
  await time('blast radius of 50 records', () => bench.downloads.radiusOf(records))
  await time('everybody who downloaded a name', async () => {
    const { pages } = await bench.downloads.ofName({ name: 'package-1', days: 30 })
    let listed = 0
    for await (const page of pages) listed += page.length
    return listed
  })
} finally {
  await bench.close()
  await database.close()
  await drop()
  await rm(base, { recursive: true, force: true })
}

async function time(what: string, work: () => Promise<unknown>): Promise<void> {
  const took: number[] = []
  for (let round = 0; round < 9; round++) {
    const began = performance.now()
    await work()
    took.push(performance.now() - began)
  }
  console.log(`${what}: ${median(took).toFixed(0)} ms`)
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0)
}

function digest(i: number): string {
  return createHash('sha256').update(String(i)).digest('hex')
}

/** @returns their paths on the listener */
async function offerPackages(db: Db): Promise<string[]> {
  const all = Array.from({ length: PACKAGES }, (_, i) => i)
  const digests = all.map(digest)
  await sql`insert into distributions (codename, format, definition) values ('jammy', 'deb', '{}')`.execute(db)
  await sql`insert into blobs (sha256, format, filename, size_bytes, sha512, sha1, md5, facts, files, created_at)
    select sha256, 'deb', 'package-' || i || '_1.0_amd64.deb', 50000, '', '', '', '{}', '', now()
    from unnest(${digests}::text[], ${all}::int[]) as t (sha256, i)`.execute(db)
  await sql`insert into offers (distribution, package_id, from_revision, sha256, filename, name, version, arch, began_by)
    select 'jammy', i, i, sha256, 'package-' || i || '_1.0_amd64.deb', 'package-' || i, '1.0', 'amd64', 'upload'
    from unnest(${digests}::text[], ${all}::int[]) as t (sha256, i)`.execute(db)
  return all.map((i) => {
    const sha256 = digest(i)
    return `/repos/dists/jammy/pool/${sha256.slice(0, 2)}/${sha256.slice(2, 18)}/package-${i}_1.0_amd64.deb`
  })
}

/** Writes the log that was rotated this many times; 0 is the current one. */
async function writeLog(file: number, targets: readonly string[]): Promise<void> {
  const name = file === 0 ? 'access-apt.log' : `access-apt.log.${file}`
  const out = createWriteStream(join(bench.ours, name), { highWaterMark: 1 << 20 })
  const each = Math.floor(LINES / FILES)
  const begin = NOW.getTime() - ((file + 1) * DAYS * 86_400_000) / FILES
  let text = ''
  for (let i = 0; i < each; i++) {
    const at = new Date(begin + Math.floor((i / each) * ((DAYS * 86_400_000) / FILES)))
    // A small generator with a fixed seed, so that every run writes the same lines.
    const random = Math.imul((file * each + i) ^ 0x9e3779b9, 0x85ebca6b) >>> 8
    const client = random % CLIENTS
    const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`
    const agent = AGENTS[client % AGENTS.length] as string
    const isPackage = i % ONE_PACKAGE_IN === 0
    // Some packages are requested much more often than others.
    const rank = Math.floor(PACKAGES * ((random >>> 4) / (1 << 20)) ** 3) % PACKAGES
    text += logLine({
      file: isPackage ? (targets[rank] as string) : '/repos/dists/jammy/InRelease',
      ...{ address, at, agent, status: isPackage ? 200 : 304, bytes: isPackage ? 50_000 : 0 },
    })
    if (text.length < 1 << 20) continue
    if (!out.write(text)) await once(out, 'drain')
    text = ''
  }
  out.end(text)
  await once(out, 'finish')
}
