// Vulnerabilities by package and by advisory.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

interface Listed {
  items: { id: string; package: string }[]
  advisories?: { id: string; severity: string; packages_total: number; served_total: number; packages: object[] }[]
  total: number
  total_capped: boolean
}

export function vulnerabilityContract(gate: Gate): void {
  const list = async (query: string) => {
    const { status, body, text } = await gate.call<Listed>('GET', `/security/vulnerabilities?${query}`)
    expect(status, text).toBe(200)
    return body
  }

  test.each([
    ['q=CVE-2026-1003', ['CVE-2026-1003 bystander', 'CVE-2026-1003 later']],
    ['q=cve-2025', ['CVE-2025-0001 lib-held']],
    ['q=held&severity=critical', ['CVE-2026-1001 lib-held', 'CVE-2026-1001 lib-held']],
    ['kev=true', ['CVE-2026-1002 lib-held']],
    ['epss_min=0.5', ['CVE-2026-1003 bystander', 'CVE-2026-1003 later']],
    ['epss_min=0.95', []],
    ['kev=false&fix_state=not-fixed&distribution=noble', ['GHSA-aaaa-bbbb-cccc elsewhere']],
    ['q=no-such-name', []],
  ])('with %s they are %j', async (query, expected) => {
    const { items, total, total_capped } = await list(query)
    expect(items.map((item) => `${item.id} ${item.package}`).sort()).toEqual(expected)
    expect([total, total_capped]).toEqual([expected.length, false])
  })

  test.each([
    ['', ['CVE-2026-1001', 'CVE-2026-1003', 'CVE-2026-1002', 'GHSA-aaaa-bbbb-cccc', 'CVE-2025-0001']],
    ['&q=CVE-2026-100', ['CVE-2026-1001', 'CVE-2026-1003', 'CVE-2026-1002']],
    ['&q=CVE-', ['CVE-2026-1001', 'CVE-2026-1003', 'CVE-2026-1002', 'CVE-2025-0001']],
    ['&q=held', ['CVE-2026-1001', 'CVE-2026-1002', 'CVE-2025-0001']],
    ['&kev=true', ['CVE-2026-1002']],
    ['&distribution=noble', ['GHSA-aaaa-bbbb-cccc']],
    ['&per_page=2&page=2', ['CVE-2026-1002', 'GHSA-aaaa-bbbb-cccc']],
    ['&per_page=2&page=4', []],
  ])('by advisory with "%s" they are %j, each once', async (query, ids) => {
    const { advisories, total, items } = await list(`group=cve${query}`)
    expect(advisories?.map(({ id }) => id)).toEqual(ids)
    expect(items).toEqual([])
    expect(total).toBe(query.includes('per_page') ? 5 : ids.length)
  })

  test('an advisory tells which packages have it, those that clients are offered first', async () => {
    const { advisories } = await list('group=cve&q=CVE-2026-1001')
    expect(advisories).toMatchObject([
      {
        id: 'CVE-2026-1001',
        severity: 'Critical',
        packages_total: 2,
        served_total: 1,
        packages: [
          { name: 'lib-held', version: '1.0-1', served: true, status: 'published', fix_versions: ['1.2-1'] },
          { name: 'lib-held', version: '1.1-1', served: false, status: 'pending_review' },
        ],
      },
    ])
  })
}
