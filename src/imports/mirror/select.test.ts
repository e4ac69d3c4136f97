import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MirrorSelection } from '../../domain/mirror-selection.ts'
import { findDistribution, formats } from '../../formats/index.ts'
import type { Offered } from '../../formats/format.ts'
import type { Database } from '../../store/db.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createRefusedCount, leftOut, unmatched } from './left-out.ts'
import { likePattern, selected, type NameRange } from './select.ts'

const ALL: MirrorSelection = {
  ...{ names: [], globs: ['*'], exclude: [], sections: [], architectures: [] },
  ...{ keep_latest: 1, with_dependencies: false, remove_withdrawn: false, remove_at_most_percent: 5 },
}
/** name, version, arch, section */
const ENTRIES: [string, string, string, string | null][] = [
  ['alpha', '1.9', 'amd64', 'libs'],
  ['alpha', '1.10', 'amd64', 'libs'],
  ['alpha', '1.10', 'arm64', 'libs'],
  ['alpha', '1.10~rc1', 'amd64', 'libs'],
  ['beta-doc', '2', 'all', 'contrib/doc'],
  ['beta_x', '1', 'amd64', 'net'],
  ['betaxx', '1', 'amd64', null],
  ['gamma', '2:0.1', 'amd64', 'net'],
  ['gamma', '1:9', 'amd64', 'net'],
]
const target = findDistribution('jammy') as Offered
let database: Database

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const now = new Date()
  await db
    .insertInto('sources')
    .values({
      ...{ name: 'up', type: 'apt', url: 'http://up.example/', distribution: 'jammy', components: ['main'] },
      ...{ key: null, mirrors: null, architectures: ['amd64'], enabled: true, security: false, keys: '[]' },
      ...{ allow_unsigned: true, last_sync: now, error: null, created_at: now, created_by: 'a' },
    })
    .execute()
  const row = (name: string, version: string, arch: string, section: string | null, path: string) => ({
    ...{ source_id: 1, path, fingerprint: '', name, version, arch, size_bytes: 7, digest_algorithm: 'sha256' as const },
    ...{ digest: 'aa', section, description: null, source_package: null, source_version: null },
    ...{ requirements: '[]', provides: '[]', synced_at: now },
  })
  await db
    .insertInto('catalog')
    .values([
      ...ENTRIES.map(([name, version, arch, section], n) => row(name, version, arch, section, `pool/${n}`)),
      // The same package in a second component.
      row('gamma', '2:0.1', 'amd64', 'net', 'pool/again'),
      // More than one page of one name.
      ...Array.from({ length: 1100 }, (_, n) => row('many', `1.${n}`, 'amd64', 'libs', `pool/many/${n}`)),
    ])
    .execute()
})
afterAll(() => database?.close())

async function select(selection: Partial<MirrorSelection>, range: Partial<NameRange> = {}): Promise<string[]> {
  const request = { db: database.db, sourceId: 1, selection: { ...ALL, exclude: ['many'], ...selection }, target }
  const found: string[] = []
  for await (const batch of selected(request, { after: null, upTo: null, ...range }))
    found.push(...batch.map(({ name, version, arch }) => `${name} ${version} ${arch}`))
  return found.sort()
}

const NEWEST = ['alpha 1.10 amd64', 'beta-doc 2 all', 'beta_x 1 amd64', 'betaxx 1 amd64', 'gamma 2:0.1 amd64']

describe('a selection', () => {
  test.each<[string, Partial<MirrorSelection>, string[]]>([
    ['takes the newest version of each name, for the architectures of the distribution', {}, NEWEST],
    ['of one name', { names: ['gamma'], globs: [] }, ['gamma 2:0.1 amd64']],
    [
      'of names and globs takes both',
      { names: ['gamma'], globs: ['alp?a'] },
      ['alpha 1.10 amd64', 'gamma 2:0.1 amd64'],
    ],
    ['has no wildcards but * and ?', { globs: ['beta_x', 'alph%', '\\*'] }, ['beta_x 1 amd64']],
    ['leaves out what is excluded', { exclude: ['beta*', 'many'] }, ['alpha 1.10 amd64', 'gamma 2:0.1 amd64']],
    ['of sections takes them without names', { globs: [], sections: ['net'] }, ['beta_x 1 amd64', 'gamma 2:0.1 amd64']],
    ['of sections takes patterns', { sections: ['*/doc'] }, ['beta-doc 2 all']],
    ['of another architecture', { architectures: ['arm64'] }, ['alpha 1.10 arm64']],
    [
      'of the two newest versions orders them as the format does',
      { names: ['alpha'], globs: [], keep_latest: 2 },
      ['alpha 1.10 amd64', 'alpha 1.10~rc1 amd64'],
    ],
    [
      'of all versions takes each once',
      { globs: ['gamma', 'alpha'], keep_latest: null },
      ['alpha 1.10 amd64', 'alpha 1.10~rc1 amd64', 'alpha 1.9 amd64', 'gamma 1:9 amd64', 'gamma 2:0.1 amd64'],
    ],
  ])('%s', async (_, selection, expected) => {
    expect(await select(selection)).toEqual(expected)
  })

  test.each<[Partial<NameRange>, string[]]>([
    [{ after: 'beta_x' }, ['betaxx 1 amd64', 'gamma 2:0.1 amd64']],
    [{ upTo: 'beta-doc' }, ['alpha 1.10 amd64', 'beta-doc 2 all']],
    [{ after: 'alpha', upTo: 'alpha' }, []],
  ])('of the names in %j has those after the first and up to the second', async (range, expected) => {
    expect(await select({}, range)).toEqual(expected)
  })

  test.each<[Partial<MirrorSelection>, [string, number][]]>([
    [{}, [['1 packages for arm64: jammy takes amd64 and all', 1]]],
    [{ names: ['gamma'], globs: [] }, []],
    [
      { globs: ['beta*'], architectures: ['arm64'] },
      [
        ['2 packages for amd64: the selection takes arm64', 2],
        ['1 packages for all: the selection takes arm64', 1],
      ],
    ],
  ])('%j says what is left out for its architecture', async (selection, expected) => {
    const source = { id: 1 } as never
    const found = await leftOut(database.db, { source, selection: { ...ALL, exclude: ['many'], ...selection }, target })
    expect(found.map(({ detail, count }) => [detail, count])).toEqual(expected)
  })

  test('reads a name with more versions than a page', async () => {
    expect(await select({ exclude: [], globs: ['many'] })).toEqual(['many 1.1099 amd64'])
    expect(await select({ exclude: [], globs: ['many'], keep_latest: null })).toHaveLength(1100)
  })
})

test('names and patterns that the source has nothing for are told', async () => {
  await sql`insert into catalog_names (source_id, folded, name, packages)
    select source_id, lower(name), name, count(*)::int from catalog where source_id = 1 group by source_id, name`.execute(
    database.db,
  )
  const selection = { ...ALL, names: ['alpha', 'alhpa', 'Gamma'], globs: ['bet*', 'zz*', 'beta?x'] }
  expect(await unmatched(database.db, { source: { id: 1 } as never, selection })).toEqual({
    total: 3,
    names: ['alhpa', 'Gamma', 'zz*'],
  })
})

test('a package of a module is left out, so that an older one which is none is the newest', async () => {
  const { db } = database
  const listed = (version: string, name = 'nodejs') => ({
    ...{ source_id: 2, path: `${name}-${version}`, fingerprint: '', name, version, arch: 'x86_64', size_bytes: 7 },
    ...{ digest_algorithm: 'sha256' as const, digest: 'aa', section: null, description: null, source_package: null },
    ...{ source_version: null, requirements: '[]', provides: '[]', synced_at: new Date() },
  })
  const { id: _id, ...source } = await db.selectFrom('sources').selectAll().executeTakeFirstOrThrow()
  await db
    .insertInto('sources')
    .values({
      ...source,
      name: 'rpm',
      type: 'rpm',
      url: 'http://rpm.example/',
      keys: '[]',
      seen: null,
      not_carried: null,
    })
    .execute()
  const modular = '18-2.module+el9.1.0+15718+e52ec601'
  await db
    .insertInto('catalog')
    .values([listed('16-1.el9'), listed(modular), listed(modular, 'npm')])
    .execute()
  const almalinux = findDistribution('almalinux9') as Offered
  const unfit = createRefusedCount()
  const request = { db, sourceId: 2, selection: ALL, target: almalinux, onRefused: unfit.note }
  const found: string[] = []
  for await (const batch of selected(request, { after: null, upTo: null }))
    found.push(...batch.map(({ name, version }) => `${name} ${version}`))
  expect(found).toEqual(['nodejs 16-1.el9'])
  expect(unfit.list()).toMatchObject([{ reason: 'format', count: 2, detail: expect.stringContaining('of a module') }])
})

test.each(formats.map((format) => [format.id, format]))(
  '%s compares versions as select needs it',
  (_, { versions }) => {
    expect(['1.9-r0', '1.10-r0'].sort(versions.compare).at(-1)).toBe('1.10-r0')
  },
)

test.each([
  ['*', '%'],
  ['lib?_%x\\', 'lib_\\_\\%x\\\\'],
])('the pattern of %s is %s', (glob, pattern) => {
  expect(likePattern(glob)).toBe(pattern)
})
