// /health, /health/live, /health/ready and /metrics of a running service.
import { expect, test } from 'vitest'
import { buildDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'

/** See the specification, "Health", and the decisions, section 17. */
const PROBES = {
  critical: {
    manifests: ['path', 'free_gb', 'total_gb', 'used_pct'],
    pool: ['path', 'free_gb', 'total_gb', 'used_pct'],
    auth_db: ['count'],
    manifest_db: ['count'],
  },
  non_critical: {
    audit: ['path', 'free_gb'],
    antivirus: ['version'],
    reprepro: ['version'],
    gpg: ['fingerprint'],
    scheduler: ['jobs'],
    alembic: ['version'],
    disk: ['short'],
  },
  info: {
    packages: ['total_manifests', 'pool_files', 'pool_size_mb', 'by_format'],
    storage: ['free_gb', 'total_gb', 'used_pct', 'dirs'],
    license: ['edition', 'active', 'issued_to'],
    setup: ['setup_done'],
    ha: ['is_leader', 'instance_id', 'scheduler_active', 'job_state_backend'],
    cache_backend: ['backend'],
    vulnscan: ['version', 'db_age_seconds'],
  },
}
const METRICS: Record<string, string> = {
  svc_packages_total: 'gauge',
  svc_uploads_total: 'counter',
  svc_cve_findings_total: 'counter',
  svc_pending_review_total: 'gauge',
  svc_quarantine_total: 'gauge',
  svc_clamav_last_update: 'gauge',
  svc_grype_db_age_seconds: 'gauge',
  svc_probe_ok: 'gauge',
  svc_storage_free_bytes: 'gauge',
  svc_storage_size_bytes: 'gauge',
  svc_leader: 'gauge',
  svc_publish_duration_seconds: 'histogram',
  process_resident_memory_bytes: 'gauge',
  nodejs_eventloop_lag_seconds: 'gauge',
  http_requests_total: 'counter',
  http_request_duration_seconds: 'histogram',
}

interface Report {
  status: string
  checks: Record<string, Record<string, Record<string, unknown>>>
}

export function wellbeingContract(gate: Gate): void {
  test('the report has every probe with its keys', async () => {
    const { status, body } = await gate.call<Report>('GET', '/health', { as: null })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: expect.stringMatching(/^(healthy|degraded)$/),
      version: 'dev',
      timestamp: expect.stringMatching(/\+00:00$/),
      uptime_seconds: expect.any(Number),
    })
    for (const [group, probes] of Object.entries(PROBES)) {
      for (const [probe, keys] of Object.entries(probes)) {
        const found = body.checks[group]?.[probe] ?? {}
        expect([group, probe, Object.keys(found)]).toEqual([group, probe, expect.arrayContaining(['ok', ...keys])])
        expect(typeof found['ok']).toBe('boolean')
      }
    }
    const { critical, non_critical: others, info } = body.checks
    for (const probe of Object.values(critical ?? {})) expect(probe['ok']).toBe(true)
    expect(body.status).toBe(Object.values(others ?? {}).every((probe) => probe['ok']) ? 'healthy' : 'degraded')
    expect(others?.['antivirus']).toMatchObject({ ok: false, version: null, error: expect.any(String) })
    expect(others?.['gpg']).toMatchObject({ ok: true, fingerprint: gate.app.fingerprint })
    expect(info?.['setup']).toEqual({ ok: true, setup_done: true })
    expect(info?.['ha']).toMatchObject({
      is_leader: true,
      job_state_backend: {
        scan: 'local',
        install: 'local',
        mirror: 'local',
        sync: 'local',
        sse: 'local',
        logs: 'local',
      },
    })
    expect(Object.keys((info?.['storage'] as { dirs: object }).dirs)).toEqual([
      'pool',
      'manifests',
      'audit',
      'grype_db',
      'clamav_db',
    ])
    expect(info?.['packages']).toMatchObject({ by_format: { deb: expect.any(Number), rpm: 0, apk: 0 } })
  })

  test('live and ready need no credential, and ready names its four checks', async () => {
    expect(await gate.call('GET', '/health/live', { as: null })).toMatchObject({ status: 200, text: '{"status":"ok"}' })
    const { status, body } = await gate.call('GET', '/health/ready', { as: null })
    const ok = { ok: true }
    expect([status, body]).toEqual([
      200,
      { ready: true, timestamp: expect.any(String), checks: { manifests: ok, pool: ok, auth_db: ok, manifest_db: ok } },
    ])
  })

  test('every metric is present with its type; an unknown time has no sample', async () => {
    const { status, headers, text } = await gate.call('GET', '/metrics', { as: null })
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    for (const [name, type] of Object.entries(METRICS)) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} .+$`, 'm'))
      expect(text).toMatch(new RegExp(`^# TYPE ${name} ${type}$`, 'm'))
    }
    for (const name of ['svc_clamav_last_update', 'svc_grype_db_age_seconds'])
      expect(text).not.toMatch(new RegExp(`^${name} `, 'm'))
    for (const status of ['published', 'pending_review', 'quarantined', 'rejected', 'error'])
      expect(text).toContain(`svc_uploads_total{status="${status}"}`)
    for (const severity of ['critical', 'high', 'medium', 'low', 'negligible', 'unknown'])
      expect(text).toContain(`svc_cve_findings_total{severity="${severity}"} 0`)
  })

  test('uploads and requests are counted, requests by path template', async () => {
    const sample = async (line: string) =>
      Number(
        new RegExp(`^${line.replace(/[{}]/g, '\\$&')} (.+)$`, 'm').exec(
          (await gate.call('GET', '/metrics', { as: null })).text,
        )?.[1] ?? 0,
      )
    const published = 'svc_uploads_total{status="published"}'
    const [uploads, packages, errors] = [
      await sample(published),
      await sample('svc_packages_total'),
      await sample('svc_uploads_total{status="error"}'),
    ]
    await gate.upload(await buildDeb({ name: 'metered' }), { distribution: 'noble' })
    await gate.upload(Buffer.from('text'), { distribution: 'noble' })
    expect(await sample(published)).toBe(uploads + 1)
    expect(await sample('svc_packages_total')).toBe(packages + 1)
    expect(await sample('svc_uploads_total{status="error"}')).toBe(errors + 1)
    await gate.call('GET', '/artifacts/metered')
    await gate.call('GET', '/artifacts/metered/dependencies/')
    await gate.call('GET', '/api/v1/no/such/path/of-nobody')
    expect(await sample('http_requests_total{method="GET",path="/api/v1/artifacts/{name}",status="200"}')).toBe(1)
    expect(
      await sample('http_requests_total{method="GET",path="/api/v1/artifacts/{name}/dependencies",status="200"}'),
    ).toBe(1)
    expect(await sample('http_requests_total{method="GET",path="other",status="404"}')).toBe(1)
    expect(await sample('http_request_duration_seconds_count{method="POST",path="/api/v1/upload"}')).toBe(2)
    const { text } = await gate.call('GET', '/metrics', { as: null })
    expect(text).not.toContain('of-nobody')
    expect(text).not.toContain('metered')
  })
}
