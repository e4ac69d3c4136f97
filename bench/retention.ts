// Measures the removal of old days of the audit log: 1,000,000 chained entries of 365 days, in database and files; 90 days stay.
// Usage: npx node bench/retention.ts [--entries 1000000]; PostgreSQL with bin/with-postgres.mjs
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { chainHash, entryMac, entryOf, GENESIS, lineOf } from '../src/audit/chain.ts'
import { migrate, openDatabase } from '../src/store/db.ts'
import { openAuditKey } from '../src/publish/signing/audit-keys.ts'
import { createBenchDatabase } from './database.ts'
import { startWatched } from './watch.ts'

const { values } = parseArgs({ options: { entries: { type: 'string', default: '1000000' } } })
const ENTRIES = Number(values.entries)
const DAYS = 365
const DAY_MS = 86_400_000

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-retention-'))
const { url, drop } = await createBenchDatabase(base)
const reposDir = join(base, 'repos')
try {
  await fillLog()
  const service = await startWatched(base, { reposDir, databaseUrl: url })
  try {
    await service.during('nothing', () => sleep(10_000))
    const planned = await service.during('counting', () =>
      service.ask('POST', '/settings/run-retention', { dry_run: true }),
    )
    console.log(JSON.stringify(planned.result.audit))
    const removed = await service.during('removing', () => service.ask('POST', '/settings/run-retention', {}))
    console.log(JSON.stringify(removed.result.audit))
    await service.during('afterwards', () => sleep(10_000))
  } finally {
    await service.stop()
  }
  const env = { ...process.env, DATABASE_URL: url, REPOS_DIR: reposDir }
  const verify = join(import.meta.dirname, '../bin/verify-audit.mjs')
  console.log(execFileSync(process.execPath, [verify, join(reposDir, 'audit')], { env, encoding: 'utf8' }))
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}

/** Writes rows and files in the form of the audit log. */
async function fillLog(): Promise<void> {
  const directory = join(reposDir, 'audit')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const key = await openAuditKey(join(reposDir, 'gnupg'))
  const { db, close } = await openDatabase(url)
  await migrate(db)
  const first = Math.floor(Date.now() / DAY_MS) - DAYS
  const each = Math.ceil(ENTRIES / DAYS)
  let [seq, hash] = [0, GENESIS]
  for (let n = 0; n < DAYS && seq < ENTRIES; n++) {
    const day = new Date((first + n) * DAY_MS).toISOString().slice(0, 10)
    const rows = Array.from({ length: Math.min(each, ENTRIES - seq) }, (_, i) => {
      const at = new Date((first + n) * DAY_MS + Math.floor((i * DAY_MS) / each))
      const row = {
        ...{
          at,
          action: 'UPLOAD',
          result: 'SUCCESS' as const,
          username: `user-${i % 40}`,
          package: `package-${i % 5000}`,
        },
        ...{
          version: `1.${n}-1`,
          distribution: 'jammy',
          arch: 'amd64',
          detail: null,
          outcome: 'published',
          ip: '192.0.2.7',
        },
        ...{ request_id: `01J${String(seq + 1).padStart(23, '0')}`, extra: { size: 12_345 }, prev_hash: hash },
      }
      hash = chainHash(entryOf({ ...row, hash: null, seq: null, mac: null }))
      seq++
      return { ...row, hash, seq, mac: entryMac(key, seq, hash) }
    })
    await writeFile(join(directory, `${day}.jsonl`), rows.map(lineOf).join(''), { mode: 0o600 })
    await sql`insert into audit (at, action, result, username, package, version, distribution, arch, outcome, ip, request_id, extra,
        seq, prev_hash, hash, mac, day, filed)
      select (r->>'at')::timestamptz, 'UPLOAD', 'SUCCESS', r->>'username', r->>'package', r->>'version', 'jammy', 'amd64', 'published', r->>'ip',
        r->>'request_id', r->'extra', (r->>'seq')::bigint, r->>'prev_hash', r->>'hash', r->>'mac', ${day}, true
      from jsonb_array_elements(${JSON.stringify(rows)}::jsonb) r order by (r->>'seq')::bigint`.execute(db)
  }
  const today = new Date((first + DAYS - 1) * DAY_MS).toISOString().slice(0, 10)
  await db.insertInto('audit_chain').values({ id: 1, seq, hash, day: today }).execute()
  await sql`insert into activity_cursor (id, seq) values (1, ${seq}::bigint) on conflict (id) do update set seq = excluded.seq`.execute(
    db,
  )
  await sql`insert into notify_cursor (id, seq) values (1, ${seq}::bigint) on conflict (id) do update set seq = excluded.seq`.execute(
    db,
  )
  await sql`vacuum analyze`.execute(db)
  await close()
}
