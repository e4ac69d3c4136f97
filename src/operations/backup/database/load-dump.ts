// Loads a dump into an empty database of either engine.
import { migrate, type Database } from '../../../store/db.ts'
import type { CopyLease } from '../../../store/lease.ts'
import { MIGRATIONS } from '../../../store/migrations/index.ts'
import { sequencesOf, tablesOf, type Table } from './catalog.ts'
import { DumpError } from './dump-error.ts'
import type { Dump, DumpTable } from './read-dump.ts'
import { inTransaction } from './transaction.ts'

export interface Loaded {
  /** name of the newest migration of the dump; later ones ran on its rows */
  schema: string
  /** number of tables with loaded rows */
  tables: number
  /** tables of the dump that the service does not have; they were not loaded */
  ignored: string[]
}

/**
 * Creates the schema of the dump, loads its rows, and migrates them to the newest schema, all in one transaction.
 * @param options `rows`: number that each table must have afterwards
 * @throws DumpError when the dump is damaged, has a newer schema than this build, or the database is not empty
 */
export async function loadDump(
  dump: Dump,
  database: Database,
  { signal, rows: counted }: { signal?: AbortSignal; rows?: Readonly<Record<string, number>> } = {},
): Promise<Loaded> {
  const schema = schemaOf(dump)
  const loaded = await inTransaction(database, '', async ({ lease, db }) => {
    await checkEmpty(lease)
    await migrate(db, schema)
    const tables = await tablesOf(lease)
    const matched = match(dump, tables)
    const own = tables.filter(({ name }) => !name.startsWith('kysely_')).map(({ quoted }) => quoted)
    // Migrations add rows, which the dump has too.
    await lease.query(`truncate ${own.join(', ')}`, [])
    for (const table of own) await lease.query(`alter table ${table} disable trigger user`, [])
    for (const { table, rows } of matched) {
      const target = `${table.quoted} (${rows.columns.map(quote).join(', ')})`
      for await (const text of rows.rows()) {
        signal?.throwIfAborted()
        await lease.copyIn(target, text)
      }
    }
    if (counted) for (const { table } of matched) await checkRows(lease, table, counted[table.name])
    for (const table of own) await lease.query(`alter table ${table} enable trigger user`, [])
    await setSequences(lease, dump)
    await migrate(db)
    const names = new Set(tables.map(({ name }) => name))
    return {
      schema,
      tables: matched.length,
      ignored: dump.tables.flatMap(({ name }) => (names.has(name) ? [] : [name])),
    }
  })
  const lease = await database.acquire()
  try {
    // Without statistics the first queries read whole tables.
    await lease.query('analyze', [])
  } finally {
    lease.release()
  }
  return loaded
}

/** The migrations of the dump must be equal to the first ones of this build. */
function schemaOf({ migrations }: Dump): string {
  const own = Object.keys(MIGRATIONS)
  const unknown = migrations.find((name) => !own.includes(name))
  if (unknown !== undefined)
    throw new DumpError(`the dump has schema ${unknown}, which this build does not know: its newest is ${own.at(-1)}`)
  const last = migrations.at(-1)
  const missing = own.find((name) => !migrations.includes(name))
  if (last === undefined || (missing !== undefined && missing < last))
    throw new DumpError(`the dump lacks migration ${missing ?? ''}`)
  return last
}

/** @throws DumpError when the database is not empty */
export async function checkEmpty(lease: CopyLease): Promise<void> {
  const { rows } = await lease.query(
    `select current_schema() as schema, (select min(c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and not exists (select from pg_depend d
        where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e'))::text as found`,
    [],
  )
  const { schema, found } = rows[0] ?? {}
  if (!schema) throw new DumpError('the database has no schema in its search path')
  if (typeof found === 'string') throw new DumpError(`the database is not empty: it has ${found}`)
}

/** @returns the tables with their rows, each after those that it refers to */
function match(dump: Dump, tables: readonly Table[]): { table: Table; rows: DumpTable }[] {
  const given = new Map(dump.tables.map((table) => [table.name, table]))
  return tables
    .filter(({ name, isLogged }) => isLogged && !name.startsWith('kysely_'))
    .map((table) => {
      const rows = given.get(table.name)
      if (!rows) throw new DumpError(`the dump lacks table ${table.name}`)
      if ([...rows.columns].sort().join() !== [...table.columns].sort().join())
        throw new DumpError(
          `table ${table.name} has the columns ${rows.columns.join(', ')} in the dump, but ${table.columns.join(', ')} in its schema`,
        )
      return { table, rows }
    })
}

async function checkRows(lease: CopyLease, { name, quoted }: Table, expected: number | undefined): Promise<void> {
  const { rows } = await lease.query(`select count(*)::float8 as loaded from ${quoted}`, [])
  const loaded = Number(rows[0]?.['loaded'])
  if (loaded !== expected)
    throw new DumpError(`table ${name} has ${loaded} rows, but ${expected ?? 0} are listed beside the dump`)
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`

async function setSequences(lease: CopyLease, dump: Dump): Promise<void> {
  const given = new Map(dump.sequences.map((sequence) => [sequence.name, sequence]))
  for (const { name, quoted } of await sequencesOf(lease)) {
    const sequence = given.get(name)
    if (!sequence) throw new DumpError(`the dump lacks sequence ${name}`)
    await lease.query('select setval($1::text::regclass, $2::text::bigint, $3)', [
      quoted,
      String(sequence.value),
      sequence.isCalled,
    ])
  }
}
