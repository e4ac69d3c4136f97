// Filters and orders of the review queue.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

export function queueContract(gate: Gate): void {
  const list = async (query: string) => {
    const { status, body } = await gate.call<{ items: { name: string }[]; total: number; review_count: number }>(
      'GET',
      `/security/review-queue?${query}`,
    )
    expect(status).toBe(200)
    return { names: body.items.map(({ name }) => name), total: body.total, all: body.review_count }
  }

  test.each([
    ['', ['lib-held', 'later', 'elsewhere', 'endless']],
    ['sort=worst', ['lib-held', 'later', 'elsewhere', 'endless']],
    ['sort=risk', ['lib-held', 'later', 'elsewhere', 'endless']],
    ['sort=name', ['elsewhere', 'endless', 'later', 'lib-held']],
    ['sort=kev', ['lib-held', 'later', 'elsewhere', 'endless']],
    ['sort=epss', ['later', 'lib-held', 'elsewhere', 'endless']],
    ['q=LATE', ['later']],
    ['q=ghsa-AAAA', ['elsewhere', 'endless']],
    ['q=CVE-2026-1002', ['lib-held']],
    ['q=%25', []],
    ['severity=low,medium', ['lib-held', 'elsewhere', 'endless']],
    ['severity=medium&distribution=noble', ['elsewhere']],
    ['reason=unscanned,dependency_scan', []],
    ['reason=unscanned,cve_review&q=e', ['lib-held', 'later', 'elsewhere', 'endless']],
    ['kev=true', ['lib-held']],
    ['kev=false', ['later', 'elsewhere', 'endless']],
    ['fix=true', ['lib-held']],
    ['fix=false&distribution=jammy', ['later', 'endless']],
    ['per_page=1&page=2', ['later']],
  ])('with "%s" it has %j', async (query, names) => {
    const found = await list(query)
    expect(found.names).toEqual(names)
    expect(found.total).toBe(query.startsWith('per_page') ? 4 : names.length)
    expect(found.all).toBe(4)
  })

  test('an item says what an order by risk needs, and how many findings wait', async () => {
    const { body } = await gate.call<{ items: object[] }>('GET', '/security/review-queue?q=lib-held')
    expect(body.items).toMatchObject([
      { kev_count: 1, epss_max: 0.4, holding_count: 2, source_package: 'lib-held', source_version: '1.1-1' },
    ])
  })

  interface Group {
    key: string
    packages_total: number
    names: string[]
    exploited_total: number
    epss_max: number | null
    worst_severity: string
    first: { name: string }
  }
  const groupsOf = async (query: string) => {
    const { status, body } = await gate.call<{ groups: Group[]; items: object[]; total: number; pages: number }>(
      'GET',
      `/security/review-queue?${query}`,
    )
    expect([status, body.items]).toEqual([200, []])
    return body
  }

  test('in groups by source, a page has whole groups in the order of their worst member', async () => {
    const { groups, total } = await groupsOf('group=source&sort=risk')
    expect(total).toBe(4)
    expect(groups.map(({ key, packages_total }) => [key, packages_total])).toEqual([
      ['jammy lib-held 1.1-1', 1],
      ['jammy later 2.0-1', 1],
      ['noble elsewhere 1.0-1', 1],
      ['jammy endless 3.0-1', 1],
    ])
    expect(groups[0]).toMatchObject({
      ...{ names: ['lib-held'], exploited_total: 1, epss_max: 0.4, worst_severity: 'Critical' },
      first: { name: 'lib-held' },
    })
    const second = await groupsOf('group=source&sort=risk&per_page=1&page=2')
    expect([second.groups.map(({ key }) => key), second.total, second.pages]).toEqual([['jammy later 2.0-1'], 4, 4])
    expect(await groupsOf('group=source&page=9')).toMatchObject({ groups: [], total: 4 })
    expect((await list('group=source&member_of=jammy%20later%202.0-1')).names).toEqual(['later'])
  })

  test('member_of needs to know of which kind of group', async () => {
    expect((await gate.call('GET', '/security/review-queue?member_of=x')).status).toBe(400)
  })

  test.each(['sort=newest', 'group=colour', 'reason=boredom', 'severity=Big', 'kev=perhaps', 'q='])(
    '%s is refused',
    async (query) => {
      const { status, body } = await gate.call('GET', `/security/review-queue?${query}`)
      expect([status, body['code']]).toEqual([400, 'validation_error'])
    },
  )
}
