// Measures response times with many packages: lists with search, filters and far pages, the review queue, counts.
// Usage: node bin/with-postgres.mjs node --import ./bench/typescript.mjs bench/list.ts [--packages 100000] [--rounds 50]
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startService } from '../test/service.ts'
import { createBenchDatabase, quantile } from './database.ts'
import { fillRows } from './rows.ts'

const { values } = parseArgs({
  options: { packages: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '50' } },
})
const count = Number(values.packages)
const rounds = Number(values.rounds)

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
        if (round >= 0) list.push(performance.now() - started)
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
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}
