// Measures the size of the database for N packages, and its growth by publications. Usage as bench/publish.ts; [--packages 10000]
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { migrate, openDatabase, type Db } from '../src/store/db.ts'
import { createBenchDatabase } from './database.ts'
import { fill } from './fill.ts'
import { writeSamples } from './samples.ts'

const { values } = parseArgs({ options: { packages: { type: 'string', default: '10000' } } })
const count = Number(values.packages)
const PUBLICATIONS = 1000

const base = await mkdtemp(join(tmpdir(), 'bench-size-'))
const { url: databaseUrl, drop } = await createBenchDatabase(base)
try {
  await withDatabase(async (db) => {
    await migrate(db)
    console.log(`empty: ${mib(await sizeOf(db))}`)
  })
  const files = await writeSamples('deb', join(base, 'stock'), 0, count)
  await fill({ databaseUrl, reposDir: join(base, 'repos'), codename: 'jammy', files })
  await withDatabase(async (db) => {
    await sql`vacuum full`.execute(db)
    const before = await sizeOf(db)
    console.log(`${count} packages: ${mib(before)}`)
    // One package leaves with each publication, so each adds one row and ends one offer, with its entries.
    await sql`insert into publications (distribution, generation, revision, release_date, published_at, causes)
      select 'jammy', 'r' || n || '-1795364213-e4dc4e3a', n, 1795364213 + n, now(), '{upload,delete}' from generate_series(1, ${PUBLICATIONS}::int) n`.execute(
      db,
    )
    await sql`insert into offers (distribution, package_id, from_revision, until_revision, sha256, filename, name, version, arch, began_by, ended_by, ended_at)
      select distribution, package_id, -n, 1, sha256, filename, name, version, arch, began_by, 'delete', now()
      from generate_series(1, ${PUBLICATIONS}::int) n join offers on from_revision = n`.execute(db)
    await sql`insert into offer_entries (package_id, stream, bytes, until_revision)
      select package_id, stream, bytes, 1 from offer_entries where until_revision is null
        and package_id in (select package_id from offers where until_revision = 1)`.execute(db)
    await sql`vacuum full`.execute(db)
    console.log(`${PUBLICATIONS} publications: ${mib((await sizeOf(db)) - before)}`)
    const { rows } = await sql<{ name: string; bytes: number }>`
      select relname as name, pg_total_relation_size(oid) as bytes from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
      order by 2 desc limit 8`.execute(db)
    for (const { name, bytes } of rows) console.log(`  ${name}: ${mib(bytes)}`)
  })
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}

async function withDatabase(work: (db: Db) => Promise<void>): Promise<void> {
  const { db, close } = await openDatabase(databaseUrl)
  await work(db).finally(close)
}

async function sizeOf(db: Db): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db)
  return rows[0]?.bytes ?? NaN
}

function mib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
