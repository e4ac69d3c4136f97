// The data for tests of the console's endpoints: packages under review and published ones, uploaded through the gate, with the
// findings that a scanner reports for their names.
import { expect } from 'vitest'
import type { CveScanner } from '../../../src/gate/engines/scanner.ts'
import { buildDeb, type SampleDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'

type Finding = Awaited<ReturnType<CveScanner['scan']>>['findings'][number]

function finding(id: string, severity: Finding['severity'], more: Partial<Finding> = {}): Finding {
  return {
    ...{ id, severity, cvss: null, description: `About ${id}.`, urls: [], sources: ['fake'] },
    ...{ package_name: 'lib-held', package_version: '1.0-1', package_type: 'deb' },
    ...{ fix_state: 'not-fixed', fix_versions: [], epss: null, epss_percent: null, epss_label: null, in_kev: false },
    ...more,
  }
}

const fixed: Partial<Finding> = { fix_state: 'fixed', fix_versions: ['1.2-1'] }
const critical = finding('CVE-2026-1001', 'Critical', { epss: 0.02, ...fixed })
const exploited = finding('CVE-2026-1002', 'Medium', { in_kev: true, epss: 0.4, ...fixed })
const likely = finding('CVE-2026-1003', 'High', { epss: 0.9 })
const past = finding('CVE-2025-0001', 'Low', { epss: 0.01 })
const unfixed = (severity: Finding['severity']) => finding('GHSA-aaaa-bbbb-cccc', severity)

const FINDINGS: Record<string, Finding[]> = {
  'lib-held 1.0-1': [critical, past],
  'lib-held 1.1-1': [critical, exploited],
  'later 2.0-1': [likely],
  'bystander 1.0-1': [likely],
  'endless 3.0-1': [unfixed('Low')],
  'elsewhere 1.0-1': [unfixed('Medium')],
  'fix-a 1.0-1': [finding('CVE-2026-2001', 'High', fixed)],
  'fix-b 1.0-1': [finding('CVE-2026-2002', 'High', fixed)],
  'fix-b 1.3-1': [likely],
  'fix-later 1.0-1': [
    finding('CVE-2026-2003', 'High', fixed),
    finding('CVE-2026-2004', 'High', { fix_state: 'fixed', fix_versions: ['1.10-1'] }),
  ],
  'fix-none-a 1.0-1': [finding('CVE-2026-2005', 'High', fixed), finding('CVE-2026-2006', 'High')],
  'fix-none-b 1.0-1': [finding('CVE-2026-2005', 'High', fixed), finding('CVE-2026-2006', 'High')],
  'fix-other 1.0-1': [finding('CVE-2026-2001', 'High', fixed)],
}

/** Reports findings by the name and version of a package; names that begin with `bulk-` have one finding of High. */
export const cveScanner: CveScanner = {
  name: 'fake',
  async scan({ facts: { name, version } }) {
    const findings = FINDINGS[`${name} ${version}`] ?? (name.startsWith('bulk-') ? [likely] : [])
    return {
      ...{ result: 'scanned', findings, message: '' },
      coverage: {
        ...{ engine: 'fake', engine_version: '1', database_date: '2026-01-01T00:00:00+00:00' },
        ...{ distro_matched: 'ubuntu:22.04', files_seen: 1, files_skipped: [], bytes: 1 },
      },
    }
  },
}

export async function bringIn(gate: Gate, sample: SampleDeb, distribution = 'jammy', as?: string): Promise<string> {
  const { status, body, text } = await gate.upload(await buildDeb(sample), { distribution }, as ? { as } : {})
  expect(status, text).toBe(201)
  return body['status'] as string
}

export async function approve(gate: Gate, name: string, version: string): Promise<void> {
  const { status, text } = await gate.call('POST', `/security/packages/${name}/${version}/decide`, {
    body: { decision: 'approve', justification: 'not reachable in our build' },
  })
  expect(status, text).toBe(200)
}

/** Every finding needs a decision by people. jammy and noble then have a queue of four. */
export async function fill(gate: Gate): Promise<void> {
  const policy = { critical: 'review', high: 'review', medium: 'review', low: 'review' }
  expect((await gate.call('PATCH', '/settings/', { body: { cve_policy: policy } })).status).toBe(200)
  expect(await bringIn(gate, { name: 'lib-held' })).toBe('pending_review')
  await approve(gate, 'lib-held', '1.0-1')
  await bringIn(gate, { name: 'user-a', fields: { Depends: 'lib-held (>= 1.0)' } })
  await bringIn(gate, { name: 'user-b', fields: { Depends: 'lib-held' } })
  await bringIn(gate, { name: 'bystander' })
  await approve(gate, 'bystander', '1.0-1')
  const files = { 'usr/lib/libheld.so.1': 'elf', 'usr/share/doc/libheld/copyright': 'text', 'etc/held.conf': 'a=1' }
  expect(await bringIn(gate, { name: 'lib-held', version: '1.1-1', files })).toBe('pending_review')
  await bringIn(gate, { name: 'later', version: '2.0-1' })
  await bringIn(gate, { name: 'endless', version: '3.0-1' })
  await bringIn(gate, { name: 'elsewhere' }, 'noble')
}
