// Measures the search in the catalogs of four sources with 200,000 packages in total, and resolving the needs of one package.
// Usage: npx node bench/search.ts; PostgreSQL with bin/with-postgres.mjs
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { searchCatalog } from '../src/imports/catalog-query.ts'
import { resolve } from '../src/imports/resolve.ts'
import { resolveIo, rootEntry, sourcesFor } from '../src/imports/resolve-query.ts'
import { findDistribution } from '../src/formats/index.ts'
import { migrate, openDatabase } from '../src/store/db.ts'
import { createBenchDatabase, median, quantile } from './database.ts'

const PACKAGES = 200_000
const ROUNDS = 30
/** A package of one level needs all packages of the next. */
const LEVELS = 10
const PER_LEVEL = 7

const base = await mkdtemp(join(tmpdir(), 'gatehouse-search-'))
const { url, drop } = await createBenchDatabase(base)
const database = await openDatabase(url)
const { db, engine } = database
try {
  await migrate(db)
  for (const id of [1, 2, 3, 4])
    await sql`insert into sources (id, type, name, url, components, architectures, enabled, security, keys, allow_unsigned, created_at, created_by)
      overriding system value values (${id}, 'apt', ${`s${id}`}, ${`u${id}`}, '{}', '{}', true, false, '[]', true, now(), 'bench')`.execute(
      db,
    )
  const word = sql`case i % 50 when 0 then 'python3-' when 1 then 'perl-' else 'lib' end`
  await sql`insert into catalog (source_id, path, fingerprint, name, version, arch, size_bytes, digest_algorithm, digest, section,
      description, requirements, provides, synced_at)
    select 1 + i % 4, 'pool/main/l/' || i || '.deb', md5(i::text), ${word} || substr(md5((i / 4)::text), 1, 10) || '-dev',
      '1.0-' || i, 'amd64', 1000, 'sha256', md5(i::text), 'libs', 'what it is, in as many words as usual',
      '[{"kind":"depends","strong":true,"anyOf":[{"name":"libc6"}],"text":"libc6"}]',
      case when i % 5 = 0 then jsonb_build_array(jsonb_build_object('name', 'virtual-' || (i % 10000))) else '[]' end, now()
    from generate_series(0, ${sql.lit(PACKAGES - 1)}) i`.execute(db)
  const tree = (level: string) => sql`'tree-' || ${sql.raw(level)} || '-' || k`
  await sql`insert into catalog (source_id, path, fingerprint, name, version, arch, size_bytes, digest_algorithm, digest, section,
      description, requirements, provides, synced_at)
    select 1, 'pool/main/t/' || level || '-' || n, md5('t' || level || n), 'tree-' || level || '-' || n, '1.0', 'amd64', 1000, 'sha256', '00',
      'libs', 'one of a tree', coalesce((select jsonb_agg(jsonb_build_object('kind', 'depends', 'strong', true, 'text', ${tree('(level + 1)')},
        'anyOf', jsonb_build_array(jsonb_build_object('name', ${tree('(level + 1)')}))))
        from generate_series(1, case when level < ${sql.lit(LEVELS)} then ${sql.lit(PER_LEVEL)} else 0 end) k), '[]'), '[]', now()
    from generate_series(1, ${sql.lit(LEVELS)}) level, generate_series(1, ${sql.lit(PER_LEVEL)}) n`.execute(db)
  await sql`update sources set last_sync = now(), target = 'bookworm'`.execute(db)
  await sql`insert into catalog_names select source_id, lower(name), name, count(*) from catalog group by source_id, name`.execute(
    db,
  )
  await sql`vacuum analyze`.execute(db)
  for (const [what, q, more] of [
    ['rare part', 'abc12', {}],
    ['part of no name', 'xyz-none', {}],
    ['a capability', 'virtual-15', {}],
    ['beginning of nearly every name', 'lib', {}],
    ['end of every name', '-dev', {}],
    ['part of 4,000 names', 'python3', {}],
    ['rare part, one source', 'abc12', { sourceId: 2 }],
  ] as const) {
    const times: number[] = []
    let total = 0
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now()
      total = (await searchCatalog(db, { q, limit: 20, ...more })).total
      times.push(performance.now() - began)
    }
    console.log(
      `${engine}, ${what} (${total} packages): least ${Math.min(...times).toFixed(0)} ms, median ${median(times).toFixed(0)} ms, p99 ${quantile(times, 0.99).toFixed(0)} ms`,
    )
  }
  const target = findDistribution('bookworm')!
  const times: number[] = []
  let packages = 0
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const root = await rootEntry(db, target, { name: 'tree-1-1' }, undefined)
    const sources = await sourcesFor(db, target, [root.source_id])
    packages = (await resolve([root], target, resolveIo(db, target, sources))).needed.length
    times.push(performance.now() - began)
  }
  console.log(
    `${engine}, resolve ${packages} packages on ${LEVELS} levels: first ${times[0]!.toFixed(0)} ms, least ${Math.min(...times).toFixed(0)} ms, median ${median(times).toFixed(0)} ms, p99 ${quantile(times, 0.99).toFixed(0)} ms`,
  )
  console.log(`load ${loadavg()[0]?.toFixed(1)}`)
} finally {
  await database.close()
  await drop()
  await rm(base, { recursive: true })
}
