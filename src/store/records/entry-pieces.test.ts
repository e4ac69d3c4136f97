// Index entries are returned as they were stored, short ones as rows and long ones in pieces, separately for each offer.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Db } from '../db.ts'
import { readEntries, readPieces, storeEntries } from './entry-pieces.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.close())

const offerOf = (id: number, position = 1) => ({ id, position })
const beginOffers = (ids: readonly number[], revision: number) =>
  sql`insert into offers (distribution, package_id, from_revision, sha256, filename, name, version, arch, began_by)
    select 'd', id, ${revision}::bigint, 's', 'f', 'n', '1', 'all', 'upload' from unnest(${ids}::bigint[]) as id`.execute(
    db,
  )
const endOffer = (id: number, revision: number) =>
  db
    .updateTable('offers')
    .set({ until_revision: revision })
    .where('package_id', '=', id)
    .where('until_revision', 'is', null)
    .execute()

test('short entries are rows, long ones pieces of at most 1 MiB, and both belong to one offer until it is deleted', async () => {
  await sql`alter table offers drop constraint offers_distribution_fkey, drop constraint offers_sha256_fkey`.execute(db)
  await beginOffers([1, 2, ...Array.from({ length: 20 }, (_, n) => 10 + n)], 1)
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
  const rows = await readEntries(
    db,
    [1, 2, 10, 29].map((id) => offerOf(id)),
  )
  expect([...rows.keys()].sort((a, b) => a - b)).toEqual([1, 10, 29])
  expect(Buffer.from(rows.get(1)!.get('primary')!).equals(short)).toBe(true)
  const pieces = await readPieces(db, offerOf(2))
  expect([...pieces.keys()].sort()).toEqual(['filelists', 'other', 'primary'])
  expect(Buffer.from(pieces.get('filelists')!).equals(long)).toBe(true)
  expect(pieces.get('other')!.byteLength).toBe(0)
  expect(await readPieces(db, offerOf(1))).toEqual(new Map())
  const { rows: sizes } = await sql<{
    size: number
  }>`select max(octet_length(bytes)) as size from offer_entry_pieces`.execute(db)
  expect(sizes).toEqual([{ size: 1024 * 1024 }])

  const again = Buffer.from('<package>again</package>')
  for (const id of [1, 2]) await endOffer(id, 2)
  await beginOffers([1, 2], 2)
  await storeEntries(db, [
    { id: 1, entries: [['primary', again]] },
    {
      id: 2,
      entries: [
        ['primary', again],
        ['filelists', long],
      ],
    },
  ])
  const textOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()
  const shortAt = async (position: number) =>
    textOf((await readEntries(db, [offerOf(1, position)])).get(1)?.get('primary'))
  const longAt = async (position: number) => textOf((await readPieces(db, offerOf(2, position))).get('primary'))
  expect(await Promise.all([shortAt(1), longAt(1)])).toEqual(['<package/>', '<package/>'])
  expect(await Promise.all([shortAt(2), longAt(2)])).toEqual(['<package>again</package>', '<package>again</package>'])

  await db.deleteFrom('offers').where('until_revision', '=', 2).execute()
  expect(await Promise.all([shortAt(1), longAt(1)])).toEqual([undefined, undefined])
  expect(await Promise.all([shortAt(2), longAt(2)])).toEqual(['<package>again</package>', '<package>again</package>'])
  await db.deleteFrom('offers').execute()
  const { rows: left } =
    await sql`select package_id from offer_entries union all select package_id from offer_entry_pieces`.execute(db)
  expect(left).toEqual([])
})
