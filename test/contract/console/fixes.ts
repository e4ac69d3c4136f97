// Where the fix is: groups of the queue by the version that fixes them, and fixes that are in the distribution already. And who looks
// at a package at the moment.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'
import { bringIn } from './samples.ts'

interface Group {
  key: string
  packages_total: number
  names: string[]
  fix_version: string | null
}
interface Item {
  name: string
  fix_version: string | null
  fixed_here: string | null
  fixed_waiting: string | null
}

export function fixContract(gate: Gate): void {
  const queue = async (query: string) => {
    const path = `/security/review-queue?q=fix-&${query}`
    const { status, body, text } = await gate.call<{ groups: Group[]; items: Item[]; total: number }>('GET', path)
    expect(status, text).toBe(200)
    return body
  }
  const groups = async () =>
    (await queue('group=fix&sort=name')).groups.map(({ names, fix_version: fix }) => [names.join(' '), fix])
  const places = async () =>
    (await queue('sort=name')).items.map(({ name, fix_version, fixed_here, fixed_waiting }) => [
      ...[name, fix_version, fixed_here, fixed_waiting],
    ])

  test('different findings of one source with the same fix are one group; without a fix, the same findings are', async () => {
    for (const name of ['fix-a', 'fix-b', 'fix-later'])
      expect(await bringIn(gate, { name, fields: { Source: 'fixable' } })).toBe('pending_review')
    await bringIn(gate, { name: 'fix-other', fields: { Source: 'another' } })
    for (const name of ['fix-none-a', 'fix-none-b']) await bringIn(gate, { name, fields: { Source: 'fixable' } })
    expect(await groups()).toEqual([
      ['fix-a fix-b', '1.2-1'],
      ['fix-later', '1.10-1'],
      ['fix-none-a fix-none-b', null],
      ['fix-other', '1.2-1'],
    ])
    const { groups: found } = await queue('group=fix&sort=name')
    const members = await queue(`group=fix&sort=name&member_of=${encodeURIComponent(found[0]?.key ?? '')}`)
    expect(members.items.map(({ name }) => name)).toEqual(['fix-a', 'fix-b'])
  })

  test('a fix that is published in the distribution, or waits there, is told by queue, evidence and package', async () => {
    await bringIn(gate, { name: 'fix-a', version: '1.2-1' })
    await bringIn(gate, { name: 'fix-b', version: '1.3-1' })
    await bringIn(gate, { name: 'fix-other', version: '1.2-1' }, 'noble')
    expect((await places()).filter(([name]) => ['fix-a', 'fix-b', 'fix-other'].includes(name ?? ''))).toEqual([
      ['fix-a', '1.2-1', '1.2-1', null],
      ['fix-b', '1.2-1', null, '1.3-1'],
      ['fix-b', null, null, null],
      ['fix-other', '1.2-1', null, null],
    ])
    const evidence = await gate.call<{ findings: Item[] }>('GET', '/security/packages/fix-b/1.0-1/evidence')
    expect(evidence.body.findings).toMatchObject([{ fixed_here: null, fixed_waiting: '1.3-1' }])
    for (const query of ['', '?version=1.0-1']) {
      const { body } = await gate.call<{ versions: { version: string; cve_results: Item[] }[] }>(
        'GET',
        `/artifacts/fix-a${query}`,
      )
      const held = body.versions.find(({ version }) => version === '1.0-1')
      expect(held?.cve_results).toMatchObject([{ fixed_here: '1.2-1', fixed_waiting: null }])
    }
  })

  test('groups follow a decision about one of their findings', async () => {
    const body = { action: 'upgrade_required', justification: 'the next one' }
    expect((await gate.call('POST', '/security/packages/fix-later/1.0-1/decide', { body })).status).toBe(200)
    expect(await groups()).toContainEqual(['fix-later', '1.10-1'])
    const reject = { decision: 'reject', justification: 'not wanted', arch: 'amd64' }
    expect((await gate.call('POST', '/security/packages/fix-b/1.0-1/decide', { body: reject })).status).toBe(200)
    expect(await groups()).toContainEqual(['fix-a', '1.2-1'])
  })

  test('people are told who else looks at a package; programs are not asked', async () => {
    const path = '/security/packages/fix-later/1.0-1/onlookers'
    const look = (as: string) => gate.call<{ others: string[]; code: string }>('POST', path, { as })
    const { maintainer, auditor, uploader } = gate.people
    expect((await look(maintainer.session)).body).toEqual({ others: [] })
    const { others } = (await look(auditor.session)).body
    expect(others).toHaveLength(1)
    expect((await look(maintainer.session)).body.others).toHaveLength(1)
    expect((await look(uploader.session)).status).toBe(403)
    expect((await gate.call('POST', path.replace('fix-later', 'fix-nothing'))).status).toBe(404)
  })

  test('the queue has the end that approvals get by the settings', async () => {
    const days = async () =>
      (await gate.call<{ approval_days: number }>('GET', '/security/review-queue')).body.approval_days
    expect(await days()).toBe(0)
    await gate.call('PATCH', '/settings/', { body: { security: { approval_days: 180 } } })
    expect(await days()).toBe(180)
    await gate.call('PATCH', '/settings/', { body: { security: { approval_days: 0 } } })
  })
}
