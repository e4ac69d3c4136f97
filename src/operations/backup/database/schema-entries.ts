// The statements that create the schema, as entries of an archive: the statements of the migrations, in their order.
import { Kysely, type DatabaseConnection, type Dialect } from 'kysely'
import { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { MIGRATIONS } from '../../../store/migrations/index.ts'

export interface SchemaEntry {
  kind: string
  tag: string
  definition: string
}

/** The tables that Kysely's Migrator creates. */
const KYSELY_TABLES = [
  `create table kysely_migration (name varchar(255) not null primary key, "timestamp" varchar(255) not null)`,
  `create table kysely_migration_lock (id varchar(255) not null primary key, is_locked integer default 0 not null)`,
]

/**
 * @param names of the migrations that ran
 * @returns what pg_restore runs before and after it loads the rows. Triggers must not fire for loaded rows, and creating
 *   indexes afterwards is faster.
 */
export async function schemaEntries(
  names: readonly string[],
): Promise<{ before: SchemaEntry[]; after: SchemaEntry[] }> {
  const statements = [...KYSELY_TABLES]
  const db = new Kysely<unknown>({ dialect: recorder(statements) })
  for (const name of names) await MIGRATIONS[name]?.up(db)
  // The dump has the rows that migrations add, like all others.
  const entries = statements.filter((statement) => !/^\s*(insert|update|delete)\b/i.test(statement)).map(entryOf)
  const isLate = ({ kind }: SchemaEntry) => ['INDEX', 'TRIGGER', 'EXTENSION'].includes(kind)
  return { before: entries.filter((entry) => !isLate(entry)), after: entries.filter(isLate) }
}

const CREATE =
  /^\s*create (?:or replace )?(?:unlogged |unique )?(table|index|function|trigger|view)\s+(?:if not exists )?"?([a-z_0-9]+)/i

function entryOf(statement: string): SchemaEntry {
  const [, kind, tag] = CREATE.exec(statement) ?? []
  const definition = `${statement.trim().replace(/;$/, '')};\n`
  if (kind !== undefined && tag !== undefined) return { kind: kind.toUpperCase(), tag, definition }
  // A block that requests an extension, or a change of an earlier statement's result.
  return { kind: /\bcreate extension\b/i.test(statement) ? 'EXTENSION' : 'DEFAULT', tag: 'statement', definition }
}

/** Records statements instead of running them. */
function recorder(statements: string[]): Dialect {
  const connection: DatabaseConnection = {
    async executeQuery({ sql }) {
      statements.push(sql)
      return { rows: [] }
    },
    async *streamQuery() {
      // Migrations read nothing.
    },
  }
  const nothing = async () => {}
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => ({
      init: nothing,
      acquireConnection: async () => connection,
      releaseConnection: nothing,
      beginTransaction: nothing,
      commitTransaction: nothing,
      rollbackTransaction: nothing,
      destroy: nothing,
    }),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}
