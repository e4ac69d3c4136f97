// Which file of a repository of libraries a logged request was for.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRegistry } from '../../publish/listing/listing.fixture.ts'
import { createRepositories } from '../../registries/repositories.ts'
import { createResolver, type LibraryTarget } from './resolve.ts'

let site: Awaited<ReturnType<typeof openRegistry>>
const by = { name: 'ada', origin: { ip: null, requestId: null } }

beforeAll(async () => {
  site = await openRegistry()
  const { create } = createRepositories({ ...site, audit: { record: async () => {}, flush: async () => {} } })
  for (const name of ['a', 'b', 'c']) await create({ format: 'npm', name, kind: 'hosted' }, by)
  await create({ format: 'npm', name: 'all', kind: 'group', members: ['b', 'a'] }, by)
  for (const repository of ['npm/a', 'npm/b', 'npm/c']) await site.addFile(repository, 'shared', '1')
  await site.addFile('npm/a', 'own', '1')
  await site.addFile('npm/a', 'held', '1', 'pending_review')
})
afterAll(() => site.close())

/** `npm/a own own-1.tgz` */
const library = (target: string): LibraryTarget | null => {
  const [repository = '', name, filename] = target.split(' ')
  return name && filename ? { format: 'npm', repository, name, filename } : null
}

test.each<[string, string, string | null]>([
  ['a file of a repository', 'npm/c shared shared-1.tgz', 'npm/c'],
  ['a file of a group: that of its first member which has it', 'npm/all shared shared-1.tgz', 'npm/b'],
  ['a file that only a later member has', 'npm/all own own-1.tgz', 'npm/a'],
  ['a file of a repository that is no member', 'npm/b own own-1.tgz', null],
  ['another package with a file of that name', 'npm/c @team/shared shared-1.tgz', null],
  ['a file that was never offered', 'npm/a held held-1.tgz', null],
  ['a repository that does not exist', 'npm/none shared shared-1.tgz', null],
])('%s', async (_, target, place) => {
  const resolver = createResolver({ db: site.db, place: () => null, find: () => null, library })
  const { files } = await resolver.resolve([target])
  expect(files.get(target)?.distribution ?? null).toBe(place)
})
