// Index entries come back as they were stored, short ones as rows and long ones in pieces.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Db } from '../db.ts'
import { dropEntries, readEntries, readPieces, storeEntries } from './entry-pieces.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.close())

test('short entries are rows, long ones pieces of at most 1 MiB, and both are dropped', async () => {
  await db.transaction().execute(async (tx) => {
    await sql`alter table entries drop constraint entries_package_id_fkey`.execute(tx)
    await sql`alter table entry_pieces drop constraint entry_pieces_package_id_fkey`.execute(tx)
  })
  const long = randomBytes(3 * 1024 * 1024 + 17)
  const short = Buffer.from('<package/>')
  await storeEntries(db, [
    {
      id: 1,
      entries: [
        ['primary', short],
        ['other', Buffer.alloc(0)],
      ],
    },
    {
      id: 2,
      entries: [
        ['primary', short],
        ['filelists', long],
        ['other', Buffer.alloc(0)],
      ],
    },
    ...Array.from({ length: 20 }, (_, n) => ({
      id: 10 + n,
      entries: [['primary', randomBytes(100_000)]] as [string, Buffer][],
    })),
  ])
  const rows = await readEntries(db, [1, 2, 10, 29])
  expect([...rows.keys()].sort((a, b) => a - b)).toEqual([1, 10, 29])
  expect(Buffer.from(rows.get(1)!.get('primary')!).equals(short)).toBe(true)
  const pieces = await readPieces(db, 2)
  expect([...pieces.keys()].sort()).toEqual(['filelists', 'other', 'primary'])
  expect(Buffer.from(pieces.get('filelists')!).equals(long)).toBe(true)
  expect(pieces.get('other')!.byteLength).toBe(0)
  expect(await readPieces(db, 1)).toEqual(new Map())
  const { rows: sizes } = await sql<{
    size: number
  }>`select max(octet_length(bytes)) as size from entry_pieces`.execute(db)
  expect(sizes).toEqual([{ size: 1024 * 1024 }])
  await dropEntries(db, 1)
  await dropEntries(db, 2)
  expect([(await readEntries(db, [1, 2])).size, (await readPieces(db, 2)).size]).toEqual([0, 0])
})
