// Measures response times with many packages: lists with search, filters and far pages, the review queue, counts.
// Usage: node bin/with-postgres.mjs npx node bench/list.ts [--packages 100000] [--rounds 50] [--plans]
// With --plans it also prints how many rows each page reads, which does not depend on other work of the machine.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startService } from '../test/service.ts'
import { createBenchDatabase, quantile } from './database.ts'
import { explaining, openPlans } from './plans.ts'
import { fillRows } from './rows.ts'

const { values } = parseArgs({
  options: {
    packages: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '50' },
    plans: { type: 'boolean', default: false },
  },
})
const count = Number(values.packages)
const rounds = Number(values.rounds)

/** Smaller tables may be read completely: they have some rows for each distribution or job. */
const SMALL = 1000
const LAST = Math.floor(count / 50)
const PAGES = [
  '/artifacts/',
  `/artifacts/?page=${LAST}`,
  `/artifacts/?page=${Math.floor(LAST / 2)}&sort=-imported_at`,
  '/artifacts/?search=sample-0123',
  '/artifacts/?search=number%2077',
  '/artifacts/?search=nothing-like-it',
  '/artifacts/?search=reads&page=1000',
  '/artifacts/?distribution=almalinux9&status=pending_review',
  '/artifacts/?format=apk&sort=imported_at&page=200',
  '/artifacts/sample-000042',
  '/security/packages?severity=medium',
  '/security/packages?status=pending_review&page=3',
  '/security/review-queue',
  '/security/vulnerabilities',
  '/security/vulnerabilities?distribution=jammy&page=40',
  '/artifacts/audit/logs',
  '/dashboard/summary',
  '/dashboard/stats',
  '/dashboard/history?days=365',
  '/health',
  '/metrics',
]

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-list-'))
const { url, drop } = await createBenchDatabase(base)
try {
  await (await fillRows(url, count)).close()
  // The measured requests only read tables, so nothing needs to be published.
  const service = await startService({ reposDir: join(base, 'repos'), databaseUrl: url, env: { REPO_FORMAT: 'all' } })
  try {
    console.log(
      `${count} packages, ${process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'}, Node ${process.version}, ${rounds} rounds, load ${loadavg()[0]?.toFixed(1)}`,
    )
    const times = new Map<string, number[]>(PAGES.map((page) => [page, []]))
    for (let round = -2; round < rounds; round++) {
      for (const [page, list] of times) {
        const started = performance.now()
        const { status, body } = await service.call('GET', page)
        if (status !== 200) throw new Error(`${page}: ${status} ${JSON.stringify(body)}`)
        const took = performance.now() - started
        if (round >= 0) list.push(took)
        else if (took > 1000) console.log(`${page}: ${(took / 1000).toFixed(1)} s when it is asked for first`)
      }
    }
    console.log('page'.padEnd(70), 'median', '   p99')
    for (const [page, list] of times)
      console.log(
        page.padEnd(70),
        quantile(list, 0.5).toFixed(1).padStart(6),
        quantile(list, 0.99).toFixed(1).padStart(6),
      )
  } finally {
    await service.stop()
  }
  if (values.plans) await tellReads(url)
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}

async function tellReads(databaseUrl: string): Promise<void> {
  const env = { REPO_FORMAT: 'all' }
  const service = await startService({ reposDir: join(base, 'repos'), databaseUrl: explaining(databaseUrl), env })
  const plans = await openPlans(databaseUrl)
  try {
    console.log('page'.padEnd(70), '  rows', 'scanned; tables of most rows')
    for (const page of PAGES) {
      await service.call('GET', page)
      await plans.since()
      await service.call('GET', page)
      const reads = [...(await plans.since())].sort(([, a], [, b]) => b.rows - a.rows)
      const total = reads.reduce((sum, [, { rows }]) => sum + rows, 0)
      const scanned = reads.filter((one) => one[1].scanned >= SMALL).map(([table, one]) => `${table} ${one.scanned}`)
      const most = reads.slice(0, 4).map(([table, { rows }]) => `${table} ${rows}`)
      console.log(page.padEnd(70), String(total).padStart(6), scanned.join(' ') || 'nothing', ';', most.join(', '))
    }
  } finally {
    await plans.close()
    await service.stop()
  }
}
