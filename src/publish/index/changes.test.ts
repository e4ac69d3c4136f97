// Whether a state can continue from its revision, and what it reads. Uses PGlite, or PostgreSQL where it is available.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from '../publisher.fixture.ts'
import { canContinue, changesSince, offersBetween } from './changes.ts'

test.each([
  ['the same revision', 5, { revision: 5, history_floor: 0 }, true],
  ['an earlier revision', 3, { revision: 5, history_floor: 0 }, true],
  ['history up to its own revision was deleted', 3, { revision: 5, history_floor: 3 }, true],
  ['history after its revision was deleted', 2, { revision: 5, history_floor: 3 }, false],
  ['the database was restored to an earlier revision', 6, { revision: 5, history_floor: 0 }, false],
])('%s', (_, revision, now, expected) => {
  expect(canContinue(revision, now)).toBe(expected)
})

let site: Site
let house: PublishingHouse
let ids: number[]
beforeAll(async () => {
  site = await openSite()
  house = await createPublishingHouse(site.database, site.signers, ['jammy'])
  for (const name of ['a', 'b', 'c', 'd', 'e']) await house.addPackage('jammy', name)
  const { rows } = await sql<{ id: number }>`select package_id as id from offers order by from_revision`.execute(
    house.db,
  )
  ids = rows.map(({ id }) => id)
  // Two revisions of several packages, and one package that is removed in the third.
  await sql`update offers set from_revision = case when package_id <= ${ids[2]} then 1 else 2 end`.execute(house.db)
  await sql`update offers set until_revision = 3, ended_by = 'deletion' where package_id = ${ids[1]}`.execute(house.db)
  await sql`update distributions set revision = 3, published_revision = 2`.execute(house.db)
})
afterAll(async () => {
  await house.close()
  await site.close()
})

// Packages by their place in `ids`.
test.each([
  [
    'a restart, without what was removed',
    -1,
    3,
    [
      [0, 2],
      [3, 4],
    ],
  ],
  ['pages that end within a revision, with what ended after them', -1, 2, [[0, 1], [2, 3], [4]]],
  ['a delta', 1, 3, [[3, 4]]],
  ['nothing new', 2, 3, []],
])('pages are read of %s', async (_, after, until, expected) => {
  const pages: number[][] = []
  for await (const page of offersBetween(house.db, 'jammy', after, until, 2))
    pages.push(page.map(({ id }) => ids.indexOf(id)))
  expect(pages).toEqual(expected)
})

test.each([
  ['from nothing', -1, 'restart', undefined],
  ['from a known revision', 2, 'delta', [1]],
  ['from the revision of this moment', 3, 'delta', []],
  ['from a revision that the database never had', 9, 'restart', undefined],
])('%s: what has to be done, without the packages', async (_, revision, kind, removed) => {
  const changes = await changesSince(house.db, 'jammy', revision)
  expect([changes.kind, changes.revision]).toEqual([kind, 3])
  expect('removed' in changes ? changes.removed.map(({ id }) => ids.indexOf(id)) : undefined).toEqual(removed)
  expect('added' in changes).toBe(false)
  expect([...changes.causes]).toEqual(revision < 3 ? ['deletion'] : [])
})
