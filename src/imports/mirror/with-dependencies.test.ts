// What a mirror with dependencies selects besides the packages it names.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { selectionOf, type MirrorSelection } from '../../domain/mirror-selection.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Offered } from '../../formats/format.ts'
import type { Database } from '../../store/db.ts'
import type { Mirror } from './mirrors.ts'
import { selected } from './select.ts'
import { dependenciesOf } from './with-dependencies.ts'

/** name, version, architecture, needs (alternatives by `|`), provides */
const ENTRIES: [string, string, string, string[]?, string[]?][] = [
  ['web', '1', 'amd64', ['lib', 'data']],
  ['lib', '1.9', 'amd64'],
  ['lib', '1.10', 'amd64', ['base']],
  ['lib', '1.10', 'arm64'],
  ['data', '1', 'all'],
  ['base', '1', 'amd64'],
  ['old', '1', 'amd64', ['lib < 1.10']],
  ['choice', '1', 'amd64', ['absent | first | second']],
  ['first', '1', 'amd64'],
  ['second', '1', 'amd64'],
  ['mail', '1', 'amd64', ['mta']],
  ['server', '1', 'amd64', [], ['mta']],
  ['lost', '1', 'amd64', ['nowhere', 'data']],
  ['hurt', '1', 'amd64', ['base']],
  // More packages than are followed together.
  ...Array.from({ length: 450 }, (_, n): [string, string, string, string[]] => [
    `many-${n}`,
    '1',
    'amd64',
    [`many-${(n + 7) % 450}`, 'server'],
  ]),
]
let database: Database
let mirror: Mirror

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const now = new Date()
  const source = await db
    .insertInto('sources')
    .values({
      ...{ name: 'up', type: 'apt', url: 'http://up.example/', distribution: 'jammy', components: ['main'] },
      ...{ key: null, mirrors: null, architectures: ['amd64'], enabled: true, security: false, keys: '[]' },
      ...{ allow_unsigned: true, last_sync: now, error: null, created_at: now, created_by: 'a' },
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const relation = (text: string) => {
    const [name = '', op, version] = text.trim().split(' ')
    return { name, ...(op && { op, version }) }
  }
  const rows = ENTRIES.map(([name, version, arch, needs = [], provides = []]) => ({
    ...{
      source_id: source.id,
      path: `${name} ${version} ${arch}`,
      fingerprint: '',
      name,
      version,
      arch,
      size_bytes: 7,
    },
    ...{ digest_algorithm: 'sha256' as const, digest: `digest of ${name}`, section: name === 'web' ? 'net' : null },
    ...{ description: null, source_package: null, source_version: null, synced_at: now },
    requirements: JSON.stringify(
      needs.map((text) => ({ kind: 'depends', strong: true, text, anyOf: text.split('|').map(relation) })),
    ),
    provides: JSON.stringify(provides.map((name) => ({ name }))),
  }))
  await db.insertInto('catalog').values(rows).execute()
  mirror = { source, target: findDistribution('jammy') as Offered } as Mirror
})
afterAll(() => database?.close())

const HURT = { digest: 'digest of hurt', code: 'quarantined', detail: null, refused_at: new Date() }
const refusals = { among: async () => new Map([[HURT.digest, HURT]]) }

test.each<[string, Partial<MirrorSelection>, { needed?: Record<string, string>; unresolved?: [string, string][] }]>([
  [
    'what is needed comes, and what that needs, the newest that fits',
    { names: ['web'] },
    { needed: { 'lib 1.10 amd64': 'web', 'data 1 all': 'web', 'base 1 amd64': 'lib' } },
  ],
  [
    'sections do not hold for it',
    { sections: ['net'], exclude: ['base', 'lib'] },
    {
      needed: { 'data 1 all': 'web' },
      unresolved: [['lib', 'web']],
    },
  ],
  ['what is excluded does not come', { names: ['lib'], exclude: ['b?se'] }, { unresolved: [['base', 'lib']] }],
  [
    'other architectures do not come',
    { names: ['web'], architectures: ['amd64'] },
    {
      needed: { 'lib 1.10 amd64': 'web', 'base 1 amd64': 'lib' },
      unresolved: [['data', 'web']],
    },
  ],
  [
    'an older version comes beside the newest one',
    { names: ['lib', 'base', 'old'] },
    { needed: { 'lib 1.9 amd64': 'old' } },
  ],
  ['the first alternative comes', { names: ['choice'] }, { needed: { 'first 1 amd64': 'choice' } }],
  ['no alternative comes beside one that is selected', { names: ['choice', 'second'] }, {}],
  ['a provide is enough', { names: ['mail'] }, { needed: { 'server 1 amd64': 'mail' } }],
  [
    'what nobody has is named',
    { names: ['lost'] },
    { needed: { 'data 1 all': 'lost' }, unresolved: [['nowhere', 'lost']] },
  ],
  ['what the gate refused needs nothing', { names: ['hurt'] }, {}],
  [
    'what many need comes once, also when they are followed in parts',
    { globs: ['many-*'] },
    {
      needed: { 'server 1 amd64': 'many-0' },
    },
  ],
  [
    'nothing comes when all is selected',
    { globs: ['*'], keep_latest: null },
    {
      unresolved: [['nowhere', 'lost']],
    },
  ],
])('%s', async (_, given, { needed = {}, unresolved = [] }) => {
  const { db } = database
  const selection = selectionOf({ with_dependencies: true, ...given })
  const found = await dependenciesOf(db, { ...mirror, selection }, refusals)
  expect(Object.fromEntries(found!.paths)).toEqual(needed)
  expect(found!.unresolved).toEqual({
    total: unresolved.length,
    requirements: unresolved.map(([name, by]) => ({ name, needed_by: by })),
  })
  const request = { db, sourceId: mirror.source.id, selection, target: mirror.target }
  const pathsOf = async (dependencies?: ReadonlyMap<string, string>) => {
    const paths: string[] = []
    for await (const batch of selected({ ...request, dependencies }, { after: null, upTo: null }))
      paths.push(...batch.map(({ path }) => path))
    return paths.sort()
  }
  expect(await pathsOf(found!.paths)).toEqual([...(await pathsOf()), ...Object.keys(needed)].sort())
})

test('a selection without dependencies has none', async () => {
  expect(
    await dependenciesOf(database.db, { ...mirror, selection: selectionOf({ names: ['web'] }) }, refusals),
  ).toBeNull()
})
