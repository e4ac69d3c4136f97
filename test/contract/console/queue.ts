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

  test.each(['sort=newest', 'reason=boredom', 'severity=Big', 'kev=perhaps', 'q='])('%s is refused', async (query) => {
    const { status, body } = await gate.call('GET', `/security/review-queue?${query}`)
    expect([status, body['code']]).toEqual([400, 'validation_error'])
  })
}
