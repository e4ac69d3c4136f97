// Findings of several engines about one package.
import { describe, expect, test } from 'vitest'
import { withAction } from '../domain/decide.ts'
import type { Finding } from '../domain/finding.ts'
import { mergeFindings, sameFindings, type MergedFinding } from './merge.ts'

const days = { sla_critical_days: 0, sla_high_days: 7, sla_medium_days: 30 }
const cve_policy = {
  critical: 'block',
  high: 'review',
  medium: 'warn',
  low: 'allow',
  negligible: 'allow',
  ...days,
} as const
const ENGINES = ['grype', 'osv', 'osv-components']

const raw = (
  engine: string,
  id: string,
  severity: Finding['severity'],
  more: Partial<MergedFinding> = {},
): MergedFinding => ({
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
const merge = (known: readonly Finding[], engine: string, ...findings: MergedFinding[]) =>
  mergeFindings(known, { engine, findings }, ENGINES, '2026-01-01T00:00:00+00:00').map((found) =>
    withAction({ cve_policy }, found),
  )
const short = (findings: readonly Finding[]) =>
  findings.map(({ id, severity, action, sources }) => [id, severity, action, sources.join('+')])

describe('two scanners that find the same vulnerability', () => {
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

  test('the names that both know are kept, until the one that knew them finds it no more', () => {
    const osv = (...aliases: string[]) => raw('osv', 'CVE-1', 'High', { aliases })
    const named = merge([], 'grype', raw('grype', 'CVE-1', 'High', { aliases: ['RHSA-1'] }))
    const both = merge(named, 'osv', osv('ALSA-1', 'RHSA-1'))
    expect(both[0]?.aliases).toEqual(['ALSA-1', 'RHSA-1'])
    expect(merge(merge(both, 'grype'), 'osv', osv('ALSA-2'))[0]?.aliases).toEqual(['ALSA-2'])
  })

  test('a scanner that is no more has no word', () => {
    const old = first.map((finding) => ({ ...finding, sources: ['trivy'] }))
    expect(short(merge(old, 'osv', raw('osv', 'CVE-1', 'High')))).toEqual([['CVE-1', 'High', 'review', 'osv']])
  })
})

test('the worse of a package and a component with the same vulnerability rates it', () => {
  const own = merge([], 'grype', raw('grype', 'CVE-1', 'Medium'))
  const inside = raw('osv-components', 'CVE-1', 'High', { package_type: 'npm' })
  expect(short(merge(own, 'osv-components', inside))).toEqual([['CVE-1', 'High', 'review', 'grype+osv-components']])
  expect(short(merge(own, 'osv-components', { ...inside, severity: 'Low' }))).toEqual([
    ['CVE-1', 'Medium', 'warn', 'grype+osv-components'],
  ])
  const both = merge(own, 'osv-components', inside)
  expect(short(merge(both, 'osv-components', { ...inside, severity: 'Critical' }))).toEqual([
    ['CVE-1', 'Critical', 'block', 'grype+osv-components'],
  ])
  expect(short(merge(both, 'grype', raw('grype', 'CVE-1', 'Critical')))).toEqual([
    ['CVE-1', 'Critical', 'block', 'grype+osv-components'],
  ])
  expect(short(merge(both, 'grype'))).toEqual([['CVE-1', 'High', 'review', 'osv-components']])
  expect(short(merge(both, 'osv-components'))).toEqual([['CVE-1', 'High', 'review', 'grype']])
})

describe('affected components', () => {
  const component = (name: string): NonNullable<Finding['components']>[number] => ({
    name,
    version: '1',
    type: 'pypi',
    severity: 'High',
    fix_state: 'fixed',
    fix_versions: ['2'],
  })
  const inside = (...names: string[]) =>
    raw('osv-components', 'CVE-1', 'High', { package_type: 'pypi', components: names.map(component) })
  const listed = (findings: readonly Finding[]) => findings.map(({ components }) => components?.map(({ name }) => name))

  test.each([
    ['found by the component scan', ['osv-components', inside('a', 'b')]],
    [
      'kept when the scanner of the package finds the same',
      ['osv-components', inside('a', 'b')],
      ['grype', raw('grype', 'CVE-1', 'Critical')],
    ],
    ['kept when the scanner of the package finds it no more', ['osv-components', inside('a', 'b')], ['grype']],
    [
      'added to a finding of the package that is worse',
      ['grype', raw('grype', 'CVE-1', 'Critical')],
      ['osv-components', inside('a', 'b')],
    ],
    ['replaced by the next component scan', ['osv-components', inside('c')], ['osv-components', inside('a', 'b')]],
  ] as [string, ...[string, MergedFinding?][]][])('are listed: %s', (_, ...scans) => {
    const findings = scans.reduce<Finding[]>(
      (known, [engine, ...found]) => merge(known, engine, ...(found as MergedFinding[])),
      [],
    )
    expect(listed(findings)).toEqual([['a', 'b']])
  })

  test('go with the component scan that finds none, while the finding of the package stays', () => {
    const both = merge(merge([], 'grype', raw('grype', 'CVE-1', 'Low')), 'osv-components', inside('a'))
    expect(listed(merge(both, 'osv-components'))).toEqual([undefined])
  })

  test('are the same whatever the order of their keys', () => {
    const findings = merge([], 'osv-components', inside('a'))
    const stored = findings.map((finding) => ({
      ...finding,
      components: finding.components?.map((one) => Object.fromEntries(Object.entries(one).reverse()) as typeof one),
    }))
    expect(sameFindings(findings, stored as Finding[])).toBe(true)
  })
})
