import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Advisory, AffectedPackage } from '../../domain/advisory.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { endImport } from './import.ts'
import { createAdvisories, rematchNews, type Advisories } from './advisories.ts'
import type { AdvisoryImport, NewAdvisory } from '../../domain/advisory-store.ts'
import type { Database } from '../db.ts'

let database: Database | undefined
let advisories: Advisories
let now: Date
beforeEach(async () => {
  now = new Date('2026-05-01T00:00:00Z')
  database ??= await createTestDatabase()
  const { db } = database
  for (const table of ['advisories', 'advisory_packages', 'advisory_changes', 'advisory_feeds'] as const)
    await db.deleteFrom(table).execute()
  await db
    .updateTable('advisory_state')
    .set({
      generation: 0,
      ecosystems: '{}',
      vulnerable: '{}',
      changes_floor: 0,
      writer: null,
      building: null,
      heartbeat_at: null,
    })
    .execute()
  advisories = createAdvisories({ db, clock: { now: () => now } })
})
afterAll(async () => database?.close())

function advisory(
  id: string,
  fixed: string,
  more: Partial<Advisory> = {},
  entry: Partial<AffectedPackage> = {},
): NewAdvisory {
  return {
    advisory: {
      id,
      modified: '2026-01-01T00:00:00.000Z',
      withdrawn: null,
      severity: 'High',
      cvss: 7.5,
      summary: 'a "summary"',
      cves: ['CVE-2024-0001'],
      aliases: [],
      urls: ['https://a.example/{1,2}'],
      notes: { 'CVE-2024-0001': 'é\\' },
      security: true,
      ...more,
    },
    affected: [
      {
        ecosystem: 'Debian:12',
        package: 'x',
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }],
        versions: ['9'],
        severity: null,
        cvss: null,
        wontFix: false,
        stream: null,
        ...entry,
      },
    ],
    digest: `${id} ${fixed}`,
    source: `bytes of ${id} ${fixed}`,
  }
}

async function take(feed: string, wanted: readonly NewAdvisory[]) {
  const under = await advisories.begin(feed)
  await under.put(wanted.filter((one) => under.known.get(one.advisory.id)?.digest !== one.digest))
  const ids = new Set(wanted.map((one) => one.advisory.id))
  return under.finish({ digest: `of ${wanted.length}`, advisories: ids.size, keep: (id) => ids.has(id) })
}

/** `id fixed` of everything that readers see about a package. */
async function seen(name = 'x', generation?: number): Promise<string[]> {
  const state = await advisories.state()
  const found = await advisories.candidates(generation ?? state.generation, ['Debian:12', 'Debian:11'], [name])
  const read = await advisories.advisories(found.map((one) => one.key))
  return found.map(({ key, affected }) => `${read.get(key)!.id} ${affected.ranges[0]!.events[1]!.fixed}`)
}

test('a stored advisory is read back unchanged', async () => {
  const one = advisory(
    'DSA-1',
    '1:2~a',
    { withdrawn: null, summary: null, cvss: null },
    { severity: 'Low', cvss: 3.1, wontFix: true, stream: '16' },
  )
  await take('f', [one])
  const [found] = await advisories.candidates(1, ['Debian:12'], ['x', 'y'])
  expect(found!.affected).toEqual(one.affected[0])
  const read = (await advisories.advisories([found!.key])).get(found!.key)!
  expect({ ...read, modified: new Date(read.modified).toISOString() }).toEqual(one.advisory)
  expect(await advisories.candidates(1, ['Debian:11'], ['x'])).toEqual([])
  expect(await advisories.candidates(1, ['Debian:12'], ['y'])).toEqual([])
  expect(await advisories.advisories([])).toEqual(new Map())
})

test('readers see the old generation until the new one is complete, and a running reader keeps it', async () => {
  await take('f', [advisory('DSA-1', '1'), advisory('DSA-2', '1')])
  const under = await advisories.begin('f')
  expect(under.known.size).toBe(2)
  expect(under.known.get('DSA-2')).toEqual({
    digest: 'DSA-2 1',
    source: 'bytes of DSA-2 1',
    modified: '2026-01-01T00:00:00.000Z',
  })
  await under.put([advisory('DSA-1', '2')])
  await under.put([advisory('DSA-3', '2')])
  expect(await seen()).toEqual(['DSA-1 1', 'DSA-2 1'])
  expect(await under.finish({ digest: 'd', advisories: 2, keep: (id) => id !== 'DSA-2' })).toEqual({
    generation: 2,
    removed: 1,
  })
  expect(await seen()).toEqual(['DSA-1 2', 'DSA-3 2'])
  expect(await seen('x', 1)).toEqual(['DSA-1 1', 'DSA-2 1'])
  // The next import first removes old rows, but keeps the previous generation.
  await (await advisories.begin('other')).abandon()
  expect(await seen('x', 1)).toEqual(['DSA-1 1', 'DSA-2 1'])
  await take('f', [advisory('DSA-1', '2'), advisory('DSA-3', '3')])
  await (await advisories.begin('other')).abandon()
  expect(await seen()).toEqual(['DSA-1 2', 'DSA-3 3'])
  const { rows } = await counts()
  expect(rows).toBe(3)
})

async function counts() {
  const count = async (table: 'advisories' | 'advisory_packages') =>
    (
      await database!.db
        .selectFrom(table)
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow()
    ).n
  return { rows: await count('advisories'), packages: await count('advisory_packages') }
}

test('a second version of an advisory within one import replaces the first', async () => {
  const under = await advisories.begin('f')
  await under.put([advisory('DSA-1', '1')])
  await under.put([advisory('DSA-1', '2')])
  await under.finish({ digest: 'd', advisories: 1, keep: () => true })
  expect(await seen()).toEqual(['DSA-1 2'])
  expect(await counts()).toEqual({ rows: 1, packages: 1 })
})

describe('an import that does not finish leaves no trace', () => {
  const begun = async () => {
    await take('f', [advisory('DSA-1', '1'), advisory('DSA-2', '1')])
    const under = await advisories.begin('f')
    await under.put([advisory('DSA-1', '2'), advisory('DSA-3', '2')])
    return under
  }
  test('when it is abandoned', async () => {
    await (await begun()).abandon()
    expect(await seen()).toEqual(['DSA-1 1', 'DSA-2 1'])
    expect(await counts()).toEqual({ rows: 2, packages: 2 })
    expect(await take('f', [advisory('DSA-1', '1'), advisory('DSA-2', '3')])).toMatchObject({ generation: 2 })
    expect(await seen()).toEqual(['DSA-1 1', 'DSA-2 3'])
  })

  test('when it died: another takes over after ten minutes, and the first can no longer write', async () => {
    const dead: AdvisoryImport = await begun()
    await expect(advisories.begin('g')).rejects.toThrow(/under way/)
    now = new Date('2026-05-01T00:09:59Z')
    await expect(advisories.begin('g')).rejects.toThrow(/under way/)
    now = new Date('2026-05-01T00:10:01Z')
    const heir = await advisories.begin('f')
    expect([...heir.known.keys()].sort()).toEqual(['DSA-1', 'DSA-2'])
    await expect(dead.put([advisory('DSA-9', '1')])).rejects.toThrow(/taken over/)
    await expect(dead.finish({ digest: 'd', advisories: 1, keep: () => true })).rejects.toThrow(/taken over/)
    await dead.abandon()
    await heir.put([advisory('DSA-2', '5')])
    await heir.finish({ digest: 'd', advisories: 2, keep: () => true })
    expect(await seen()).toEqual(['DSA-1 1', 'DSA-2 5'])
  })

  test('when its process is known to be dead: the next begins immediately, and the first can no longer write', async () => {
    const dead: AdvisoryImport = await begun()
    await endImport(database!.db)
    const heir = await advisories.begin('f')
    await expect(dead.put([advisory('DSA-9', '1')])).rejects.toThrow(/taken over/)
    await dead.abandon()
    await heir.put([advisory('DSA-2', '5')])
    await heir.finish({ digest: 'd', advisories: 2, keep: () => true })
    expect(await seen()).toEqual(['DSA-1 1', 'DSA-2 5'])
  })

  test('while it is alive, every batch renews its lease', async () => {
    const under = await begun()
    now = new Date('2026-05-01T00:09:00Z')
    await under.put([advisory('DSA-4', '1')])
    now = new Date('2026-05-01T00:18:00Z')
    await expect(advisories.begin('g')).rejects.toThrow(/under way/)
    await under.abandon()
  })
})

test('feeds are independent of each other and keep the times of their import and check', async () => {
  await take('f', [advisory('DSA-1', '1')])
  await take('g', [advisory('DSA-1', '1'), advisory('DSA-2', '1')])
  await take('f', [advisory('DSA-3', '1')])
  expect(await seen()).toEqual(['DSA-1 1', 'DSA-2 1', 'DSA-3 1'])
  now = new Date('2026-05-02T00:00:00Z')
  await advisories.noteChecked('g', null)
  await advisories.noteChecked('f', 'not reachable')
  await advisories.noteChecked('new', 'not reachable')
  const day = (n: number) => new Date(`2026-05-0${n}T00:00:00Z`)
  expect(await advisories.feeds()).toEqual([
    {
      name: 'f',
      digest: 'of 1',
      advisories: 1,
      generation: 3,
      importedAt: day(1),
      checkedAt: day(1),
      error: 'not reachable',
    },
    { name: 'g', digest: 'of 2', advisories: 2, generation: 2, importedAt: day(1), checkedAt: day(2), error: null },
    {
      name: 'new',
      digest: null,
      advisories: 0,
      generation: null,
      importedAt: null,
      checkedAt: null,
      error: 'not reachable',
    },
  ])
  expect(await advisories.feed('none')).toBeNull()
})

test('an import without a difference keeps the generation', async () => {
  await take('f', [advisory('DSA-1', '1')])
  expect(await take('f', [advisory('DSA-1', '1')])).toEqual({ generation: 1, removed: 0 })
  expect((await advisories.state()).generation).toBe(1)
  expect(await seen()).toEqual(['DSA-1 1'])
})

test('ecosystems are listed with their newest change, without withdrawn advisories', async () => {
  const withdrawn = { ...advisory('DSA-3', '1', { withdrawn: '2026-02-02T00:00:00.000Z' }), affected: [] }
  await take('f', [
    advisory('DSA-1', '1'),
    advisory('DSA-2', '1', { modified: '2026-03-03T00:00:00.000Z' }),
    advisory('DSA-4', '1', {}, { ecosystem: 'Debian:11' }),
    withdrawn,
  ])
  expect((await advisories.state()).ecosystems).toEqual({
    'Debian:11': { entries: 1, newest: '2026-01-01T00:00:00.000Z' },
    'Debian:12': { entries: 2, newest: '2026-03-03T00:00:00.000Z' },
  })
})

test('changes since a generation are listed by package: added, changed and removed', async () => {
  const of = (name: string) => ({ package: name })
  const base = ['a', 'b', 'c', 'd'].map((name) => advisory(`DSA-${name}`, '1', {}, of(name)))
  await take('f', base)
  const debian = (name: string | null) => ({ ecosystem: 'Debian:12', package: name })
  expect(await advisories.changedSince(0)).toEqual({ generation: 1, complete: true, packages: [debian(null)] })
  await take('f', [base[0]!, advisory('DSA-b', '2', {}, of('b')), base[2]!, advisory('DSA-e', '1', {}, of('e'))])
  expect(await advisories.changedSince(1)).toEqual({
    generation: 2,
    complete: true,
    packages: ['b', 'd', 'e'].map(debian),
  })
  // An advisory that moves to another package concerns both packages.
  await take('f', [
    base[0]!,
    advisory('DSA-b', '2', {}, of('b')),
    advisory('DSA-c', '3', {}, of('z')),
    advisory('DSA-e', '1', {}, of('e')),
  ])
  expect((await advisories.changedSince(2)).packages).toEqual(['c', 'z'].map(debian))
  expect((await advisories.changedSince(1)).packages).toEqual(['b', 'c', 'd', 'e', 'z'].map(debian))
  expect(await advisories.changedSince(3)).toEqual({ generation: 3, complete: true, packages: [] })
  await database!.db.updateTable('advisory_state').set({ generation: 400 }).execute()
  await (await advisories.begin('f')).abandon()
  expect((await advisories.changedSince(3)).complete).toBe(false)
  expect((await advisories.changedSince(100)).complete).toBe(true)
})

test('vulnerable packages are those with the most advisories for every version up to a fix', async () => {
  const about = (id: string, name: string, more: Partial<AffectedPackage> = {}) =>
    advisory(id, '2', {}, { package: name, ...more })
  await take('f', [
    about('DSA-1', 'rare'),
    about('DSA-2', 'openssl'),
    about('DSA-3', 'openssl'),
    about('DSA-4', 'curl'),
    about('DSA-5', 'curl'),
    about('DSA-6', 'curl'),
    ...[7, 8, 9, 10].map((n) =>
      about(`DSA-${n}`, 'young', { ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '1' }, { fixed: '2' }] }] }),
    ),
    ...[11, 12, 13, 14].map((n) => about(`DSA-${n}`, 'left', { wontFix: true })),
    ...[15, 16, 17, 18].map((n) => about(`DSA-${n}`, 'elsewhere', { ecosystem: 'Debian:11' })),
  ])
  expect(await advisories.vulnerablePackages(['Debian:12'])).toEqual(['curl', 'openssl', 'rare'])
  expect(await advisories.vulnerablePackages(['Debian:12', 'Debian:11', 'none'])).toEqual([
    'elsewhere',
    'curl',
    'openssl',
    'rare',
  ])
})

test('packages matched by a build that stored no names of findings are matched again, once', async () => {
  const { db } = database!
  await db.updateTable('advisory_state').set({ generation: 5, rematched: 5, rematched_names: 0 }).execute()
  const news = rematchNews(db, advisories)
  expect([await news.seen(), await news.current()]).toEqual([0, 5])
  await news.note(5)
  expect(await news.seen()).toBe(5)
  // For an older build, which may still serve.
  expect(await db.selectFrom('advisory_state').select('rematched').executeTakeFirst()).toEqual({ rematched: 5 })
})
