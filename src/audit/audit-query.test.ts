// Pages of the audit log.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from 'kysely'
import { createTestDatabase } from '../../test/database.ts'
import { auditPage, type AuditFilter } from './audit-query.ts'
import type { Database } from '../store/db.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const entries = (action: string, from: number, to: number, seq: string) =>
  sql`insert into audit (at, action, result, extra, seq, day) select now(), ${action}, 'SUCCESS', '{}', ${sql.raw(seq)}, '2026-03-01'
    from generate_series(${from}::int, ${to}::int) i`.execute(database.db)
const page = async (filter: AuditFilter, perPage = 3) => {
  const { items, total } = await auditPage(database.db, filter, { page: 1, perPage })
  return [items.map(({ seq }) => seq), total]
}

test('the total counts what is kept: without what retention removed, with what is not chained yet', async () => {
  expect(await page({})).toEqual([[], 0])
  await entries('UPLOAD', 1, 2, 'null')
  expect(await page({})).toEqual([[null, null], 2])
  await entries('UPLOAD', 1001, 1004, 'i')
  await entries('LOGIN', 1005, 1007, 'i')
  expect(await page({})).toEqual([[1007, 1006, 1005], 9])
  expect(await page({ action: undefined })).toEqual([[1007, 1006, 1005], 9])
  expect(await page({ action: 'upload' })).toEqual([[1004, 1003, 1002], 6])
})

test('a search reads the rows once, for the number and for any page of it', async () => {
  const searching = new Set<object>()
  let statements = 0
  const counted = database.db.withPlugin({
    transformQuery({ node, queryId }) {
      if (JSON.stringify(node).includes('position(')) searching.add(queryId)
      return node
    },
    async transformResult({ result, queryId }) {
      if (searching.has(queryId)) statements++
      return result
    },
  })
  await sql`update audit set detail = 'Needle ' || seq where seq between 1002 and 1006`.execute(database.db)
  const search = async (at: number, more: AuditFilter = {}) => {
    const { items, total } = await auditPage(counted, { q: 'NEEDLE', ...more }, { page: at, perPage: 3 })
    return [items.map(({ seq }) => seq), total]
  }
  expect(await search(1)).toEqual([[1006, 1005, 1004], 5])
  expect(statements).toBe(1)
  expect(await search(2)).toEqual([[1003, 1002], 5])
  expect(await search(3)).toEqual([[], 5])
  expect(await search(1, { action: 'login' })).toEqual([[1006, 1005], 2])
})
