import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDocuments, type Documents } from './documents.fixture.ts'
import { decide, DECIDED, finding, insertRecord } from './fixture.ts'

let documents: Documents
beforeAll(async () => void (documents = await openDocuments()))
afterAll(() => documents.close())
beforeEach(() => documents.clear())

const insert = (sample: Parameters<typeof insertRecord>[1]) => insertRecord(documents.db, sample)

describe('findings', () => {
  const cves = [
    finding('CVE-2026-0001', { accepted_by_decision: true }),
    finding('CVE-2026-0002', {
      severity: 'Negligible',
      cvss: null,
      action: 'allow',
      fix_versions: [],
      fix_state: 'not-fixed',
      epss: null,
    }),
    finding('GHSA-aaaa-bbbb-cccc', { urls: ['not an address', 'https://example.org/a%b'] }),
  ]
  const analyses = (bom: any) => Object.fromEntries(bom.vulnerabilities.map((each: any) => [each.id, each.analysis]))

  test('are VEX with their decisions in CycloneDX', async () => {
    const row = await insert({ name: 'vulnerable', findings: cves })
    await decide(documents.db, row, 'accept_risk', ['CVE-2026-0001'])
    for (const bom of [
      await documents.ofPackage('cyclonedx', 'vulnerable'),
      await documents.ofRepository('cyclonedx'),
    ]) {
      expect(bom.vulnerabilities).toMatchObject([
        {
          id: 'CVE-2026-0001',
          source: { name: 'NVD' },
          ratings: [{ score: 7.5, severity: 'high' }],
          recommendation: 'Update vulnerable to 1.1-1.',
          advisories: [{ url: 'https://example.org/CVE-2026-0001' }],
          affects: [{ ref: 'jammy/vulnerable/1.0-1/amd64', versions: [{ version: '1.0-1', status: 'affected' }] }],
        },
        { id: 'CVE-2026-0002', ratings: [{ severity: 'info', method: 'other' }] },
        { id: 'GHSA-aaaa-bbbb-cccc', source: { name: 'GitHub' }, advisories: [] },
      ])
      expect(analyses(bom)).toEqual({
        'CVE-2026-0001': {
          state: 'exploitable',
          response: ['will_not_fix'],
          detail: 'The risk was accepted: because of accept_risk',
          firstIssued: DECIDED.toISOString(),
          lastUpdated: DECIDED.toISOString(),
        },
      })
      expect(bom.metadata.timestamp).toBe(DECIDED.toISOString())
    }
  })

  test.each([
    [
      'exception',
      'published',
      { state: 'exploitable', detail: 'The risk was accepted until 2026-06-01: because of exception' },
    ],
    [
      'upgrade_required',
      'pending_review',
      { state: 'exploitable', response: ['update'], detail: 'Update to 1.1-1: because of upgrade_required' },
    ],
    [
      'reject',
      'rejected',
      { state: 'exploitable', detail: 'The package was rejected, do not use it: because of reject' },
    ],
  ] as const)('after %s', async (action, status, analysis) => {
    const row = await insert({ name: 'vulnerable', status, findings: cves })
    await decide(documents.db, row, action, ['CVE-2026-0001'], {
      targetVersion: '1.1-1',
      expiresAt: new Date('2026-06-01T00:00:00Z'),
    })
    expect(analyses(await documents.ofPackage('cyclonedx', 'vulnerable'))['CVE-2026-0001']).toMatchObject(analysis)
  })

  test('are in triage when they are worse than accepted or under review', async () => {
    const worse = finding('CVE-2026-0001', { accepted_by_decision: false, severity: 'Critical' })
    const row = await insert({
      name: 'vulnerable',
      status: 'pending_review',
      served: true,
      findings: [worse, finding('CVE-2026-0003'), finding('CVE-2026-0004', { action: 'warn' })],
    })
    await decide(documents.db, row, 'accept_risk', ['CVE-2026-0001'])
    expect(analyses(await documents.ofRepository('cyclonedx'))).toEqual({
      'CVE-2026-0001': { state: 'in_triage', detail: 'Under review.' },
      'CVE-2026-0003': { state: 'in_triage', detail: 'Under review.' },
    })
  })

  test('are results in SARIF with one rule for each vulnerability, suppressed when accepted', async () => {
    const row = await insert({ name: 'vulnerable', findings: cves })
    await insert({
      name: 'other',
      distribution: 'noble',
      findings: [finding('CVE-2026-0001', { severity: 'Critical', cvss: 9.8 })],
    })
    await insert({ name: 'held', status: 'pending_review', findings: [finding('CVE-2026-0009')] })
    await decide(documents.db, row, 'accept_risk', ['CVE-2026-0001'])
    const log = await documents.valid('sarif', await documents.make().sarifOfRepository(undefined))
    const [run] = log.runs
    expect(run.tool.driver.rules.map((rule: any) => [rule.id, rule.properties['security-severity']])).toEqual([
      ['CVE-2026-0001', '9.8'],
      ['CVE-2026-0002', '0.1'],
      ['GHSA-aaaa-bbbb-cccc', '7.5'],
    ])
    expect(run.results.map((result: any) => [result.ruleId, result.level, result.suppressions?.length ?? 0])).toEqual([
      ['CVE-2026-0001', 'error', 1],
      ['CVE-2026-0002', 'note', 0],
      ['GHSA-aaaa-bbbb-cccc', 'error', 0],
      ['CVE-2026-0001', 'error', 0],
    ])
    expect(run.results[0]).toMatchObject({
      message: { text: 'CVE-2026-0001 (High) in vulnerable 1.0-1, package vulnerable 1.0-1 of jammy: fixed in 1.1-1.' },
      locations: [
        {
          physicalLocation: { artifactLocation: { uri: 'jammy/vulnerable_1.0-1_amd64.deb' } },
          logicalLocations: [{ fullyQualifiedName: 'pkg:deb/ubuntu/vulnerable@1.0-1?arch=amd64&distro=ubuntu-22.04' }],
        },
      ],
      suppressions: [
        { kind: 'external', status: 'accepted', justification: 'The risk was accepted: because of accept_risk' },
      ],
    })
    expect(
      (await documents.valid('sarif', await documents.make().sarifOfRepository('noble'))).runs[0].results,
    ).toHaveLength(1)
    expect(
      (await documents.valid('sarif', await documents.make().sarifOfPackage({ name: 'held', version: '1.0-1' })))
        .runs[0].results,
    ).toMatchObject([{ ruleId: 'CVE-2026-0009' }])
  })

  test('with decisions are statements in OpenVEX, oldest decision first', async () => {
    const first = await insert({ name: 'first', findings: cves })
    const second = await insert({ name: 'second', distribution: 'noble', status: 'rejected', findings: cves })
    await decide(documents.db, first, 'accept_risk', ['CVE-2026-0002', 'CVE-2026-0001'])
    await decide(documents.db, second, 'reject', ['CVE-2026-0001'])
    await decide(documents.db, first, 'accept_risk', [])
    const document = await documents.valid('openvex', await documents.make().openvex(undefined))
    expect(
      document.statements.map((each: any) => [each.vulnerability.name, each.products[0]['@id'], each.action_statement]),
    ).toEqual([
      ['CVE-2026-0001', expect.stringContaining('/first@'), 'The risk was accepted: because of accept_risk'],
      ['CVE-2026-0002', expect.stringContaining('/first@'), 'The risk was accepted: because of accept_risk'],
      [
        'CVE-2026-0001',
        expect.stringContaining('/second@'),
        'The package was rejected, do not use it: because of reject',
      ],
    ])
    expect(document.timestamp).toBe(DECIDED.toISOString())
    expect((await documents.valid('openvex', await documents.make().openvex('noble'))).statements).toHaveLength(1)
    await documents.db.updateTable('decisions').set({ active: false }).execute()
    expect((await documents.valid('openvex', await documents.make().openvex(undefined))).statements).toEqual([])
  })

  test('of a component name that component', async () => {
    documents.embedded.set('bundle', [
      {
        type: 'npm',
        name: '@scope/lodash',
        version: '4.17.20',
        license: 'MIT',
        path: 'usr/lib/app/node_modules/lodash',
      },
      { type: 'maven', name: 'org.example:thing', version: '1.0', license: 'Some Licence' },
      { type: 'pypi', name: 'requests', version: null },
      { type: 'pypi', name: 'requests', version: null },
    ])
    await insert({
      name: 'bundle',
      findings: [
        finding('CVE-2026-0005', { package_name: '@scope/lodash', package_version: '4.17.20', package_type: 'npm' }),
        finding('CVE-2026-0006'),
      ],
    })
    const bom = await documents.ofRepository('cyclonedx')
    const [component] = bom.components
    expect(component.components).toMatchObject([
      {
        group: 'org.example',
        name: 'thing',
        purl: 'pkg:maven/org.example/thing@1.0',
        licenses: [{ license: { name: 'Some Licence' } }],
      },
      {
        group: '@scope',
        name: 'lodash',
        purl: 'pkg:npm/%40scope/lodash@4.17.20',
        properties: [{ name: 'gatehouse:path' }],
      },
      { name: 'requests', purl: 'pkg:pypi/requests' },
    ])
    expect(bom.vulnerabilities.map((each: any) => each.affects[0].ref)).toEqual([
      component.components[1]['bom-ref'],
      component['bom-ref'],
    ])
    const spdx = await documents.ofPackage('spdx', 'bundle')
    expect(spdx.relationships.filter((each: any) => each.relationshipType === 'CONTAINS')).toHaveLength(3)
    expect(spdx.packages).toHaveLength(4)
  })
})
