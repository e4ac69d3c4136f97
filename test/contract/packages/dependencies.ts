// GET /artifacts/{name}/dependencies: alternatives, versions, virtual packages.
import { beforeAll, expect, test } from 'vitest'
import { buildDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'

interface Resolved {
  package: string
  version: string
  distribution: string
  dependencies: {
    name: string
    version_constraint: string
    available_internally: boolean
    met_by: { name: string; version: string; arch: string } | null
    available_upstream: boolean | null
    depth: number
  }[]
  all_satisfied: boolean
  missing: string[]
  install_blocked: boolean
}

export function dependencyContract(gate: Gate): void {
  const put = async (name: string, fields: Record<string, string> = {}, distribution = 'jammy', version = '1.5-1') => {
    const { status, text } = await gate.upload(await buildDeb({ name, version, fields }), { distribution })
    if (status !== 201) throw new Error(text)
  }
  beforeAll(async () => {
    await put('base')
    await put('engine-b', { Provides: 'engine (= 3), plain-engine' })
  })

  test.each([
    ['nothing', '', [], true],
    ['a published package', 'base', [], true],
    ['any architecture of a package', 'base:any', [], true],
    ['a missing package', 'absent', ['absent'], false],
    ['versions that match', 'base (>= 1.5), base (<< 2), base (= 1.5-1)', [], true],
    ['a version that does not match', 'base (>> 1.5-1)', ['base'], false],
    ['an older version', 'base (<= 1.4)', ['base'], false],
    ['one of two', 'absent | base', [], true],
    ['neither of two', 'absent | also-absent', ['absent | also-absent'], false],
    ['one of two, but no matching version', 'absent | base (>= 9)', ['absent | base (>= 9)'], false],
    ['a virtual package', 'plain-engine', [], true],
    ['a version of a virtual package', 'engine (>= 2)', [], true],
    ['a newer version of a virtual package', 'engine (>= 4)', ['engine'], false],
    ['a version of an unversioned virtual package', 'plain-engine (>= 1)', ['plain-engine'], false],
    ['itself', 'wants-itself', [], true],
  ])('%s', async (what, depends, missing, satisfied) => {
    const name = what === 'itself' ? 'wants-itself' : `wants-${Buffer.from(what).toString('hex').slice(0, 60)}`
    await put(name, depends === '' ? {} : { Depends: depends })
    const { body } = await gate.call<Resolved>('GET', `/artifacts/${name}/dependencies`)
    expect(Object.keys(body)).toEqual([
      'package',
      'version',
      'distribution',
      'dependencies',
      'dependencies_total',
      'all_satisfied',
      'missing_total',
      'missing',
      'install_blocked',
    ])
    expect(body).toMatchObject({
      package: name,
      version: '1.5-1',
      distribution: 'jammy',
      all_satisfied: satisfied,
      missing,
      install_blocked: !satisfied,
    })
    for (const dependency of body.dependencies) {
      expect(dependency).toMatchObject({ available_internally: !missing.includes(dependency.name) })
      expect(Object.keys(dependency)).toEqual(
        expect.arrayContaining(['name', 'version_constraint', 'available_internally', 'available_upstream', 'depth']),
      )
    }
  })

  test('each requirement is listed with its version constraint', async () => {
    await put('wants-much', {
      'Pre-Depends': 'base (>= 1)',
      Depends: 'absent (<< 2:1) | base',
      Recommends: 'never-mind',
      Suggests: 'nor-this',
    })
    const { body } = await gate.call<Resolved>('GET', '/artifacts/wants-much/dependencies')
    expect(body.dependencies.map(({ name, version_constraint }) => [name, version_constraint])).toEqual(
      expect.arrayContaining([
        ['base', '>= 1'],
        ['absent (<< 2:1) | base', ''],
      ]),
    )
    expect(body.dependencies).toHaveLength(2)
  })

  test('the package that meets a requirement: by its name before a provide, the newest, the first alternative', async () => {
    await put('motor', {}, 'jammy', '2-1')
    await put('motor', {}, 'jammy', '10-1')
    await put('motor-fork', { Provides: 'motor' }, 'jammy', '99-1')
    await put('tree', { Depends: 'motor, motor (<< 5), engine, absent | base | motor, absent, tree' })
    const { body } = await gate.call<Resolved>('GET', '/artifacts/tree/dependencies')
    expect(body.dependencies.map(({ met_by: met }) => met && `${met.name} ${met.version} ${met.arch}`)).toEqual([
      'motor 10-1 amd64',
      'motor 2-1 amd64',
      'engine-b 1.5-1 amd64',
      'base 1.5-1 amd64',
      null,
      'tree 1.5-1 amd64',
    ])
  })

  test('only packages of the same distribution count, and the query selects the record', async () => {
    await put('wanderer', { Depends: 'base' }, 'jammy', '1-1')
    await put('wanderer', { Depends: 'base' }, 'bookworm', '2-1')
    const ask = (query: string) => gate.call<Resolved>('GET', `/artifacts/wanderer/dependencies${query}`)
    expect((await ask('')).body).toMatchObject({ version: '2-1', distribution: 'bookworm', all_satisfied: false })
    expect((await ask('?version=1-1')).body).toMatchObject({
      distribution: 'jammy',
      all_satisfied: true,
      install_blocked: false,
    })
    expect((await ask('?distribution=jammy')).body).toMatchObject({ version: '1-1' })
    expect((await ask('?distribution=jammy&version=2-1')).status).toBe(404)
    expect((await ask('?arch=all')).status).toBe(404)
    expect((await gate.call('GET', '/artifacts/absent/dependencies')).status).toBe(404)
  })

  test('a held package satisfies no dependency and cannot be installed', async () => {
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'hold' } } })
    await put('held-base')
    await gate.call('PATCH', '/settings/', { body: { validation: { on_unscanned: 'allow' } } })
    await put('wants-held', { Depends: 'held-base' })
    expect((await gate.call<Resolved>('GET', '/artifacts/wants-held/dependencies')).body).toMatchObject({
      all_satisfied: false,
      missing: ['held-base'],
    })
    expect((await gate.call<Resolved>('GET', '/artifacts/held-base/dependencies')).body).toMatchObject({
      all_satisfied: true,
      install_blocked: true,
    })
  })
}
