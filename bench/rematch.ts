// Measures matching many stored packages against the changed advisories of one day.
// Usage: node bin/with-postgres.mjs npx node bench/rematch.ts [--packages 100000] [--advisories 500]
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { openDatabase } from '../src/store/db.ts'
import { writeAdvisories, type SampleAdvisory } from '../test/samples/osv.ts'
import { startService } from '../test/service.ts'
import { createBenchDatabase } from './database.ts'
import { fillRows } from './rows.ts'

const { values } = parseArgs({
  options: { packages: { type: 'string', default: '100000' }, advisories: { type: 'string', default: '500' } },
})
const count = Number(values.packages)
const ECOSYSTEMS = ['Ubuntu:22.04:LTS', 'Debian:12', 'AlmaLinux:9', 'Alpine:v3.21']

/** Half of them name a binary package, the other half a source package with several binary packages. */
function advisories(from: number, to: number): SampleAdvisory[] {
  return Array.from({ length: to - from }, (_, n) => {
    const i = from + n
    const name = i % 2 === 0 ? `sample-${String((i * 97) % count).padStart(6, '0')}` : `source-${(i * 89) % 20000}`
    return {
      id: `SA-${i}`,
      ecosystem: ECOSYSTEMS[i % 4] as string,
      package: name,
      fixed: null,
      cve: `CVE-2026-${10_000 + i}`,
      severity: i % 5 === 0 ? 'high' : 'low',
    }
  })
}

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-rematch-'))
const { url, drop } = await createBenchDatabase(base)
const directory = join(base, 'osv')
try {
  await writeAdvisories(directory, advisories(0, 2000))
  const service = await startService({
    reposDir: join(base, 'repos'),
    databaseUrl: url,
    env: { REPO_FORMAT: 'all', SVC_OSV_DIR: directory },
  })
  const update = async () => {
    for (;;) {
      const { status, body } = await service.call('POST', '/security/vulnscan/update')
      if (status === 200) return body
    }
  }
  const reports = async () =>
    (
      (await service.call('GET', '/tasks/?kind=rematch&state=done')).body.items as { result: Record<string, number> }[]
    ).map(({ result }) => result)
  try {
    await update()
    // Fills the table after the first import, which is matched against all packages.
    await (await fillRows(url, count)).close()
    const before = (await reports()).length
    await writeAdvisories(directory, advisories(2000, 2000 + Number(values.advisories)))
    const started = performance.now()
    await update()
    const took = performance.now() - started
    const [report, ...earlier] = await reports()
    if (!report || earlier.length !== before) throw new Error('the packages were not matched')
    const database = await openDatabase(url)
    const { rows } = await sql<{
      n: number
    }>`select count(*)::int as n from findings where cve like 'CVE-2026-%'`.execute(database.db)
    await database.close()
    const peak = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${service.process.pid}/status`, 'utf8'))?.[1]
    console.log(
      `${count} packages, ${values.advisories} new advisories, ${process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
    )
    console.log(
      `matched ${report['matched']} packages, ${report['changed']} changed, ${report['reopened']} back in review: ${report['milliseconds']} ms, ${took.toFixed(0)} ms including the import`,
    )
    console.log(`${rows[0]?.n} findings stored, peak memory ${Math.round(Number(peak) / 1024)} MiB`)
  } finally {
    await service.stop()
  }
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}
