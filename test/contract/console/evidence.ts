// The evidence of a review in one answer.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

interface Evidence {
  findings: { id: string; holding: boolean; in_previous: boolean; fixed_here: string | null }[]
  checks: {
    kind: string
    engine: string | null
    result: string
    findings: Record<string, number>
    replaced_at: string | null
  }[]
  decisions: { version: string; covers_here: string[]; justification: string }[]
  [key: string]: unknown
}

export function evidenceContract(gate: Gate): void {
  const get = async (path: string, as?: string) =>
    gate.call<Evidence>('GET', `/security/packages/${path}/evidence`, as ? { as } : {})

  test('it tells why a version is held, what changed, earlier decisions about its findings and who needs it', async () => {
    const { status, body, text } = await get('lib-held/1.1-1', gate.people.auditor.session)
    expect(status, text).toBe(200)
    expect(body).toMatchObject({
      package: 'lib-held',
      version: '1.1-1',
      distribution: 'jammy',
      status: 'pending_review',
      served: false,
      held: { reason: 'cve_review', origin: 'upload', reasons: [] },
      sla: { has_sla: true },
      coverage: { cve_scan: { engine: 'fake', distro_matched: 'ubuntu:22.04' } },
      findings_total: 2,
      holding_total: 2,
      previous: { version: '1.0-1', added_total: 1, same_total: 1, gone: [{ id: 'CVE-2025-0001' }], gone_total: 1 },
      dependants_total: 2,
      only_total: 0,
      others: [],
    })
    expect(
      body.checks
        .map(({ kind, engine, result, findings, replaced_at }) => [
          kind,
          engine,
          result,
          Object.values(findings).reduce((a, b) => a + b),
          replaced_at,
        ])
        .sort(),
    ).toEqual([
      ['antivirus', null, 'no_engine', 0, null],
      ['cve_scan', 'fake', 'scanned', 2, null],
      ['dependencies', null, 'satisfied', 0, null],
      ['gpg', null, 'signed', 0, null],
    ])
    expect(body.findings.map(({ id, holding, in_previous }) => [id, holding, in_previous])).toEqual([
      ['CVE-2026-1002', true, false],
      ['CVE-2026-1001', true, true],
    ])
    expect(body.decisions).toMatchObject([
      { version: '1.0-1', covers_here: ['CVE-2026-1001'], justification: 'not reachable in our build' },
    ])
  })

  test('of a published version it tells what would be lost', async () => {
    const { body } = await get('lib-held/1.0-1')
    expect(body).toMatchObject({ status: 'published', served: true, held: null, holding_total: 0, previous: null })
    expect(body).toMatchObject({ dependants_total: 2, only_total: 2, dependants: [{ name: 'user-a', only: true }, {}] })
  })

  test('it needs an auditor, and a version that exists', async () => {
    expect((await get('lib-held/1.1-1', gate.people.uploader.session)).status).toBe(403)
    expect((await get('lib-held/9')).status).toBe(404)
    expect((await get('lib-held/1.1-1', gate.people.maintainer.session)).status).toBe(200)
  })
}
