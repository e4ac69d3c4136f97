// Between the plan and its transaction, packages begin to need old versions, or these become the newest. Uses PGlite in memory.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Requirement } from '../../domain/package.ts'
import { createDeleteIds } from '../../packages/delete-packages.ts'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from '../../publish/publisher.fixture.ts'
import { versionsStep } from './versions.ts'

const CODENAME = 'jammy'

let site: Site
let house: PublishingHouse
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())
beforeEach(async () => {
  house = await createPublishingHouse(site.database, site.signers, [CODENAME])
  for (const version of ['1.0', '2.0']) await house.addPackage(CODENAME, 'tool', [], { version })
  house.clock.advance(1000)
})
afterEach(() => house.close())

const needs = (text: string, name: string, version: string): Requirement => ({
  ...{ kind: 'depends', strong: true, text, anyOf: [{ name, op: '=', version }] },
})
const left = async () => {
  const rows = await house.db.selectFrom('packages').select(['name', 'version']).orderBy('id').execute()
  return rows.map(({ name, version }) => `${name} ${version}`)
}
const deleteIds = () =>
  createDeleteIds({
    ...house.deps,
    publisher: house.publisher,
    audit: house.audit,
    manifests: { key: ({ name, version }) => `${name}_${version}` },
    pendingDeletions: { run: async () => {} },
    offeredOf: () => house.deps.offered(CODENAME),
  })
const deleteVersion = async (name: string, version: string) => {
  const { id } = await house.db
    .selectFrom('packages')
    .select('id')
    .where('name', '=', name)
    .where('version', '=', version)
    .executeTakeFirstOrThrow()
  await deleteIds()([id], 'somebody', { ip: null, requestId: null })
}

/** @param meanwhile runs between each plan and its execution, with the number of the plan */
async function run(meanwhile: (plan: number) => Promise<void>) {
  let plans = 0
  const lines: string[] = []
  const step = versionsStep({
    ...{ db: house.db, clock: house.clock, active: [house.deps.offered(CODENAME)], deleteIds: deleteIds() },
    settings: () => ({ retention: { keep_versions: { '*': 1 }, keep_versions_days: 0 } }) as never,
    // The last check before the deletions.
    async brokenWithout() {
      await meanwhile(++plans)
      return new Set()
    },
  })
  const result = await step.run({
    ...{ by: 'test', before: null, save: async () => {}, signal: new AbortController().signal },
    line: (message) => void lines.push(message),
  })
  return { result, plans, lines }
}

test('an old version goes when nothing changes', async () => {
  expect(await run(async () => {})).toMatchObject({ result: { packages: 1, needed: 0, changing: 0 }, plans: 1 })
  expect(await left()).toEqual(['tool 2.0'])
})

test('a version that a package begins to need after the plan stays', async () => {
  const { result } = await run(async (plan) => {
    if (plan > 1) return
    await house.addPackage(CODENAME, 'user', [], { requirements: [needs('tool (= 1.0)', 'tool', '1.0')] })
  })
  expect(result).toEqual({ packages: 0, needed: 1, changing: 0 })
  expect(await left()).toEqual(['tool 1.0', 'tool 2.0', 'user 1.0'])
})

test('a version that becomes the newest after the plan stays', async () => {
  const { result } = await run(async () => deleteVersion('tool', '2.0'))
  expect(result).toEqual({ packages: 0, needed: 0, changing: 0 })
  expect(await left()).toEqual(['tool 1.0'])
})

test('a package that has nothing to do with it delays the deletion by one plan', async () => {
  const { result, plans } = await run(async (plan) => {
    if (plan === 1) await house.addPackage(CODENAME, 'other')
  })
  expect([result, plans]).toEqual([{ packages: 1, needed: 0, changing: 0 }, 2])
  expect(await left()).toEqual(['tool 2.0', 'other 1.0'])
})

test('old versions stay until the next run where packages arrive all the time, and the result says so', async () => {
  const { result, lines } = await run((plan) => house.addPackage(CODENAME, `other-${plan}`))
  expect(result).toEqual({ packages: 0, needed: 0, changing: 1 })
  expect(lines).toEqual(['jammy: 1 old versions stay until the next run: packages arrived all the time'])
  expect(await left()).toContain('tool 1.0')
})
