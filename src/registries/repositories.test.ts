// Repositories: what can be made, changed and removed, and which member of a group has a name.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRegistry } from '../publish/listing/listing.fixture.ts'
import { createRepositories, type Repositories } from './repositories.ts'

let site: Awaited<ReturnType<typeof openRegistry>>
let repositories: Repositories
const by = { name: 'ada', origin: { ip: null, requestId: null } }
const hosted = (name: string) => repositories.create({ format: 'npm', name, kind: 'hosted' }, by)

beforeAll(async () => {
  site = await openRegistry()
  repositories = createRepositories({ ...site, audit: { record: async () => {}, flush: async () => {} } })
  for (const name of ['a', 'b', 'full']) await hosted(name)
  await repositories.create({ format: 'npm', name: 'all', kind: 'group', members: ['a', 'b'] }, by)
  await site.addFile('npm/full', 'left', '1')
})
afterAll(() => site.close())

test.each([
  ['a name that is taken', () => hosted('a'), 'already_exists'],
  ['members of a hosted one', () => repositories.change('npm/a', { members: ['b'] }, by), 'validation_error'],
  ['a member that is not there', () => repositories.change('npm/all', { members: ['c'] }, by), 'validation_error'],
  ['a group as a member', () => repositories.change('npm/all', { members: ['all'] }, by), 'validation_error'],
  ['a member twice', () => repositories.change('npm/all', { members: ['a', 'a'] }, by), 'validation_error'],
  ['removing one with packages', () => repositories.remove('npm/full', by), 'not_empty'],
  ['removing a member of a group', () => repositories.remove('npm/a', by), 'not_empty'],
  ['removing one that is not there', () => repositories.remove('npm/none', by), 'not_found'],
])('%s is refused', async (_, work, code) => {
  await expect(work()).rejects.toMatchObject({ code })
  expect((await repositories.get('npm/all')).members).toEqual(['npm/a', 'npm/b'])
})

test('a group is changed and removed, and its former members can then be removed', async () => {
  for (const name of ['x', 'y']) await hosted(name)
  await repositories.create({ format: 'npm', name: 'some', kind: 'group', members: ['x', 'y'] }, by)
  const changed = await repositories.change('npm/some', { members: ['y'], isPublic: true }, by)
  expect(changed).toMatchObject({ members: ['npm/y'], is_public: true, description: '' })
  await repositories.remove('npm/x', by)
  await repositories.remove('npm/some', by)
  await repositories.remove('npm/y', by)
  expect((await repositories.list()).map(({ key }) => key)).not.toContain('npm/y')
})

test('the first member that knows a name has it, also while it holds the name', async () => {
  await site.addFile('npm/b', 'shared', '2')
  const all = await repositories.get('npm/all')
  expect(await repositories.ownerOf(all, 'shared')).toBe('npm/b')
  await site.addFile('npm/a', 'shared', '1', 'pending_review')
  expect(await repositories.ownerOf(all, 'shared')).toBe('npm/a')
  expect(await repositories.ownerOf(all, 'left')).toBeNull()
})
