// Dumps and loads of both engines. PostgreSQL, its pg_dump and its pg_restore take part where TEST_DATABASE_URL names a server.
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate, openDatabase, schemaVersion, type Database } from '../../../store/db.ts'
import type { CopyLease } from '../../../store/lease.ts'
import { MIGRATIONS } from '../../../store/migrations/index.ts'
import { sequencesOf, tablesOf } from './catalog.ts'
import { dumpDatabase, withSnapshot } from './dump.ts'
import { loadDump } from './load-dump.ts'
import { readDump, type Dump } from './read-dump.ts'

const SERVER = process.env['TEST_DATABASE_URL']
const NEWEST = Object.keys(MIGRATIONS).at(-1)!

let directory: string
let closers: (() => Promise<unknown>)[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-dump-'))
  closers = [() => rm(directory, { recursive: true })]
})
afterEach(async () => {
  for (const close of closers.reverse()) await close()
})

type Engine = Database['engine']
const ENGINES: Engine[] = SERVER === undefined ? ['pglite'] : ['pglite', 'postgres']

/** An empty database without a schema. */
async function empty(engine: Engine): Promise<Database> {
  if (engine === 'pglite') {
    const database = await openDatabase('pglite://memory')
    closers.push(() => database.close())
    return database
  }
  const url = new URL(SERVER!)
  const admin = new pg.Client({ connectionString: url.href })
  await admin.connect()
  const name = `dump_${randomBytes(6).toString('hex')}`
  await admin.query(`create database ${name}`)
  url.pathname = `/${name}`
  const database = await openDatabase(url.href)
  closers.push(async () => {
    await database.close()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  return database
}

async function borrow<T>(database: Database, work: (lease: CopyLease) => Promise<T>): Promise<T> {
  const lease = await database.acquire()
  try {
    return await work(lease)
  } finally {
    lease.release()
  }
}

/** Rows of many tables, with every kind of value that the service stores. */
const ROWS = [
  `insert into users (username, username_key, password_hash, role, full_name, created_at)
    select 'user' || i, 'user' || i, null, 'admin', E'tab\\t newline\\n back\\\\slash \\\\. é 漢 ''"', timestamptz '2026-01-02 03:04:05.678901+02'
    from generate_series(1, 3) i`,
  `insert into users (username, username_key, role, created_at) values (E'\\\\.', E'\\\\N', '', 'infinity')`,
  `insert into distributions (codename, format, definition, revision) values
    ('stable', 'deb', '{"codename": "stable", "text": "a\\\\b\\n\\u00e9"}', 7), ('edge', 'apk', '[]', 0)`,
  `insert into blobs (sha256, format, filename, size_bytes, sha512, sha1, md5, facts, files, created_at)
    select 'sha' || i, 'deb', 'name_' || i, i, '', '', '', jsonb_build_object('n', i, 'none', null, 'list', array[1.50, 2]),
      decode(repeat('00ff0a095c2e', i), 'hex'), now() from generate_series(1, 1500) i`,
  `insert into packages (distribution, format, name, version, arch, sha256, received_sha256, status, imported_at, imported_by,
      import_method, pipeline, validation_steps, coverage, deps_missing, tags, risk)
    select 'stable', 'deb', 'package' || i, '1.' || i, 'amd64', 'sha' || i, 'sha' || i, 'published', now(), 'user1', 'upload',
      '{}', '[]', '{}', '[]', '["a"]', -i from generate_series(1, 1500) i`,
  `delete from packages where id = 1500`,
  `delete from component_work where package_id > 5`,
  `insert into reviews (package_id, review_origin) values (3, 'upload')`,
  `insert into decisions (package_id, package, version, arch, distribution, format, sha256, action, status, previous_status,
      justification, decided_by, decided_at, covers, policy_snapshot, active)
    values (3, 'package3', '1.3', 'amd64', 'stable', 'deb', 'sha3', 'accept', 'published', 'pending_review', E'line\\r\\nline', 'user2',
      now(), '[]', '{}', true)`,
  `insert into findings (package_id, cve, distribution, severity, fix_state, action, in_kev, epss, first_seen, risk, finding)
    values (3, 'CVE-2026-1', 'stable', 'High', 'fixed', 'hold', true, 0.1234567890123, now(), 5, '{}')`,
  `insert into artifacts (format, name, latest_id, search, latest_imported_at, distributions, statuses, archs)
    values ('deb', 'package1', 1, 'package1', now(), '{}', array['a,b', E'quote" back\\\\', null], array['x'])`,
  `insert into offers (distribution, package_id, from_revision, sha256, filename, name, version, arch, began_by)
    values ('stable', 3, 1, 'sha3', 'f', 'package3', '1.3', 'amd64', 'upload')`,
  `insert into publications (distribution, generation, revision, release_date, published_at, causes)
    values ('stable', 'g1', 1, 1700000000, now(), array['upload'])`,
  `insert into offer_entries (package_id, stream, bytes) select 3, 's', string_agg(decode(md5(i::text), 'hex'), '') from generate_series(1, 100000) i`,
  `insert into audit (at, action, result, extra, seq, hash) select now(), 'login', 'ok', '{"a": [1]}', i, md5(i::text) from generate_series(1, 20) i`,
  `insert into tasks (kind, state, created_at, created_by) values ('sync', 'done', now(), 'x')`,
  `insert into sources (name, type, url, components, architectures, enabled, security, keys, allow_unsigned, created_at, created_by)
    values ('s', 'apt', 'http://x', array['main'], '{}', true, false, '[]', false, now(), 'x')`,
  `insert into catalog_incoming_runs (source_id, digest) values (1, 'work in progress')`,
]

async function filled(engine: Engine): Promise<Database> {
  const database = await empty(engine)
  await migrate(database.db)
  await borrow(database, async (lease) => {
    for (const statement of ROWS) await lease.query(statement, [])
  })
  return database
}

/** Everything that a dump must restore: the rows of every logged table, and the next value of each sequence. */
function stateOf(database: Database): Promise<Record<string, string>> {
  return borrow(database, async (lease) => {
    await lease.query(`set timezone to 'UTC'`, [])
    const state: Record<string, string> = {}
    for (const { name, quoted, quotedColumns, isLogged } of await tablesOf(lease)) {
      if (!isLogged || name.startsWith('kysely_')) continue
      const columns = [...quotedColumns].sort().join(', ')
      state[name] = Buffer.from(await lease.copyOut(`(select ${columns} from ${quoted} t order by t::text)`)).toString(
        'utf8',
      )
    }
    for (const { name, lastValue } of await sequencesOf(lease)) state[name] = String(lastValue)
    return state
  })
}

async function load(path: string, target: Database) {
  const dump = await readDump(path)
  try {
    return await loadDump(dump, target)
  } finally {
    await dump.close()
  }
}

const isEmpty = (database: Database) => borrow(database, async (lease) => (await tablesOf(lease)).length === 0)

describe.each(ENGINES)('a dump of %s', (source) => {
  test('brings all rows and sequences into an empty database of either engine', async () => {
    const from = await filled(source)
    const path = join(directory, 'postgres.dump')
    await dumpDatabase(from, path)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const before = await stateOf(from)
    expect(before['offer_entries']!.length).toBeGreaterThan(3_000_000)
    for (const engine of ENGINES) {
      const to = await empty(engine)
      const { schema, ignored } = await load(path, to)
      expect({ schema, ignored }).toEqual({ schema: NEWEST, ignored: [] })
      const after = await stateOf(to)
      expect(Object.keys(after)).toEqual(Object.keys(before))
      for (const name of Object.keys(before)) expect(after[name] === before[name], `table ${name}`).toBe(true)
      expect(await schemaVersion(to.db)).toBe(NEWEST)
      await borrow(to, async (lease) => {
        expect((await lease.query('select count(*)::int as n from catalog_incoming_runs', [])).rows).toEqual([{ n: 0 }])
        // The trigger that queues records for the component scan fires again.
        await lease.query(`update packages set sha256 = 'sha1' where id = 9`, [])
        const { rows } = await lease.query('select count(*)::int as n from component_work where package_id = 9', [])
        expect(rows).toEqual([{ n: 1 }])
      })
      await expect(load(path, to)).rejects.toThrow(/the database is not empty/)
    }
  })

  test('is of the moment when the snapshot began, and leaves no file when it is stopped', async () => {
    const from = await empty(source)
    await migrate(from.db)
    const path = join(directory, 'postgres.dump')
    const stopped = new AbortController()
    stopped.abort(new Error('the service stops'))
    await expect(dumpDatabase(from, path, { signal: stopped.signal })).rejects.toThrow('the service stops')
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
    const add = (name: string) =>
      borrow(from, (lease) => lease.query(`insert into leases values ($1, 'x', now())`, [name]))
    await add('before')
    let late: Promise<unknown> = Promise.resolve()
    await withSnapshot(from, async ({ db, dump }) => {
      late = add('after')
      // The embedded database makes other callers wait instead.
      if (source === 'postgres') await late
      await dump(path)
      expect(await db.selectFrom('leases').select('name').execute()).toEqual([{ name: 'before' }])
    })
    await late
    const dump = await readDump(path)
    const rows = await buffer(dump.tables.find(({ name }) => name === 'leases')!.rows())
    await dump.close()
    expect(rows.toString()).toMatch(/^before\t[^\n]*\n$/)
  })
})

test('damaged and truncated dumps are refused, and the database stays empty', async () => {
  const from = await filled('pglite')
  const path = join(directory, 'postgres.dump')
  await dumpDatabase(from, path)
  const whole = await readFile(path)
  const target = await empty('pglite')
  const bad = join(directory, 'bad.dump')
  let damagedData: Buffer | null = null
  for (let part = 0; part < 20; part++) {
    const at = Math.floor((whole.length * part) / 20)
    const damaged = Buffer.from(whole)
    damaged.fill(0xff, at, at + 64)
    for (const bytes of [whole.subarray(0, at), damaged]) {
      await writeFile(bad, bytes)
      await expect(readAll(bad), `${bytes.length === at ? 'truncated' : 'damaged'} at ${at}`).rejects.toThrow(/dump/)
    }
    damagedData = damaged
  }
  await writeFile(bad, Buffer.concat([whole, Buffer.from([0])]))
  await expect(readDump(bad)).rejects.toThrow(/damaged/)
  await writeFile(bad, damagedData!)
  await expect(load(bad, target)).rejects.toThrow(/damaged/)
  expect(await isEmpty(target)).toBe(true)
  await load(path, target)
})

async function readAll(path: string): Promise<void> {
  const dump = await readDump(path)
  try {
    for (const table of dump.tables) for await (const _ of table.rows());
  } finally {
    await dump.close()
  }
}

test('a dump of an older schema is migrated; one of a newer schema or with other columns is refused', async () => {
  const from = await empty('pglite')
  await migrate(from.db, Object.keys(MIGRATIONS).at(-2))
  await borrow(from, (lease) => lease.query(`insert into leases values ('kept', 'x', now())`, []))
  const path = join(directory, 'postgres.dump')
  await dumpDatabase(from, path)
  const target = await empty('pglite')
  const dump = await readDump(path)
  closers.push(() => dump.close())
  const newer: Dump = { ...dump, migrations: [...dump.migrations, '9999-future'] }
  await expect(loadDump(newer, target)).rejects.toThrow(/schema 9999-future, which this build does not know/)
  const [first, ...others] = dump.tables
  const other: Dump = { ...dump, tables: [{ ...first!, columns: ['other'] }, ...others] }
  await expect(loadDump(other, target)).rejects.toThrow(/has the columns other in the dump/)
  expect(await isEmpty(target)).toBe(true)
  expect(await loadDump(dump, target)).toMatchObject({ schema: Object.keys(MIGRATIONS).at(-2) })
  expect(await schemaVersion(target.db)).toBe(NEWEST)
  expect(await target.db.selectFrom('leases').select('name').execute()).toEqual([{ name: 'kept' }])
})

test("a dump of format 1.16, as PGlite's own pg_dump 18 writes it, is read", async () => {
  const dump = await readDump(join(import.meta.dirname, '../../../../test/samples/dumps/pglite-1.16.dump'))
  closers.push(() => dump.close())
  expect(dump).toMatchObject({ version: '1.16', migrations: ['0001-accounts'] })
  expect(dump.tables.map(({ name, columns }) => [name, columns])).toEqual([
    ['kysely_migration', ['name', 'timestamp']],
    ['odd "name', ['id', 'Upper', 'b', 'j', 'a']],
  ])
  expect(dump.sequences).toEqual([{ name: 'odd "name_id_seq', value: 41n, isCalled: true }])
  const rows = (await buffer(dump.tables[1]!.rows())).toString('utf8')
  expect(rows).toBe('40\ttab\\t nl\\n back\\\\slash \\\\. é\t\\\\x00ff\t{"a": 1}\t{x,NULL}\n41\t\\N\t\\N\t\\N\t\\N\n')
})

test('a file of something else is refused', async () => {
  const path = join(directory, 'other')
  for (const bytes of ['', 'PGDMP', 'PGDMP\x01\x0f', '-- PostgreSQL database dump', 'PGDMP\x02\x0e\x00\x04\x08\x01']) {
    await writeFile(path, bytes, 'latin1')
    await expect(readDump(path)).rejects.toThrow(/dump/)
  }
})

describe.runIf(SERVER)("PostgreSQL's own programs", () => {
  const lists = (path: string) =>
    [...execFileSync('pg_restore', ['--list', path], { encoding: 'utf8' }).matchAll(/ TABLE DATA \S+ (\S+) /g)].map(
      ([, name]) => name,
    )

  test.each(ENGINES)(
    'pg_restore lists the same tables in a dump of %s',
    async (engine) => {
      const from = await filled(engine)
      const path = join(directory, 'postgres.dump')
      await dumpDatabase(from, path)
      const dump = await readDump(path)
      closers.push(() => dump.close())
      const names = dump.tables.map(({ name }) => name)
      expect(names.length).toBeGreaterThan(20)
      expect(lists(path).sort()).toEqual(names.sort())
    },
    120_000,
  )

  test('pg_restore restores a dump of the embedded database', async () => {
    const from = await filled('pglite')
    const path = join(directory, 'postgres.dump')
    await dumpDatabase(from, path)
    const to = await empty('postgres')
    execFileSync('pg_restore', ['--exit-on-error', '--no-owner', `--dbname=${to.url}`, path])
    expect(await stateOf(to)).toEqual(await stateOf(from))
    expect(await schemaVersion(to.db)).toBe(NEWEST)
  })

  test.each([
    [
      'is missing',
      null,
      /pg_dump cannot be run; the server has PostgreSQL \d+: install pg_dump of version/,
      'backup_unavailable',
    ],
    [
      'is too old',
      'echo "pg_dump (PostgreSQL) 9.6.1"',
      /pg_dump has version 9, but the server has PostgreSQL/,
      'backup_unavailable',
    ],
    [
      'fails',
      'test "$1" = --version && echo "pg_dump (PostgreSQL) 99.1" || { echo "no space" >&2; exit 3; }',
      /pg_dump ended with code 3: no space/,
      'backup_unavailable',
    ],
    [
      'fills the disk',
      'test "$1" = --version && echo "pg_dump (PostgreSQL) 99.1" || { echo "x: No space left on device" >&2; exit 1; }',
      /^the disk is full$/,
      'storage_full',
    ],
  ])('a pg_dump that %s is a problem, and leaves no file', async (_, script, message, code) => {
    const program = join(directory, 'pg_dump')
    if (script !== null) await writeFile(program, `#!/bin/sh\n${script}\n`)
    if (script !== null) await chmod(program, 0o755)
    const path = join(directory, 'postgres.dump')
    const failure: unknown = await dumpDatabase(await empty('postgres'), path, { program }).catch(
      (error: unknown) => error,
    )
    expect(failure).toMatchObject({ code, detail: expect.stringMatching(message) as string })
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
