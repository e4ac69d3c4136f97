import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from 'kysely'
import { createTestDatabase } from '../../test/database.ts'
import type { Database } from '../store/db.ts'
import type { CatalogBatch } from '../upstream/jobs/packages.ts'
import { dropFirst, firstCatalog, replaceCatalog, type Replacement } from './catalog.ts'
import { searchCatalog } from './catalog-query.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
  for (const [id, type, suite] of [
    [1, 'apt', 'stable'],
    [2, 'rpm', null],
  ] as const)
    await sql`insert into sources (id, type, name, url, distribution, components, architectures, enabled, security, keys, allow_unsigned, created_at, created_by, last_sync)
      overriding system value values (${id}, ${type}, ${`source ${id}`}, ${`u${id}`}, ${suite}, '{}', '{}', true, false, '[]', true, now(), 'test', now())`.execute(
      database.db,
    )
})
afterAll(() => database.close())
beforeEach(async () => {
  for (const id of [1, 2]) await sync(id, [])
})

type Stated = [path: string, name: string, version?: string, provides?: string[]]

interface Run {
  digest: string
  /** records that are left out */
  unreadable?: number
  packages: { fingerprint: string }[]
}

const run = (digest: string, stated: readonly Stated[]): Run => ({
  digest,
  packages: stated.map(([path, name, version = '1.0', provides = []]) => ({
    fingerprint: JSON.stringify([path, name, version, provides]),
    ...{ path, name, version, arch: 'amd64', sizeBytes: 7, digest: { algorithm: 'sha256', hex: '00' } },
    ...{ section: null, description: null, sourcePackage: name, sourceVersion: null, requirements: [] },
    provides: provides.map((one) => ({ name: one })),
  })),
})

function batchOf({ digest, packages, unreadable = 0 }: Run, isKnown = false): Pick<CatalogBatch, 'runs' | 'lines'> {
  const fingerprints = packages.map(({ fingerprint }) => fingerprint)
  return {
    runs: [{ digest, size: packages.length + unreadable, fingerprints: isKnown ? null : fingerprints }],
    lines: Buffer.from(isKnown ? '' : packages.map((line) => JSON.stringify(line)).join(',')),
  }
}

/** @returns the packages of the source that were written by this sync */
async function sync(source: number, runs: Run[], now = new Date(), begin = replaceCatalog): Promise<string[]> {
  const { db } = database
  const replacement = await begin(db, source, now)
  const known = new Set(await replacement.known())
  for (const one of runs) await replacement.add(batchOf(one, known.has(one.digest)))
  const { total, changed } = await replacement.commit(async () => {})
  const rows = await db.selectFrom('catalog').selectAll().where('source_id', '=', source).orderBy('path').execute()
  expect(rows).toHaveLength(total)
  const { rows: counted } =
    await sql`select name, count(*)::int as packages from catalog where source_id = ${source} group by name order by name collate "C"`.execute(
      db,
    )
  const names = db.selectFrom('catalog_names').select(['name', 'packages']).where('source_id', '=', source)
  expect(await names.orderBy('name').execute()).toEqual(counted)
  expect(await listedNames(source)).toEqual(await names.orderBy('folded').orderBy('name').execute())
  const written = rows.filter(({ synced_at }) => synced_at.getTime() === now.getTime()).map(({ path }) => path)
  expect(changed).toBe(written.length)
  return written
}

/** What searches read, which triggers keep. */
async function listedNames(source: number) {
  const lists = database.db.selectFrom('catalog_name_lists').select('names').where('source_id', '=', source)
  return (await lists.execute())
    .flatMap(({ names }) => names.split('\n'))
    .map((line) => line.split('\t'))
    .sort(([a = '', A = a], [b = '', B = b]) => (a < b || (a === b && A < B) ? -1 : 1))
    .map(([folded = '', name = folded, packages = '1']) => ({ name, packages: Number(packages) }))
}

describe('a replacement of the catalog', () => {
  const at = (day: number) => new Date(Date.UTC(2026, 0, day))

  test('writes only the rows that differ, and forgets those that are gone', async () => {
    const first = run('one', [
      ['a', 'alpha'],
      ['b', 'beta'],
    ])
    const second = run('two', [['c', 'gamma']])
    expect(await sync(1, [first, second], at(1))).toEqual(['a', 'b', 'c'])
    expect(await sync(1, [first, second], at(2))).toEqual([])
    const changed = run('three', [
      ['a', 'alpha'],
      ['b', 'beta', '1.1'],
      ['d', 'alpha', '2.0'],
    ])
    expect(await sync(1, [changed, second], at(3))).toEqual(['b', 'd'])
    expect(await sync(1, [second], at(4))).toEqual([])
    expect((await searchCatalog(database.db, { q: 'a', limit: 10 })).results.map(({ name }) => name)).toEqual(['gamma'])
  })

  test('keeps the first of two packages with one path, and finds the other when the first leaves', async () => {
    const other = run('two', [['a', 'alpha', '2.0']])
    expect(await sync(1, [run('one', [['a', 'alpha', '1.0']]), other], at(1))).toEqual(['a'])
    expect(await sync(1, [other], at(2))).toEqual(['a'])
    const { results } = await searchCatalog(database.db, { q: 'alpha', limit: 10 })
    expect(results.map(({ version }) => version)).toEqual(['2.0'])
  })

  test('has a package that is in two runs until both are gone', async () => {
    const all: Stated = ['all', 'common']
    const amd64 = run('amd64', [['a', 'alpha'], all])
    const arm64 = run('arm64', [['b', 'beta'], all])
    expect(await sync(1, [amd64, arm64], at(1))).toEqual(['a', 'all', 'b'])
    expect(await sync(1, [amd64], at(2))).toEqual([])
    expect((await searchCatalog(database.db, { q: 'common', limit: 10 })).total).toBe(1)
  })

  test.each([
    ['the first catalog', [firstCatalog, replaceCatalog]],
    ['a replacement', [replaceCatalog, replaceCatalog]],
  ])('counts what %s and the next sync leave out, though that one reads no run again', async (_, begins) => {
    const some = { ...run('some', [['a', 'alpha']]), unreadable: 2 }
    const none = { ...run('none', []), unreadable: 25 }
    for (const begin of begins) {
      const replacement = await begin(database.db, 2, at(1))
      const known = new Set(await replacement.known())
      // The indexes of two architectures share a run.
      for (const one of [some, none, some]) await replacement.add(batchOf(one, known.has(one.digest)))
      let stored
      const counts = await replacement.commit(async (_tx, given) => void (stored = given))
      expect(counts).toMatchObject({ total: 1, leftOut: 27 })
      expect(stored).toEqual({ total: 1, leftOut: 27 })
    }
  })
})

describe('the first catalog of a source', () => {
  const lastSync = (value: Date | null, db = database.db) =>
    db.updateTable('sources').set({ last_sync: value }).where('id', '=', 1).execute()
  beforeEach(() => lastSync(null))
  afterEach(() => lastSync(new Date()))

  const all: Stated = ['all', 'common', '1.0', ['virtual']]
  const runs = [run('amd64', [['a', 'alpha'], all]), run('arm64', [['b', 'beta'], all])]
  const found = async (q: string) => (await searchCatalog(database.db, { q, limit: 10 })).total
  const begun = async (): Promise<Replacement> => {
    const first = await firstCatalog(database.db, 1, new Date())
    await first.add(batchOf(runs[0]!))
    return first
  }

  test('is found by nobody before it is whole', async () => {
    const first = await begun()
    expect([await found('common'), await found('virtual')]).toEqual([0, 0])
    await first.add(batchOf(runs[1]!))
    await first.commit(async (tx) => {
      await lastSync(new Date(), tx)
    })
    expect([await found('common'), await found('virtual'), await found('a')]).toEqual([1, 1, 2])
  })

  test('is what a replacement would have made, and the base of the next one', async () => {
    expect(await sync(1, runs, undefined, firstCatalog)).toEqual(['a', 'all', 'b'])
    await lastSync(new Date())
    expect(await sync(1, runs)).toEqual([])
    expect(await sync(1, runs.slice(0, 1))).toEqual([])
    expect([await found('common'), await found('beta')]).toEqual([1, 0])
  })

  test('begins again after an interruption, and leaves nothing when it is given up', async () => {
    await begun()
    expect(await sync(1, [run('other', [['c', 'gamma']])], undefined, firstCatalog)).toEqual(['c'])
    await sync(1, [])
    await begun()
    await dropFirst(database.db, 1)
    const left = database.db.selectFrom('catalog').select('path').where('source_id', '=', 1).execute()
    expect(await left).toEqual([])
  })
})

describe('a search', () => {
  const find = async (q: string, more: object = {}) => {
    const { total, results } = await searchCatalog(database.db, { q, limit: 10, ...more })
    return [total, results.map(({ name, version }) => `${name} ${version}`)]
  }

  test('ranks the same name, what provides it, beginnings, then the others', async () => {
    await sync(1, [
      run('one', [
        ['a', 'libmta'],
        ['b', 'mta-tools'],
        ['c', 'postfix', '3.7', ['mta']],
        ['d', 'mta'],
        ['e', 'mta', '2.0'],
      ]),
    ])
    const all = ['mta 1.0', 'mta 2.0', 'postfix 3.7', 'mta-tools 1.0', 'libmta 1.0']
    expect(await find('mta')).toEqual([5, all])
    expect(await find('mta', { limit: 2 })).toEqual([5, all.slice(0, 2)])
    expect(await find('mta', { limit: 3 })).toEqual([5, all.slice(0, 3)])
    expect(await find('post')).toEqual([1, ['postfix 3.7']])
    expect(await find('nothing')).toEqual([0, []])
  })

  test('ignores the case of names, and takes characters of patterns as they are', async () => {
    await sync(2, [
      run('one', [
        ['a', 'NetworkManager'],
        ['b', 'a_b'],
        ['c', 'axb'],
      ]),
    ])
    expect(await find('WORKman')).toEqual([1, ['NetworkManager 1.0']])
    expect(await find('a_b')).toEqual([1, ['a_b 1.0']])
    expect(await find('%')).toEqual([0, []])
  })

  test('counts every package of a name, whatever its case, and none of a name that has the part only in another source', async () => {
    const three = run('one', [
      ['a', 'libX', '1.0'],
      ['b', 'libX', '2.0'],
      ['c', 'libx'],
      ['d', 'libxx'],
    ])
    await sync(1, [three])
    await sync(2, [run('one', [['a', 'libx']])])
    expect(await find('LIBX')).toEqual([5, ['libX 1.0', 'libX 2.0', 'libx 1.0', 'libx 1.0', 'libxx 1.0']])
    expect(await find('libx', { sourceId: 2 })).toEqual([1, ['libx 1.0']])
    await sync(1, [run('two', [['b', 'libX', '2.0']])])
    expect(await find('libx')).toEqual([2, ['libX 2.0', 'libx 1.0']])
    // White space divides words, so none of it is looked for in the lists, where it divides names.
    expect(await find('x\tlib')).toEqual([2, ['libX 2.0', 'libx 1.0']])
    await sync(1, [])
    expect(await find('libx')).toEqual([1, ['libx 1.0']])
  })

  test.each([
    ['python3 requests', ['python3-requests', 'python3-requests-doc']],
    ['REQUESTS  python3', ['python3-requests', 'python3-requests-doc']],
    ['python3 re', ['python3-requests', 'python3-requests-doc', 'python3-re']],
    ['python3 python3-requests', ['python3-requests', 'python3-requests-doc']],
    ['web server', ['Web-Server', 'a-server-for-web']],
    ['web 2', []],
    ['web nothing', []],
    ['  ', []],
  ])('finds names that have every word of "%s"', async (q, names) => {
    const all = ['python3-requests', 'python3-requests-doc', 'python3-re', 'Web-Server', 'a-server-for-web', 'web-two']
    const twice: Stated[] = ['1.0', '1.1'].map((version) => [version, 'web-two', version])
    await sync(1, [run('one', [...all.map((name): Stated => [name, name]), ...twice])])
    const { total, results } = await searchCatalog(database.db, { q, limit: 10 })
    expect([total, results.map(({ name }) => name).sort()]).toEqual([names.length, [...names].sort()])
  })

  test('lists a file of several sources once, and as many names as without them', async () => {
    const { db } = database
    await db.updateTable('sources').set({ type: 'apt' }).where('id', '=', 2).execute()
    const names = ['nginx', 'nginx-a', 'nginx-b', 'nginx-c'].map((name): Stated => [name, name, '1.0', ['httpd']])
    for (const id of [1, 2]) await sync(id, [run('one', names)])
    const lines = async (q: string, limit: number) => {
      const { total, results } = await searchCatalog(db, { q, limit })
      return [total, results.map(({ name, source_ids: ids }) => [name, ids])]
    }
    const both = names.map(([, name]) => [name, [1, 2]])
    expect(await lines('nginx', 3)).toEqual([8, both.slice(0, 3)])
    expect(await lines('nginx', 10)).toEqual([8, both])
    expect(await lines('httpd', 10)).toEqual([8, both])
    await db
      .updateTable('catalog')
      .set({ digest: '01' })
      .where('source_id', '=', 2)
      .where('name', '=', 'nginx')
      .execute()
    const apart = [
      ['nginx', [1]],
      ['nginx', [2]],
    ]
    expect(await lines('nginx', 3)).toEqual([8, [...apart, both[1]]])
    await db.updateTable('sources').set({ type: 'rpm' }).where('id', '=', 2).execute()
  })

  test('is narrowed by source, type and suite', async () => {
    await sync(1, [run('one', [['a', 'alpha', '1']])])
    await sync(2, [run('one', [['a', 'alpha', '2', ['virtual']]])])
    expect(await find('alpha')).toEqual([2, ['alpha 1', 'alpha 2']])
    expect(await find('alpha', { sourceId: 2 })).toEqual([1, ['alpha 2']])
    expect(await find('alpha', { types: ['apt'] })).toEqual([1, ['alpha 1']])
    expect(await find('alpha', { distribution: 'stable' })).toEqual([1, ['alpha 1']])
    expect(await find('virtual', { sourceId: 1 })).toEqual([0, []])
  })

  test('counts all of a part that thousands of names have, and shows the first', async () => {
    const many = Array.from({ length: 3000 }, (_, n): Stated => [`p${n}`, `lib${String(n).padStart(4, '0')}`])
    await sync(1, [run('one', [...many, ['x', 'a-lib'], ['y', 'lib']])])
    expect(await find('lib', { limit: 2 })).toEqual([3002, ['lib 1.0', 'lib0000 1.0']])
    expect(await find('ib0', { limit: 2 })).toEqual([1000, ['lib0000 1.0', 'lib0001 1.0']])
    expect(await find('ib', { limit: 2 })).toEqual([3002, ['a-lib 1.0', 'lib 1.0']])
  })
})
