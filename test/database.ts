// A migrated, empty database for a test: PGlite in memory, or a fresh one on the PostgreSQL of TEST_DATABASE_URL.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate, openDatabase, type Database } from '../src/store/db.ts'

/** @returns the database; `close` removes it */
export async function createTestDatabase(): Promise<Database & { url: string }> {
  const server = process.env['TEST_DATABASE_URL']
  if (!server) {
    const database = await openDatabase('pglite://memory')
    await migrate(database.db)
    return { ...database, url: 'pglite://memory' }
  }
  const name = `test_${randomBytes(6).toString('hex')}`
  await onServer(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const database = await openDatabase(url.href)
  await migrate(database.db)
  return {
    ...database,
    url: url.href,
    async close() {
      await database.close()
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
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
