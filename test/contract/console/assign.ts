// Held packages that are assigned to people: who may, to whom, and where it is shown.
import { afterAll, expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

export function assignContract(gate: Gate): void {
  const assign = (to: string | null, { name = 'later', version = '2.0-1', query = '', as = '' } = {}) =>
    gate.call('PATCH', `/security/packages/${name}/${version}/assign${query}`, {
      body: { assigned_to: to },
      ...(as && { as }),
    })
  const queue = async (query: string) => {
    const { body } = await gate.call<{ items: { name: string; assigned_to: string | null }[]; total: number }>(
      'GET',
      `/security/review-queue?${query}`,
    )
    return body
  }
  afterAll(() => assign(null))

  test('the queue and the evidence show it, and the queue finds it', async () => {
    const { status, body } = await assign('Maintainer-PERSON', { query: '?distribution=jammy' })
    expect([status, body]).toEqual([
      200,
      {
        ...{ status: 'ok', package: 'later', version: '2.0-1', assigned_to: 'maintainer-person' },
        records: [{ distribution: 'jammy', arch: 'amd64' }],
      },
    ])
    expect(await queue('assigned_to=maintainer-person')).toMatchObject({
      total: 1,
      items: [{ name: 'later', assigned_to: 'maintainer-person', assigned_at: expect.any(String) }],
    })
    expect((await queue('assigned_to=admin-person')).items).toEqual([])
    expect((await queue('unassigned=true&sort=name')).items.map(({ name }) => name)).toEqual([
      'elsewhere',
      'endless',
      'lib-held',
    ])
    expect((await queue('unassigned=false')).items.map(({ name }) => name)).toEqual(['later'])
    const evidence = await gate.call('GET', '/security/packages/later/2.0-1/evidence')
    expect(evidence.body).toMatchObject({ held: { assigned_to: 'maintainer-person' } })
    const audited = await gate.call<{ items: object[] }>(
      'GET',
      '/artifacts/audit/logs?action=SECURITY_DECISION&package=later&per_page=1',
    )
    expect(audited.body.items).toMatchObject([
      { outcome: 'assigned', detail: 'assigned to maintainer-person', version: '2.0-1', distribution: 'jammy' },
    ])
  })

  test('null takes it back', async () => {
    await assign('admin-person')
    expect((await assign(null)).body).toMatchObject({ assigned_to: null })
    expect((await queue('unassigned=false')).items).toEqual([])
  })

  test.each<[what: string, to: string, where: Parameters<typeof assign>[1], status: number, code: string]>([
    ['a person who may not decide', 'reader-person', {}, 400, 'validation_error'],
    ['nobody here', 'somebody', {}, 400, 'validation_error'],
    ['a package that is not held', 'admin-person', { name: 'user-a', version: '1.0-1' }, 409, 'not_under_review'],
    ['a package that is not here', 'admin-person', { version: '9' }, 404, 'not_found'],
  ])('%s is refused', async (_, to, where, status, code) => {
    const reply = await assign(to, where)
    expect([reply.status, reply.body['code']]).toEqual([status, code])
  })

  test('auditors see whom a package can be assigned to', async () => {
    const as = gate.people.auditor.session
    const { body } = await gate.call<{ reviewers: { username: string }[] }>('GET', '/security/reviewers', { as })
    const names = body.reviewers.map(({ username }) => username)
    expect(names).toEqual(['admin-person', 'maintainer-person', 'root-admin'])
  })
}
