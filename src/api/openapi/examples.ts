// Example answers, by the name of their schema: those that most clients read. Names in them are invented.
import { FORMATS } from '../../formats/index.ts'

const SHA256 = '9f86d081…'
const AT = '2026-01-15T09:30:00+00:00'
const PACKAGE = { package: 'acme-tool', version: '1.4.2-1', distribution: 'bookworm', arch: 'amd64' }

const SLA = {
  ...{ has_sla: true, expires_at: '2026-02-14T09:30:00+00:00', remaining_days: 30, days_remaining: 30 },
  ...{ expired: false, warning: false, status: 'active' },
}

const FINDING = {
  ...{ id: 'CVE-2026-1234', severity: 'High', cvss: 7.5, description: 'A crafted file makes it read out of bounds.' },
  ...{ package_name: 'acme-tool', package_version: '1.4.2-1', package_type: FORMATS[0] },
  ...{ fix_state: 'fixed', fix_versions: ['1.4.3-1'], urls: [] },
  ...{ epss: 0.02, epss_percent: 2, epss_label: '2 %', in_kev: false, action: 'review' },
  ...{ first_seen: AT, sources: ['osv'], accepted_by_decision: false },
}

export const EXAMPLES: Readonly<Record<string, object>> = {
  Error: { detail: 'there is no such user', code: 'not_found' },
  User: {
    ...{ id: 7, username: 'ada', role: 'maintainer', full_name: 'Ada Example', email: 'ada@example.org', active: true },
    ...{ auth_source: 'local', mfa_enabled: true, suspended_at: null, created_at: AT, last_login: AT },
  },
  CreatedApiToken: {
    ...{ token: 'svc_…', message: 'this answer alone shows the token', prefix: 'svc_' },
    ...{
      token_id: '0b9f6c1e-6a3e-4f57-9a55-1f0c8a2d7e11',
      name: 'ci',
      role: 'uploader',
      expires_at: null,
      scopes: null,
    },
  },
  UploadAnswer: {
    status: 'pending_review',
    ...PACKAGE,
    pipeline: { antivirus: 'clean', cve_scan: 'review', gpg: 'unsigned', dependencies: 'satisfied' },
    ...{ filename: 'acme-tool_1.4.2-1_amd64', sha256: SHA256, coverage: { antivirus: null, cve_scan: null } },
    validation: { passed: false, cve_status: 'pending_review', steps: [], deps_missing: [] },
    ...{ held_reason: 'cve_review', warnings: [], message: 'it waits for a decision', duplicate: false },
  },
  Finding: FINDING,
  Decision: {
    id: 42,
    ...PACKAGE,
    ...{
      sha256: SHA256,
      decision: 'approve',
      action: 'exception',
      status: 'published',
      previous_status: 'pending_review',
    },
    ...{
      justification: 'the vulnerable function is not called',
      decided_by: 'ada',
      decided_at: AT,
      expires_in_days: 30,
    },
    ...{ expires_at: SLA.expires_at, target_version: null, cve_ids: [FINDING.id], policy_snapshot: {}, active: true },
    ...{ assigned_to: null, assigned_at: null, resolved_at: null, resolved_by: null, resolution_note: null, sla: SLA },
  },
  Source: {
    ...{ id: 7, key: null, name: 'debian', type: 'apt', url: 'https://deb.example.com/debian', mirrors: null },
    ...{ distribution: 'bookworm', components: ['main'], arch: 'amd64', architectures: ['amd64'], target: 'bookworm' },
    ...{ enabled: true, security: false, allow_unsigned: false, has_key: true, status: 'ok', last_sync: AT },
    ...{ pkg_count: 63440, not_carried: [], left_out: 0, error: null, signed_by: [] },
    ...{ created_at: AT, created_by: 'ada', updated_at: null },
  },
  Task: {
    ...{ id: 1234, kind: 'backup', key: '', state: 'running', arguments: { by: 'ada' }, attempts: 1, created_at: AT },
    ...{
      created_by: 'ada',
      request_id: null,
      started_at: AT,
      finished_at: null,
      result: null,
      error: null,
      lines_total: 3,
    },
  },
}
