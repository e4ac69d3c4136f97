// Findings of several engines about one package.
import { describe, expect, test } from 'vitest'
import type { Finding } from '../domain/finding.ts'
import { mergeFindings, type RawFinding } from './merge.ts'

const policy = { critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' } as const
const ENGINES = ['grype', 'osv', 'libraries']

const raw = (
  engine: string,
  id: string,
  severity: Finding['severity'],
  more: Partial<RawFinding> = {},
): RawFinding => ({
  id,
  severity,
  cvss: null,
  description: `by ${engine}`,
  package_name: 'p',
  package_version: '1',
  package_type: 'rpm',
  fix_state: 'unknown',
  fix_versions: [],
  urls: [],
  epss: null,
  epss_percent: null,
  epss_label: null,
  in_kev: false,
  sources: [engine],
  ...more,
})
const merge = (known: readonly Finding[], engine: string, ...findings: RawFinding[]) =>
  mergeFindings(known, { engine, findings }, ENGINES, policy, '2026-01-01T00:00:00+00:00')
const short = (findings: readonly Finding[]) =>
  findings.map(({ id, severity, action, sources }) => [id, severity, action, sources.join('+')])

describe('of two scanners that find the same', () => {
  const first = merge([], 'grype', raw('grype', 'CVE-1', 'Medium'))

  test('the first rates it, and the second is a witness', () => {
    const both = merge(first, 'osv', raw('osv', 'CVE-1', 'Critical', { in_kev: true }), raw('osv', 'CVE-2', 'High'))
    expect(short(both)).toEqual([
      ['CVE-1', 'Medium', 'warn', 'grype+osv'],
      ['CVE-2', 'High', 'review', 'osv'],
    ])
    expect(both[0]).toMatchObject({ description: 'by grype', in_kev: true })
  })

  test('the first rates it also when it looks later', () => {
    const second = merge([], 'osv', raw('osv', 'CVE-1', 'Critical'))
    expect(short(merge(second, 'grype', raw('grype', 'CVE-1', 'Medium')))).toEqual([
      ['CVE-1', 'Medium', 'warn', 'grype+osv'],
    ])
  })

  test('what the first finds no more is rated by the second at its next look', () => {
    const both = merge(first, 'osv', raw('osv', 'CVE-1', 'Critical'))
    const gone = merge(both, 'grype')
    expect(short(gone)).toEqual([['CVE-1', 'Medium', 'warn', 'osv']])
    expect(short(merge(gone, 'osv', raw('osv', 'CVE-1', 'Critical')))).toEqual([['CVE-1', 'Critical', 'block', 'osv']])
  })

  test('a scanner that is no more has no word', () => {
    const old = first.map((finding) => ({ ...finding, sources: ['trivy'] }))
    expect(short(merge(old, 'osv', raw('osv', 'CVE-1', 'High')))).toEqual([['CVE-1', 'High', 'review', 'osv']])
  })
})

test('of a package and a library inside it with the same hole the worse stands', () => {
  const own = merge([], 'grype', raw('grype', 'CVE-1', 'Medium'))
  const inside = raw('libraries', 'CVE-1', 'High', { package_type: 'npm' })
  expect(short(merge(own, 'libraries', inside))).toEqual([['CVE-1', 'High', 'review', 'grype+libraries']])
  expect(short(merge(own, 'libraries', { ...inside, severity: 'Low' }))).toEqual([
    ['CVE-1', 'Medium', 'warn', 'grype+libraries'],
  ])
  const both = merge(own, 'libraries', inside)
  expect(short(merge(both, 'libraries', { ...inside, severity: 'Critical' }))).toEqual([
    ['CVE-1', 'Critical', 'block', 'grype+libraries'],
  ])
  expect(short(merge(both, 'grype', raw('grype', 'CVE-1', 'Critical')))).toEqual([
    ['CVE-1', 'Critical', 'block', 'grype+libraries'],
  ])
  expect(short(merge(both, 'grype'))).toEqual([['CVE-1', 'High', 'review', 'libraries']])
  expect(short(merge(both, 'libraries'))).toEqual([['CVE-1', 'High', 'review', 'grype']])
})
