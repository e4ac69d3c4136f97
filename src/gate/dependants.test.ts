// Which packages need a record: by name, by what it provides, by version and architecture, and whether others meet the same.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Capability, Requirement } from '../domain/package.ts'
import { findDistribution } from '../formats/index.ts'
import { insertRecord, need } from '../packages/documents/fixture.ts'
import type { Database } from '../store/db.ts'
import { dependantsOf } from './dependants.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const weak: Requirement = need('lib', undefined, undefined, false)
const either: Requirement = { ...need('lib'), anyOf: [{ name: 'lib' }, { name: 'other' }], text: 'lib | other' }
const provides = (name: string, version?: string): Capability => ({ name, ...(version ? { version } : {}) })

interface Case {
  /** what the dependant needs */
  needs: Requirement[]
  /** what the record provides besides its name; it is `lib` 2.0-1 of amd64 */
  gives?: Capability[]
  /** another published package */
  beside?: { name: string; version?: string; provides?: Capability[] }
  status?: 'published' | 'pending_review'
  /** the requirements that are met, and whether the record alone meets one of them; null when it is no dependant */
  expected: [string[], boolean] | null
}

test.each<[string, Case]>([
  ['by name', { needs: [need('lib')], expected: [['lib'], true] }],
  ['by a version that it has', { needs: [need('lib', '>=', '2')], expected: [['lib (>= 2)'], true] }],
  ['not by a version that it lacks', { needs: [need('lib', '>=', '3')], expected: null }],
  ['not by a weak requirement', { needs: [weak], expected: null }],
  ['by what it provides', { needs: [need('api')], gives: [provides('api')], expected: [['api'], true] }],
  [
    'by the version of what it provides, not its own',
    { needs: [need('api', '=', '7')], gives: [provides('api', '7')], expected: [['api (= 7)'], true] },
  ],
  [
    'not alone, where another provides it',
    { needs: [need('lib')], beside: { name: 'x', provides: [provides('lib')] }, expected: [['lib'], false] },
  ],
  [
    'alone, where the other has the wrong version',
    { needs: [need('lib', '>=', '2')], beside: { name: 'lib', version: '1.0-1' }, expected: [['lib (>= 2)'], true] },
  ],
  [
    'not alone, where an alternative is published',
    { needs: [either], beside: { name: 'other' }, expected: [['lib | other'], false] },
  ],
  ['alone, where no alternative is published', { needs: [either], expected: [['lib | other'], true] }],
  [
    'alone, where one of two is met by nothing else',
    {
      needs: [need('lib'), need('api')],
      gives: [provides('api')],
      beside: { name: 'lib', version: '1.0-1' },
      expected: [['lib', 'api'], true],
    },
  ],
  ['not while the dependant is held', { needs: [need('lib')], status: 'pending_review', expected: null }],
])('a package needs a record %s', async (_, { needs, gives = [], beside, status = 'published', expected }) => {
  const { db } = database
  await db.deleteFrom('offers').execute()
  await db.deleteFrom('packages').execute()
  await db.deleteFrom('blobs').execute()
  const record = await insertRecord(db, { name: 'lib', version: '2.0-1', arch: 'amd64', provides: gives })
  await insertRecord(db, { name: 'user', arch: 'amd64', requirements: needs, status })
  if (beside) await insertRecord(db, { arch: 'amd64', ...beside })
  const jammy = findDistribution('jammy')!
  const { packages } = await dependantsOf(db, jammy, { ...record, provides: gives })
  const found = packages.map(({ name, requirements, only }) => [name, requirements, only])
  expect(found).toEqual(expected ? [['user', ...expected]] : [])
})
