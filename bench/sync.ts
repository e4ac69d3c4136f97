// Measures the sync of an upstream apt repository into the catalog: the first one, an unchanged one, and one that finds another
// Release with the same packages. Then aptly and reprepro on the same upstream, metadata only.
// Usage: npx node bench/sync.ts [--suite bookworm] [--peers]; PostgreSQL with bin/with-postgres.mjs
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { formats } from '../src/formats/index.ts'
import { syncKind } from '../src/imports/sync.ts'
import { createSources } from '../src/imports/sources.ts'
import { systemClock, wait } from '../src/kernel/clock.ts'
import { createHttpClient } from '../src/kernel/http-client.ts'
import { migrate, openDatabase } from '../src/store/db.ts'
import { realReaders } from '../src/formats/readers/fixture.ts'
import { createUpstreams } from '../src/upstream/upstream.ts'
import { createBenchDatabase } from './database.ts'
import { debianSuite } from '../test/debian-mirror.ts'

const { values } = parseArgs({
  options: { suite: { type: 'string', default: 'bookworm' }, peers: { type: 'boolean', default: false } },
})
const upstream = await debianSuite(values.suite)
const base = await mkdtemp(join(tmpdir(), 'gatehouse-sync-'))
const { url, drop } = await createBenchDatabase(base)
const database = await openDatabase(url)
const { db } = database
const readers = realReaders(base)
const http = createHttpClient({ allowPrivate: true })
const delay = monitorEventLoopDelay({ resolution: 5 })

const memory = async (line: string) =>
  Math.round(Number(new RegExp(`${line}:\\s+(\\d+)`).exec(await readFile('/proc/self/status', 'utf8'))?.[1]) / 1024)

try {
  await migrate(db)
  const clock = systemClock
  const audit = { record: async () => {} }
  const upstreams = createUpstreams({
    http,
    clock,
    formats,
    readers: { quick: readers, slow: readers },
    stagingDirectory: base,
    importDirectories: [],
    wait,
  })
  // No distribution takes the packages.
  const registry = { find: () => null } as never
  const sources = createSources({
    db,
    clock,
    audit,
    formats,
    upstreams,
    registry,
    settings: () => ({ sources: {} }) as never,
    mayBePrivate: true,
  })
  const caller = { name: 'bench', role: 'admin' } as never
  const { id } = await sources.create(
    {
      ...{ name: 'debian', type: 'apt', url: upstream.url, distribution: upstream.suite },
      ...{ components: [upstream.component], arch: upstream.architecture, gpg_key: upstream.keys.join('\n') },
    },
    caller,
    { ip: null, requestId: null },
  )
  const kind = syncKind({ db, clock, audit, sources, upstreams, registry })
  const run = async (name: string) => {
    const before = await memory('VmRSS')
    await writeFile('/proc/self/clear_refs', '5')
    delay.reset()
    delay.enable()
    const used = process.cpuUsage()
    const began = performance.now()
    const line = (message: string) =>
      process.env['VERBOSE'] && console.log(`  ${((performance.now() - began) / 1000).toFixed(2)} ${message}`)
    const signal = new AbortController().signal
    await kind.run({
      key: String(id),
      arguments: {},
      attempt: 1,
      cursor: null,
      save: async () => {},
      line,
      enqueue: async () => 0,
      signal,
    } as never)
    const seconds = (performance.now() - began) / 1000
    const { user, system } = process.cpuUsage(used)
    delay.disable()
    console.log(
      `${name}: ${seconds.toFixed(2)} s, ${((user + system) / 1e6).toFixed(1)} s of processor time in this process, memory ${before} -> at most ${await memory('VmHWM')} MiB, event loop held for ${(delay.max / 1e6).toFixed(0)} ms, load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
  await run('first sync')
  await run('unchanged')
  await db.updateTable('sources').set({ seen: null }).execute()
  await run('another Release, same packages')
  // A twentieth of the packages is unknown.
  await sql`delete from catalog where path like '%/python3-%'`.execute(db)
  await sql`delete from catalog_runs r where exists (select from unnest(fingerprints) f where f not in (select fingerprint from catalog))`.execute(
    db,
  )
  await db.updateTable('sources').set({ seen: null }).execute()
  await run('another Release, some packages new')
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from catalog`.execute(db)
  console.log(`${rows[0]?.n} packages in the catalog, ${database.engine}`)
} finally {
  await http.close()
  await readers.close()
  await database.close()
  await drop()
}
if (values.peers) await peers()
await rm(base, { recursive: true })

/** Filters that match no package, so that the peers only read the indexes. */
async function peers(): Promise<void> {
  const timed = (name: string, command: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
    const began = performance.now()
    execFileSync('/usr/bin/time', ['-f', '%M', command, ...args], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    console.log(`${name}: ${((performance.now() - began) / 1000).toFixed(2)} s`)
  }
  const aptly = join(base, 'aptly.conf')
  await writeFile(aptly, JSON.stringify({ rootDir: join(base, 'aptly') }))
  const at = ['-config', aptly]
  const filter = [
    '-keyring',
    upstream.keyring,
    '-architectures',
    upstream.architecture,
    '-filter',
    'Name (= no-such-package)',
  ]
  execFileSync('aptly', [
    ...at,
    'mirror',
    'create',
    ...filter,
    'debian',
    upstream.url,
    upstream.suite,
    upstream.component,
  ])
  for (const name of ['aptly mirror update, first', 'aptly mirror update, again'])
    timed(name, 'aptly', [...at, 'mirror', 'update', '-keyring', upstream.keyring, 'debian'])
  const conf = join(base, 'reprepro', 'conf')
  await mkdir(conf, { recursive: true })
  const { suite, component, architecture } = upstream
  await writeFile(
    join(conf, 'distributions'),
    `Codename: ${suite}\nArchitectures: ${architecture}\nComponents: ${component}\nUpdate: debian\n`,
  )
  await writeFile(
    join(conf, 'updates'),
    `Name: debian\nMethod: ${upstream.url}\nSuite: ${suite}\nComponents: ${component}\nArchitectures: ${architecture}\nVerifyRelease: blindtrust\nFilterFormula: Package (== no-such-package)\n`,
  )
  for (const name of ['reprepro update, first', 'reprepro update, again'])
    timed(name, 'reprepro', ['-b', join(base, 'reprepro'), 'update', suite])
}
