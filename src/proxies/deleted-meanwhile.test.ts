// What is said about repositories that somebody changes or removes at the same moment. Runs on PGlite, where transactions take turns,
// and on PostgreSQL where TEST_DATABASE_URL names a server.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { meanwhile } from '../../test/database.ts'
import { outcome } from '../accounts/fixture.ts'
import { openRegistry } from '../publish/listing/listing.fixture.ts'
import { createNames } from '../registries/names.ts'
import { createReleaseNotes } from '../registries/release-notes.ts'
import { createRepositories, type Repository } from '../registries/repositories.ts'
import type { Db } from '../store/db.ts'
import { createClaims } from './claims.ts'
import { createWithheld } from './withheld.ts'

const audit = { record: async () => {}, flush: async () => {} }
const by = { name: 'ada', origin: { ip: null, requestId: null } }
const TEAM = { key: 'npm/team', format: 'npm', kind: 'hosted' } as Repository
const YOUNG = { rule: 'age', text: 'too young', until: null } as const
const LEFT = { repository: 'npm/team', name: 'left' }

let site: Awaited<ReturnType<typeof openRegistry>>
beforeAll(async () => {
  site = await openRegistry()
})
afterAll(() => site.close())

const made = () => ({
  repositories: createRepositories({ ...site, audit }),
  names: createNames({ ...site, audit }),
  notes: createReleaseNotes({ ...site, audit }),
  claims: createClaims({ ...site, audit }),
  withheld: createWithheld(site),
})
beforeEach(async () => {
  await removeAll(site.db)
  const { repositories } = made()
  await repositories.create({ format: 'npm', name: 'team', kind: 'hosted' }, by)
  await repositories.create({ format: 'npm', name: 'all', kind: 'group' }, by)
  await site.addFile(LEFT.repository, LEFT.name, '1')
})

/** As a person does who deletes the packages, then the repositories. */
async function removeAll(tx: Db): Promise<void> {
  for (const table of ['packages', 'offers', 'tags', 'version_notes', 'repository_members'] as const)
    await tx.deleteFrom(table).execute()
  for (const table of ['blobs', 'repositories', 'distributions'] as const) await tx.deleteFrom(table).execute()
}
const join = (tx: Db) =>
  tx.insertInto('repository_members').values({ repository: 'npm/all', position: 0, member: 'npm/team' }).execute()
const empty = async (tx: Db) => {
  for (const table of ['packages', 'offers'] as const) await tx.deleteFrom(table).execute()
}

test.each<[string, string, (at: ReturnType<typeof made>) => Promise<unknown>]>([
  ['members', 'not_found', ({ repositories }) => repositories.change('npm/all', { members: ['team'] }, by)],
  [
    'a group',
    'validation_error',
    ({ repositories }) => repositories.create({ format: 'npm', name: 'more', kind: 'group', members: ['team'] }, by),
  ],
  ['a tag', 'not_found', ({ names }) => names.setTag(LEFT, 'next', '1', by)],
  ['a note', 'not_found', ({ names }) => names.note(LEFT, { 1: { deprecated: 'old' } }, by)],
  ['a yank', 'not_found', ({ notes }) => notes.yank({ ...LEFT, version: '1' }, 'broken', by)],
  ['a claim', 'not_found', ({ claims }) => claims.add(TEAM, 'right', by)],
  [
    'a note on who asked',
    'ok',
    ({ withheld }) => withheld.note(TEAM.key, { name: 'left', version: '1' }, [YOUNG], 'ada'),
  ],
])('%s with a repository that is removed at the same moment: %s', async (_, code, work) => {
  const begun = made()
  expect(await outcome(meanwhile(site, removeAll, () => work(begun)))).toBe(code)
})

test('a repository that becomes a member at the same moment is not removed', async () => {
  await empty(site.db)
  expect(await outcome(meanwhile(site, join, () => made().repositories.remove('npm/team', by)))).toBe('not_empty')
  expect((await made().repositories.get('npm/all')).members).toEqual(['npm/team'])
})
