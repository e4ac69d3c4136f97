// A migrated, empty database for a test: PGlite in memory, or a fresh one on the PostgreSQL of TEST_DATABASE_URL.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import { migrate, openDatabase, type Database, type Db } from '../src/store/db.ts'

/** @returns the database; `close` removes it */
export async function createTestDatabase(): Promise<Database & { url: string }> {
  const server = process.env['TEST_DATABASE_URL']
  if (!server) {
    const database = await openDatabase('pglite://memory')
    await migrate(database.db)
    return { ...database, url: 'pglite://memory' }
  }
  template ??= createTemplate(server)
  const name = newName()
  await onServer(server, `create database ${name} template ${await template}`)
  const url = urlOf(server, name)
  const database = await openDatabase(url)
  return {
    ...database,
    url,
    async close() {
      await database.close()
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
}

/**
 * Resolves when a transaction waits for a lock that another one has. On PGlite at once: transactions take turns there.
 * @param isOver nothing will wait any more
 */
export async function lockAwaited(
  { db, engine }: Pick<Database, 'db' | 'engine'>,
  isOver = (): boolean => false,
): Promise<void> {
  while (engine === 'postgres' && !isOver()) {
    const { rows } = await sql`select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    if (rows.length > 0) return
  }
}

/** Does `first`, and commits it once `work` waits for it or ended. @returns the result of the work */
export async function meanwhile<T>(
  database: Pick<Database, 'db' | 'engine'>,
  first: (tx: Db) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const [ended] = await database.db.transaction().execute(async (tx) => {
    await first(tx)
    let isOver = false
    const begun = work().finally(() => (isOver = true))
    // Its error is for the caller, who waits for it below.
    begun.catch(() => {})
    await lockAwaited(database, () => isOver)
    return [begun] as const
  })
  return ended
}

/** Migrated once for each test process, because a copy takes a tenth of the time. It is removed with the server. */
let template: Promise<string> | null = null

async function createTemplate(server: string): Promise<string> {
  const name = newName()
  await onServer(server, `create database ${name}`)
  const { db, close } = await openDatabase(urlOf(server, name))
  await migrate(db)
  await close()
  return name
}

const newName = (): string => `test_${randomBytes(6).toString('hex')}`

function urlOf(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
