// Where an advisory is fixed: the versions beside those that have it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { finding, insertRecord } from '../documents/fixture.ts'
import type { Database } from '../../store/db.ts'
import { affectedPage, soundBeside } from './advisory-query.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

test('sound versions are those in the same place, and of very many the last that arrived', async () => {
  const { db } = database
  const findings = [finding('CVE-2026-1')]
  for (const name of ['many', 'few']) await insertRecord(db, { name, version: '1.0', findings })
  await insertRecord(db, { name: 'few', version: '1.1', findings })
  await insertRecord(db, { name: 'few', version: '1.2', findings: [finding('CVE-2026-2')] })
  await insertRecord(db, { name: 'few', version: '1.3', status: 'pending_review' })
  await insertRecord(db, { name: 'few', version: '1.4', distribution: 'noble' })
  for (let n = 1; n <= 101; n++) await insertRecord(db, { name: 'many', version: `2.${n}` })
  await db.updateTable('packages').set({ last_scan: new Date() }).execute()
  const { rows } = await affectedPage(db, ['CVE-2026-1', 'CVE-2026-2'], { page: 1, perPage: 10 })
  const beside = await soundBeside(db, rows)
  const found = Object.fromEntries(rows.map(({ name, version }, n) => [`${name} ${version}`, beside[n]!.sort()]))
  expect(found['few 1.0']).toEqual(['1.2'])
  expect(found['few 1.1']).toEqual(['1.2'])
  expect(found['few 1.2']).toEqual(['1.0', '1.1'])
  expect(found['many 1.0']).toHaveLength(100)
  expect(found['many 1.0']).not.toContain('2.1')
})
