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
