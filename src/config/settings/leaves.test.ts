import { describe, expect, test } from 'vitest'
import { effective, faultOf, LEAVES, nest, type Leaf } from './leaves.ts'

const defaults = nest(effective(new Map(), 'production')) as Record<string, Record<string, unknown>>

test('the defaults are those of the specification', () => {
  const daily = { enabled: false, hour: 4, minute: 30, timezone: 'Europe/Paris' }
  const empty = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, '']))
  expect(defaults).toMatchObject({
    app_url: 'http://localhost:3003',
    addresses: { apt_url: '', rpm_url: '' },
    sync: { enabled: true, hour: 3, minute: 0, timezone: 'Europe/Paris' },
  })
  expect(defaults['mirror']).toEqual({
    ...daily,
    max_packages_per_run: 200,
    max_runtime_minutes: 60,
    min_free_disk_gb: 5,
    sources: {},
  })
  expect(defaults['notifications']).toEqual({
    webhook_url: '',
    webhook_enabled: false,
    webhook_min_packages: 1,
    webhook_format: 'generic',
  })
  expect(defaults['email']).toEqual({
    enabled: false,
    smtp_port: 587,
    use_tls: true,
    ...empty('smtp_host', 'smtp_user', 'smtp_password', 'from_address', 'to_addresses'),
  })
  expect(defaults['ldap']).toEqual({
    enabled: false,
    ...{ nested_groups: false, check_minutes: 60, grace_hours: 72 },
    port: 389,
    use_ssl: false,
    use_starttls: false,
    user_filter: '(sAMAccountName={username})',
    attr_username: 'sAMAccountName',
    attr_email: 'mail',
    attr_fullname: 'displayName',
    attr_groups: 'memberOf',
    default_role: 'reader',
    auto_provision: true,
    verify_cert: true,
    ...empty(
      'host',
      'bind_dn',
      'bind_password',
      'base_dn',
      'ca_bundle_path',
      'group_admin',
      'group_maintainer',
      'group_uploader',
      'group_auditor',
      'group_reader',
    ),
  })
  expect(defaults['oidc']).toEqual({
    enabled: false,
    ...{ session_hours: 4, login_days: 90, logout_at_provider: false },
    provider_name: 'SSO',
    scopes: 'openid email profile',
    auto_provision: false,
    default_role: 'reader',
    claim_username: 'preferred_username',
    claim_email: 'email',
    claim_fullname: 'name',
    claim_role: '',
    role_map: {},
    ...empty('discovery_url', 'client_id', 'client_secret', 'redirect_uri'),
  })
  // `history_days` is ours.
  expect(defaults['retention']).toEqual({
    audit_days: 90,
    import_cleanup_days: 30,
    history_days: 30,
    quarantine_days: 0,
    evidence_days: 400,
    access_log_days: 90,
    keep_versions: {},
    keep_versions_days: 7,
  })
  expect(defaults['downloads']).toEqual({ nginx_logs: '', count: 'both' })
  expect(defaults['backup']).toEqual({ ...daily, retention_count: 7 })
  expect(defaults['validation']).toEqual({
    sha256_check: true,
    clamav_scan: true,
    grype_scan: true,
    grype_fail_on: 'critical',
    max_upload_size_mb: 500,
    on_unscanned: 'hold',
    gpg_required: false,
    sign_packages: true,
    keep_vendor_signatures: false,
    on_uninstallable: 'warn',
  })
  expect(defaults['cve_policy']).toEqual({
    critical: 'block',
    high: 'review',
    medium: 'warn',
    low: 'allow',
    negligible: 'allow',
    unknown: null,
    sla_critical_days: 0,
    sla_high_days: 30,
    sla_medium_days: 90,
    auto_enrich: true,
  })
  expect(defaults['trusted_publishing']).toEqual({ publishers: [] })
  expect(defaults['security']).toEqual({ forbid_self_approval: false, require_mfa: 'nobody', approval_days: 0 })
})

test('the source toggles of the specification exist and default to true', () => {
  const sources = defaults['sources'] as Record<string, unknown>
  for (const key of [
    'ubuntu-jammy',
    'ubuntu-jammy-updates',
    'ubuntu-noble',
    'ubuntu-focal',
    'debian-bookworm',
    'ubuntu-jammy-security',
    'ubuntu-noble-security',
    'ubuntu-focal-security',
    'debian-bookworm-security',
    'almalinux-8',
    'alpine-3.21-community',
  ]) {
    expect(sources).toHaveProperty([key], true)
  }
  expect(new Set(Object.values(sources))).toEqual(new Set([true]))
})

test('a scanner that is missing holds packages in production only', () => {
  expect(effective(new Map(), 'production').get('validation.on_unscanned')).toBe('hold')
  expect(effective(new Map(), 'development').get('validation.on_unscanned')).toBe('allow')
})

test('every default passes its own rules, and every setting has a default and a description', () => {
  for (const leaf of LEAVES.values()) {
    const schema = leaf.schema as { default?: unknown; description?: string }
    expect(schema, leaf.path).toHaveProperty('default')
    expect(schema.description, leaf.path).toMatch(/\.$/)
    expect(faultOf(leaf, schema.default), leaf.path).toBeNull()
  }
})

test('the secrets are the three of the specification', () => {
  expect([...LEAVES.values()].filter((leaf) => leaf.secret).map((leaf) => leaf.path)).toEqual([
    'email.smtp_password',
    'ldap.bind_password',
    'oidc.client_secret',
  ])
})

const accepts: [string, unknown][] = [
  ['app_url', 'https://packages.example.org/console'],
  ['sync.hour', 0],
  ['sync.hour', 23],
  ['sync.minute', 59],
  ['sync.timezone', 'UTC'],
  ['sync.timezone', 'America/Argentina/Buenos_Aires'],
  ['email.smtp_port', 465],
  ['email.smtp_host', 'mail.example.org'],
  ['email.smtp_host', '10.0.0.5'],
  ['email.smtp_host', 'fd00::25'],
  ['ldap.host', '[::1]'],
  ['email.from_address', 'gate@example.org'],
  ['email.from_address', 'Gatehouse <gate@example.org>'],
  ['email.to_addresses', 'a@example.org; b@example.org, c+x@sub.example.org'],
  ['email.smtp_password', 'päss wörd;"<>'],
  ['ldap.user_filter', '(&(objectClass=person)(|(uid={username})(mail={username})))'],
  ['ldap.user_filter', '(cn=\\28{username}\\29)'],
  ['ldap.attr_groups', 'member;range=0-99'.split('=')[0]],
  ['ldap.attr_email', ''],
  ['ldap.attr_username', '1.2.840.113556.1.4.221'],
  ['ldap.group_admin', 'CN=Repo Admins,OU=Groups,DC=example,DC=org'],
  ['ldap.ca_bundle_path', '/etc/ssl/ca.pem'],
  ['downloads.nginx_logs', '/var/log/nginx/a.log, /var/log/nginx/b.log'],
  ['cve_policy.unknown', null],
  ['cve_policy.unknown', 'review'],
  ['mirror.sources', { 'alpine-3.18': true, '17': false }],
  ['oidc.role_map', { '/repo/admins': 'admin' }],
  ['notifications.webhook_url', ''],
  ['notifications.webhook_format', 'teams'],
  ['notifications.webhook_url', 'http://hooks.local:8080/x?y=1'],
  ['retention.audit_days', 1],
  ['retention.keep_versions', { '*': 5, 'alpine-3.21': 0 }],
  ['validation.max_upload_size_mb', 1],
  ['oidc.scopes', 'openid groups'],
]
test.each(accepts)('%s may be %j', (path, value) => {
  expect(faultOf(LEAVES.get(path) as Leaf, value)).toBeNull()
})

describe('refused', () => {
  test.each<[string, unknown]>([
    ['app_url', ''],
    ['app_url', 'localhost:3003'],
    ['app_url', 'ftp://a'],
    ['app_url', 'https://u:p@a.example'],
    ['app_url', 'javascript:alert(1)'],
    ['app_url', 'http:///x'.replace('///x', '//')],
    ['sync.hour', 24],
    ['sync.hour', -1],
    ['sync.hour', 3.5],
    ['sync.hour', '3'],
    ['sync.hour', null],
    ['sync.enabled', 1],
    ['sync.enabled', 'true'],
    ['sync.minute', 60],
    ['sync.timezone', 'Paris'],
    ['sync.timezone', ''],
    ['sync.timezone', '+01:00'],
    ['sync.timezone', 'Europe/Paris\n'],
    ['email.smtp_port', 0],
    ['email.smtp_port', 65536],
    ['email.smtp_host', 'smtp://mail'],
    ['email.smtp_host', 'mail:25'],
    ['email.smtp_host', 'a b'],
    ['ldap.host', 'ldap://h'],
    ['email.from_address', 'gate'],
    ['email.from_address', 'a@b@c'],
    ['email.from_address', 'a@example.org\r\nBcc: x@example.org'],
    ['email.from_address', 'X <a@example.org>, <b@example.org>'],
    ['email.to_addresses', 'a@example.org, b'],
    ['email.to_addresses', 'a@example.org b@example.org'],
    ['ldap.user_filter', ''],
    ['ldap.user_filter', '(uid=*)'],
    ['ldap.user_filter', 'uid={username}'],
    ['ldap.user_filter', '(uid={username}'],
    ['ldap.user_filter', '(uid={username}))'],
    ['ldap.user_filter', '(uid={username})(x=y)'],
    ['ldap.attr_username', ''],
    ['ldap.attr_username', 'a)(b'],
    ['ldap.default_role', 'root'],
    ['ldap.ca_bundle_path', 'ca.pem'],
    ['downloads.nginx_logs', 'access.log'],
    ['downloads.nginx_logs', '/var/log/nginx/'],
    ['downloads.nginx_logs', '/var/log/a.log,,'],
    ['ldap.bind_password', 12],
    ['ldap.bind_password', 'a\nb'],
    ['cve_policy.critical', 'Block'],
    ['cve_policy.critical', null],
    ['cve_policy.sla_high_days', -1],
    ['validation.grype_fail_on', 'worst'],
    ['validation.max_upload_size_mb', 0],
    ['retention.audit_days', 0],
    ['retention.keep_versions', { jammy: -1 }],
    ['retention.keep_versions', { '': 1 }],
    ['backup.retention_count', 0],
    ['mirror.sources', []],
    ['mirror.sources', { fedora: 'yes' }],
    ['oidc.role_map', { x: 'root' }],
    ['oidc.scopes', 'email'],
    ['notifications.webhook_url', 'hooks.local'],
    ['notifications.webhook_format', 'Slack'],
    ['ldap.group_admin', 'x'.repeat(1025)],
  ])('%s: %j', (path, value) => {
    const fault = faultOf(LEAVES.get(path) as Leaf, value)
    expect(fault?.message).toMatch(/^(must|is) /)
  })
})

describe('a list of publishers', () => {
  const publisher = {
    name: 'release',
    issuer: 'https://token.actions.githubusercontent.com',
    audience: 'https://gate.example.org',
    claims: { repository: 'acme/tools' },
    role: 'uploader',
  }
  const fault = (...items: unknown[]) => faultOf(LEAVES.get('trusted_publishing.publishers') as Leaf, items)
  const changed = (more: object) => fault({ ...publisher, name: 'other' }, { ...publisher, ...more })

  test('may be complete', () => {
    const scopes = { distributions: ['noble'], actions: ['upload'] }
    expect(
      fault({ ...publisher, scopes, minutes: 60 }, { ...publisher, name: 'b', issuer: 'http://127.0.0.1:1/x' }),
    ).toBeNull()
  })

  test.each<[object, string, RegExp]>([
    [{ name: undefined }, '[1].name', /./],
    [{ name: 'a b' }, '[1].name', /./],
    [{ issuer: 'gitlab.com' }, '[1].issuer', /begins with http/],
    [{ issuer: 'https://gitlab.com?x=1' }, '[1].issuer', /without query/],
    [{ audience: '' }, '[1].audience', /empty/],
    [{ claims: {} }, '[1].claims', /must have a condition/],
    [{ claims: { sub: 'repo:*' } }, '[1].claims', /owner in sub/],
    [{ claims: { repository: 'acme/x', ref: 7 } }, '[1].claims.ref', /string/],
    [{ claims: { repository: 'acme/x', ref: '' } }, '[1].claims.ref', /./],
    [{ claims: { repository: 'acme/x', 'a b': 'c' } }, '[1].claims.a b', /not a name/],
    [{ role: 'admin' }, '[1].role', /one of maintainer, uploader, auditor, reader/],
    [{ minutes: 61 }, '[1].minutes', /60/],
    [{ scopes: { action: ['upload'] } }, '[1].scopes.action', /not a name/],
    [{ scopes: { actions: ['fly'] } }, '[1].scopes.actions[0]', /one of read/],
    [{ pattern: 'x' }, '[1].pattern', /not a name/],
    [{ name: 'other' }, '', /different names/],
  ])('%j is refused at %s', (more, at, message) => {
    expect(changed(more)).toEqual({ at, message: expect.stringMatching(message) })
  })

  test('names what is missing', () => {
    const { audience: _, ...rest } = publisher
    expect(fault(rest)).toEqual({ at: '[0].audience', message: 'is missing' })
    expect(fault('release')).toMatchObject({ at: '[0]' })
  })
})

test('an invalid choice is refused with the valid ones', () => {
  expect(faultOf(LEAVES.get('cve_policy.unknown') as Leaf, 'deny')?.message).toBe(
    'must be one of block, review, warn, allow',
  )
  expect(faultOf(LEAVES.get('oidc.role_map') as Leaf, { devs: 'boss' })).toEqual({
    at: '.devs',
    message: 'must be one of admin, maintainer, uploader, auditor, reader',
  })
})
