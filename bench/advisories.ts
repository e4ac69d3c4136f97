// Measures lists of findings, one by one and by advisory, by a part of package names: 200,000 findings in 10,000 packages.
// Usage: npx node bench/advisories.ts [--packages 10000] [--each 20] [--rounds 15]; PostgreSQL with bin/with-postgres.mjs
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import {
  advisoryPage,
  vulnerabilityPage,
  type VulnerabilityFilter,
} from '../src/packages/records/vulnerability-query.ts'
import { createBenchDatabase, quantile } from './database.ts'
import { fillRows } from './rows.ts'

const { values } = parseArgs({
  options: {
    packages: { type: 'string', default: '10000' },
    each: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '15' },
  },
})
const [packages, each, rounds] = [values.packages, values.each, values.rounds].map(Number) as [number, number, number]

const base = await mkdtemp(join(tmpdir(), 'bench-advisories-'))
const { url, drop } = await createBenchDatabase(base)
const { db, engine, close } = await fillRows(url, packages)
try {
  // An advisory concerns between some packages and some thousand; a tenth of them concern many.
  await sql`insert into findings (package_id, cve, distribution, severity, fix_state, action, in_kev, epss, first_seen, risk, finding)
    select package_id, cve, distribution, severity, 'fixed', 'warn', n % 97 = 0, (n % 100) / 100.0, now(), risk, jsonb_build_object('id', cve,
      'severity', severity, 'cvss', 5.5, 'description', repeat('what it lets others do ', 12), 'fix_state', 'fixed', 'fix_versions', '["2.0"]'::jsonb, 'urls', '[]'::jsonb)
    from (select p.id as package_id, p.distribution, n, (array['Low', 'Medium', 'High', 'Critical'])[1 + level] as severity,
        'CVE-2024-' || case when n < 2 then 10000 + p.id % 7 + n * 10 else 20000 + (p.id * 31 + n * 7919) % 20000 end as cve,
        (level + 2) * 10000000 + (p.id * 37 + n) % 1000 as risk
      from packages p, generate_series(0, ${each - 1}::int) n, lateral (select ((p.id + n * 13) % 4)::int as level) l) made
    order by package_id
    on conflict do nothing`.execute(db)
  await sql`vacuum analyze findings`.execute(db)
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from findings`.execute(db)
  console.log(
    `${engine}, ${rows[0]?.n} findings of ${packages} packages, ${rounds} rounds, load ${loadavg()[0]!.toFixed(1)}`,
  )

  const at = { page: 1, perPage: 50 }
  const filters: [string, VulnerabilityFilter][] = [
    ['none', {}],
    ['name, one', { q: 'sample-000042' }],
    ['name, 100', { q: 'sample-0042' }],
    ['name, 1,000', { q: 'sample-004' }],
    ['name, all (2,000 are looked at)', { q: 'sample' }],
    ['name, 1,000, high', { q: 'sample-004', severities: ['High'] }],
    ['name, 1,000, in one distribution', { q: 'sample-004', distribution: 'bookworm' }],
    ['name, 1,000, known to be exploited', { q: 'sample-004', kev: true }],
    ['name, none', { q: 'nothing-like-it' }],
    ['advisory', { q: 'CVE-2024-2' }],
  ]
  console.log('filter'.padEnd(36), 'findings', '  p95', 'advisories', '  p95  (ms)')
  for (const [name, filter] of filters) {
    const one = await time(() => vulnerabilityPage(db, filter, at))
    const grouped = await time(() => advisoryPage(db, filter, at))
    console.log(
      name.padEnd(36),
      one[0].padStart(8),
      one[1].padStart(5),
      grouped[0].padStart(10),
      grouped[1].padStart(5),
    )
  }
} finally {
  await close()
  await drop()
  await rm(base, { recursive: true, force: true })
}

/** @returns the median and 95 % in ms */
async function time(work: () => Promise<unknown>): Promise<[string, string]> {
  const took: number[] = []
  for (let round = -1; round < rounds; round++) {
    const began = performance.now()
    await work()
    if (round >= 0) took.push(performance.now() - began)
  }
  return [quantile(took, 0.5).toFixed(0), quantile(took, 0.95).toFixed(0)]
}
