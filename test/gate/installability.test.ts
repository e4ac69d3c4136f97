// What can be installed from a distribution, alone and together with an upstream repository, and what a change would break.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

let upstream: Service
let service: Service
beforeAll(async () => {
  ;[upstream, service] = await Promise.all([startService(), startService({ env: { REPO_FORMAT: 'all' } })])
})
afterAll(async () => {
  await upstream?.stop()
  await service?.stop()
  await removeTemporary()
})

type Fields = Record<string, string>

async function offer(to: Service, codename: string, name: string, version: string, fields: Fields = {}): Promise<void> {
  const { status, body } = await to.upload(await buildDeb({ name, version, fields }), 'any', { distribution: codename })
  expect([status, body.status]).toEqual([201, 'published'])
}

async function ended(id: number): Promise<Record<string, unknown>> {
  for (;;) {
    const { body } = await service.call('GET', `/tasks/${id}`)
    if (!['queued', 'running'].includes(body.state)) return body
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function checked(codename: string) {
  const started = await service.call('POST', `/distributions/${codename}/installability`)
  expect(started.body).toMatchObject({ status: 'queued', codename })
  expect(await ended(started.body.task_id)).toMatchObject({ state: 'done', error: null })
  return (await service.call('GET', `/distributions/${codename}/installability`)).body
}

const plan = (body: object) => service.call('POST', '/distributions/jammy/installability/plan', body)
const names = (list: { name: string }[]) => list.map(({ name }) => name)
const sentences = (one: { causes: { sentence: string }[] }) => one.causes.map(({ sentence }) => sentence)

describe('a distribution', () => {
  it('has no result before its first check', async () => {
    expect((await service.call('GET', '/distributions/jammy/installability')).body).toMatchObject({
      ...{ checked_at: null, revision: null, current: false, uninstallable: [], upstream: null },
    })
    expect((await service.call('GET', '/distributions/nowhere/installability')).body.code).toBe('not_found')
  })

  it('is checked, with a minimal cause for each package that cannot be installed', async () => {
    await offer(service, 'jammy', 'app', '1.0', { Depends: 'lib (>= 2), tool' })
    await offer(service, 'jammy', 'lib', '2.0', { Conflicts: 'tool' })
    await offer(service, 'jammy', 'tool', '1.0')
    await offer(service, 'jammy', 'old', '1.0', { Depends: 'lib (<< 2) | absent' })
    await offer(service, 'jammy', 'user', '1.0', { Depends: 'mail-agent' })
    await offer(service, 'jammy', 'agent', '1.0', { Provides: 'mail-agent' })
    const body = await checked('jammy')
    expect(body).toMatchObject({ current: true, total: 6, uninstallable_total: 2, undecided_total: 0, upstream: null })
    expect(names(body.uninstallable)).toEqual(['app', 'old'])
    expect(body.uninstallable.map(sentences)).toEqual([
      [
        'app 1.0 needs lib (>= 2): lib 2.0',
        'app 1.0 needs tool: tool 1.0',
        'lib 2.0 excludes tool 1.0 (conflicts tool)',
      ],
      ['old 1.0 needs lib (<< 2) | absent; only lib 2.0 exists'],
    ])
    expect(body.uninstallable[0]).toMatchObject({ architecture: 'amd64', installable_with_upstream: null })
    const { body: log } = await service.call('GET', '/artifacts/audit/logs?action=INSTALLABILITY_CHECK')
    expect(log.items[0]).toMatchObject({ user: 'admin', distribution: 'jammy' })
  })

  it('is planned for: what a removal or an addition would break or fix', async () => {
    const removal = await plan({ remove: [{ name: 'agent' }] })
    expect(removal.body).toMatchObject({ removed: 1, would_break_total: 1, would_fix: [], with_upstream: false })
    expect(removal.body.would_break.map(sentences)).toEqual([['user 1.0 needs mail-agent; nothing provides it']])

    expect(names((await plan({ remove: [{ name: 'tool', version: '1.0' }] })).body.would_break)).toEqual([])
    await offer(service, 'noble', 'lib', '1.5')
    await offer(service, 'noble', 'extra', '1.0', { Depends: 'absent' })
    const addition = await plan({ add: [{ name: 'lib' }, { name: 'extra' }], promote_from: 'noble' })
    expect(addition.body).toMatchObject({ added: 2, would_break: [], undecided_total: 0 })
    expect(names(addition.body.would_fix)).toEqual(['old'])
    expect(names(addition.body.added_uninstallable)).toEqual(['extra'])
    expect((await service.call('GET', '/artifacts/agent')).body.info.versions['1.0'].served).toBe(true)
  })

  it.each([
    ['a package to remove that is not published', { remove: [{ name: 'nothing' }] }, 'not_found'],
    ['a package to add that does not exist', { add: [{ name: 'nothing' }], promote_from: 'noble' }, 'not_found'],
    ['a package to add from nowhere', { add: [{ name: 'lib' }] }, 'validation_error'],
    ['an unknown distribution to promote from', { add: [{ name: 'lib' }], promote_from: 'x' }, 'not_found'],
  ])('refuses a plan with %s', async (_, body, code) => {
    expect((await plan(body)).body.code).toBe(code)
  })
})

describe('a distribution on top of an upstream repository', () => {
  it('counts the packages of the synced catalog beside its own', async () => {
    await offer(upstream, 'jammy', 'absent', '1.0')
    await offer(upstream, 'jammy', 'base', '1.0', { Depends: 'base-data' })
    await offer(service, 'jammy', 'rooted', '1.0', { Depends: 'base' })
    const key = await (await fetch(`${upstream.apt}/repos/gpg.key`)).text()
    const source = { name: 'up', type: 'apt', url: `${upstream.apt}/repos`, distribution: 'jammy', gpg_key: key }
    const { body: created } = await service.call('POST', '/import/sources', source)
    const reply = await fetch(`${service.api}/api/v1/import/sources/${created.id}/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}` },
    })
    expect(await reply.text()).toContain('"done"')

    const body = await checked('jammy')
    expect(body).toMatchObject({ uninstallable_total: 3, upstream: { packages: 2, uninstallable_total: 2 } })
    const byName = new Map<string, any>(body.uninstallable.map((one: { name: string }) => [one.name, one]))
    expect(byName.get('old')).toMatchObject({ installable_with_upstream: true, upstream_causes: null })
    expect(byName.get('rooted').upstream_causes.map((one: { sentence: string }) => one.sentence)).toEqual([
      'rooted 1.0 needs base: base 1.0',
      'base 1.0 needs base-data; nothing provides it',
    ])
    const planned = await plan({ add: [{ name: 'absent' }], source_id: created.id, with_upstream: false })
    expect(names(planned.body.would_fix)).toEqual(['old'])
    const removal = await plan({ remove: [{ name: 'agent' }] })
    expect(removal.body).toMatchObject({ with_upstream: true, would_break_total: 1 })

    const { body: answer } = await service.call('GET', '/artifacts/old/dependencies')
    expect(answer.dependencies).toMatchObject([{ available_internally: false, available_upstream: true }])
    const { body: other } = await service.call('GET', '/artifacts/app/dependencies')
    expect(other.dependencies.map((one: { available_upstream: boolean }) => one.available_upstream)).toEqual([
      false,
      false,
    ])
  })
})

describe('a change that takes something from another package', () => {
  const broken = { name: 'pinned', version: '1.0', arch: 'amd64', distribution: 'noble', requirement: 'engine (= 1.0)' }
  const warning = 'no longer installable in noble: pinned 1.0 (needs engine (= 1.0))'

  it('is reported by a deletion, which a dry run does not carry out', async () => {
    await offer(service, 'noble', 'engine', '1.0', { Provides: 'motor (= 1)' })
    await offer(service, 'noble', 'pinned', '1.0', { Depends: 'engine (= 1.0)' })
    await offer(service, 'noble', 'either', '1.0', { Depends: 'engine (= 1.0) | extra' })
    const dry = await service.call('DELETE', '/artifacts/engine/1.0?dry_run=true')
    expect(dry.body).toMatchObject({
      status: 'dry_run',
      would_break: [broken],
      would_break_total: 1,
      warnings: [warning],
    })
    expect((await service.call('DELETE', '/artifacts/either?dry_run=true')).body).toMatchObject({
      ...{ status: 'dry_run', deleted: 1, would_break: [], warnings: [] },
    })
    expect((await service.call('GET', '/artifacts/engine')).status).toBe(200)
    const gone = await service.call('DELETE', '/artifacts/engine/1.0')
    expect(gone.body).toMatchObject({ status: 'deleted', would_break: [broken], warnings: [warning] })
    await offer(service, 'noble', 'engine', '1.0', { Provides: 'motor (= 1)' })
  })

  it('is reported by a promotion, which a dry run does not carry out', async () => {
    await offer(service, 'jammy', 'engine', '2.0', { Depends: 'never-there' })
    const promotion = { package: 'engine', from_dist: 'jammy', to_dist: 'noble' }
    const dry = await service.call('POST', '/distributions/promote', { ...promotion, dry_run: true })
    expect(dry.body).toMatchObject({
      ...{
        status: 'dry_run',
        versions: [{ version: '2.0', arch: 'amd64', result: 'promoted' }],
        would_break: [broken],
      },
      warnings: [warning, 'engine 2.0 needs what noble lacks: never-there'],
    })
    const done = await service.call('POST', '/distributions/promote', promotion)
    expect(done.body).toMatchObject({ status: 'ok', versions: [{ result: 'promoted' }], would_break: [broken] })
    const again = await service.call('POST', '/distributions/promote', { ...promotion, dry_run: true })
    expect(again.body.versions).toMatchObject([{ result: 'already_present' }])
    await service.call('DELETE', '/artifacts/engine/2.0')
  })

  it('is a warning of an upload, or holds it where the settings say so', async () => {
    const upload = async (version: string, name = 'engine') =>
      (await service.upload(await buildDeb({ name, version }), 'any', { distribution: 'noble' })).body
    const warned = await upload('1.5')
    expect(warned).toMatchObject({
      status: 'published',
      pipeline: { dependencies: 'breaks_others' },
      held_reason: null,
    })
    expect(warned.warnings).toContain(warning)
    expect(warned.validation.steps.find((one: { name: string }) => one.name === 'dependencies').detail).toMatchObject({
      ...{ would_break: [broken], would_break_total: 1 },
    })
    await service.call('DELETE', '/artifacts/engine/1.5')
    await service.call('PATCH', '/settings/', { validation: { on_uninstallable: 'hold' } })
    expect(await upload('3.0')).toMatchObject({ status: 'pending_review', held_reason: 'breaks_others' })
    // Neither an older version nor one that provides everything that others need breaks anything.
    expect(await upload('0.5')).toMatchObject({ status: 'published', pipeline: { dependencies: 'satisfied' } })
    expect(await upload('9.0', 'pinned')).toMatchObject({ status: 'published' })
    const decided = await service.call('POST', '/security/packages/engine/3.0/decide', {
      ...{ decision: 'approve', justification: 'pinned follows' },
    })
    expect(decided.body).toMatchObject({ status: 'ok', new_status: 'published' })
    await service.call('PATCH', '/settings/', { validation: { on_uninstallable: 'warn' } })
  })
})

interface Sample {
  name: string
  version: string
  needs?: string[]
  provides?: string[]
}

/** The same repository in the other formats. @property exactly a requirement of one version */
const OTHERS = [
  {
    format: 'rpm',
    ...{ from: 'almalinux9', to: 'almalinux8' },
    exactly: (name: string, version: string) => `${name} = ${version}-1`,
    either: ['(engine >= 1.0-1 or extra)'],
    shown: (version: string) => `${version}-1`,
    build: ({ name, version, needs = [], provides = [] }: Sample) =>
      buildRpm({ name, version, requires: needs, provides: [`${name} = ${version}-1`, ...provides] }),
  },
  {
    format: 'apk',
    ...{ from: 'alpine3.21', to: 'alpine3.20' },
    exactly: (name: string, version: string) => `${name}=${version}-r0`,
    either: ['engine>=1.0-r0'],
    shown: (version: string) => `${version}-r0`,
    build: ({ name, version, needs = [], provides = [] }: Sample) =>
      buildApk({ name, version: `${version}-r0`, info: { depend: needs, provides } }),
  },
] as const

describe.each(OTHERS)(
  'a change in a distribution of $format packages',
  ({ from, to, exactly, either, shown, build }) => {
    const requirement = exactly('engine', '1.0')
    const broken = expect.objectContaining({ name: 'pinned', version: shown('1.0'), distribution: to, requirement })
    const warning = `no longer installable in ${to}: pinned ${shown('1.0')} (needs ${requirement})`
    const upload = async (codename: string, sample: Sample) =>
      (await service.upload(await build(sample), 'any', { distribution: codename })).body
    const published = async (codename: string, sample: Sample) =>
      expect(await upload(codename, sample)).toMatchObject({ status: 'published', held_reason: null })

    it('is checked, with the cause of what cannot be installed', async () => {
      await published(to, { name: 'engine', version: '1.0', provides: [] })
      await published(to, { name: 'pinned', version: '1.0', needs: [requirement] })
      await published(to, { name: 'either', version: '1.0', needs: [...either] })
      await published(to, { name: 'lost', version: '1.0', needs: ['never-there'] })
      const body = await checked(to)
      expect(body).toMatchObject({ total: 4, uninstallable_total: 1, undecided_total: 0 })
      expect(body.uninstallable.map(sentences)).toEqual([
        [`lost ${shown('1.0')} needs never-there; nothing provides it`],
      ])
    })

    it('is reported by a deletion, which a dry run does not carry out', async () => {
      const dry = await service.call('DELETE', `/artifacts/engine/${shown('1.0')}?dry_run=true&distribution=${to}`)
      expect(dry.body).toMatchObject({ status: 'dry_run', would_break: expect.arrayContaining([broken]) })
      expect(dry.body.warnings).toEqual([expect.stringContaining(`pinned ${shown('1.0')} (needs ${requirement})`)])
      expect((await service.call('DELETE', `/artifacts/either?dry_run=true&distribution=${to}`)).body).toMatchObject({
        ...{ status: 'dry_run', would_break: [], warnings: [] },
      })
      expect((await service.call('GET', '/artifacts/engine')).status).toBe(200)
    })

    it('is reported by a promotion, which a dry run does not carry out', async () => {
      await published(from, { name: 'engine', version: '2.0', needs: ['not-there-either'] })
      const promotion = { package: 'engine', version: shown('2.0'), from_dist: from, to_dist: to }
      const dry = await service.call('POST', '/distributions/promote', { ...promotion, dry_run: true })
      expect(dry.body).toMatchObject({
        ...{ status: 'dry_run', versions: [{ result: 'promoted' }], would_break: [broken] },
        warnings: [warning, `engine ${shown('2.0')} needs what ${to} lacks: not-there-either`],
      })
      const done = await service.call('POST', '/distributions/promote', promotion)
      expect(done.body).toMatchObject({ status: 'ok', would_break: [broken] })
      await service.call('DELETE', `/artifacts/engine/${shown('2.0')}?distribution=${to}`)
    })

    it('is a warning of an upload, or holds it where the settings say so', async () => {
      const warned = await upload(to, { name: 'engine', version: '1.5' })
      expect(warned).toMatchObject({ status: 'published', pipeline: { dependencies: 'breaks_others' } })
      expect(warned.warnings).toContain(warning)
      await service.call('DELETE', `/artifacts/engine/${shown('1.5')}?distribution=${to}`)
      await service.call('PATCH', '/settings/', { validation: { on_uninstallable: 'hold' } })
      try {
        expect(await upload(to, { name: 'engine', version: '3.0' })).toMatchObject({
          ...{ status: 'pending_review', held_reason: 'breaks_others' },
        })
        expect(await upload(to, { name: 'engine', version: '0.5' })).toMatchObject({ status: 'published' })
      } finally {
        await service.call('PATCH', '/settings/', { validation: { on_uninstallable: 'warn' } })
      }
    })
  },
)
