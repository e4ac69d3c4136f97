// Which of the held files of one version a decision covers.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { outcome } from '../accounts/fixture.ts'
import { repositoryKey } from '../domain/repositories.ts'
import { addPlace } from '../packages/records/places.ts'
import { openRegistry } from '../publish/listing/listing.fixture.ts'
import { heldBy, type Looked } from './decide.ts'

let site: Awaited<ReturnType<typeof openRegistry>>
beforeAll(async () => {
  site = await openRegistry()
  for (const name of ['team', 'other']) {
    const key = { format: 'npm', name } as const
    await addPlace(site.db, key, false)
    const made = { description: '', created_at: new Date(), created_by: 'ada' }
    await site.db
      .insertInto('repositories')
      .values({ key: repositoryKey(key), kind: 'hosted', ...key, ...made })
      .execute()
  }
})
afterAll(() => site.close())
beforeEach(async () => {
  for (const table of ['packages', 'blobs'] as const) await site.db.deleteFrom(table).execute()
})

/** @returns the digest of its bytes, which no other file has */
async function hold(arch: string, reason: 'curation' | 'unscanned', place = 'npm/team'): Promise<string> {
  const id = await site.addFile(place, 'left', arch, 'pending_review')
  const held = { version: '1', arch, held_reason: reason }
  const row = await site.db
    .updateTable('packages')
    .set(held)
    .where('id', '=', id)
    .returning('sha256')
    .executeTakeFirst()
  return row!.sha256
}
const covered = async (more: Partial<Looked> = {}) =>
  (await heldBy(site, { name: 'left', version: '1', ...more })).map(({ arch }) => arch).sort()

test('the files of a version in a repository that are held for one reason are decided together, whichever was looked at', async () => {
  const digests = [await hold('sdist', 'curation'), await hold('py3-none-any', 'curation')]
  expect(await covered()).toEqual(['py3-none-any', 'sdist'])
  for (const sha256 of digests) expect(await covered({ sha256 })).toEqual(['py3-none-any', 'sdist'])
  expect(await covered({ arch: 'sdist' })).toEqual(['sdist'])
  expect(await outcome(covered({ sha256: '0'.repeat(64) }))).toBe('bytes_changed')
  expect(await outcome(covered({ arch: 'sdist', sha256: digests[1]! }))).toBe('bytes_changed')
})

test('files that are held for other reasons, or in other repositories, are not', async () => {
  await hold('sdist', 'curation')
  await hold('py3-none-any', 'unscanned')
  expect(await outcome(covered())).toBe('ambiguous')
  expect(await covered({ arch: 'sdist' })).toEqual(['sdist'])
  await site.db.updateTable('packages').set({ held_reason: 'curation' }).execute()
  await hold('sdist', 'curation', 'npm/other')
  expect(await outcome(covered())).toBe('ambiguous')
  expect(await covered({ distribution: 'npm/team' })).toEqual(['py3-none-any', 'sdist'])
})
