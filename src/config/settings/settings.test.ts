import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBus } from '../../kernel/bus.ts'
import { createSecretBox } from '../../kernel/crypto.ts'
import { parseStored } from './stored.ts'
import { createSettings, type SettingsStore } from './settings.ts'

let directory: string
let path: string
let changes: string[][]
const clock = { now: () => new Date('2026-03-01T12:00:00Z') }

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-settings-'))
  path = join(directory, 'settings.json')
  changes = []
})
afterEach(() => rm(directory, { recursive: true }))

function fail(error: unknown): never {
  throw error
}

function replica(): SettingsStore {
  const bus = createBus(fail)
  bus.on('settings', ({ changed }) => changes.push(changed))
  return createSettings({
    inactiveVariables: ['REDIS_URL'],
    path,
    clock,
    bus,
    mode: 'production',
    secretBox: createSecretBox('one passphrase'),
    repoFormat: 'all',
    edition: 'enterprise',
    onError: fail,
  })
}

async function loaded(): Promise<SettingsStore> {
  const settings = replica()
  await settings.load()
  return settings
}

test('the first start creates the file, readable for its owner only, with the defaults', async () => {
  const settings = await loaded()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(settings.masked()).toMatchObject({
    sync: { hour: 3 },
    _meta: {
      repo_format: 'all',
      edition: 'enterprise',
      updated_at: null,
      updated_by: null,
      revision: 0,
      inactive: expect.any(Array),
    },
  })
  expect(Object.isFrozen(settings.current()) && Object.isFrozen(settings.current().oidc.role_map)).toBe(true)
})

test('the settings cannot be read before the file was loaded', () => {
  expect(() => replica().current()).toThrow('not loaded')
})

test('a change is merged, announced, kept across a restart and counted once', async () => {
  const settings = await loaded()
  const { document, changedKeys } = await settings.patch(
    { sync: { hour: 5 }, cve_policy: { low: 'warn', high: 'review' } },
    'ann',
  )
  expect(changedKeys).toEqual(['sync.hour', 'cve_policy.low'])
  expect(document).toMatchObject({
    sync: { hour: 5, minute: 0, enabled: true },
    _meta: { revision: 1, updated_by: 'ann', updated_at: '2026-03-01T12:00:00.000+00:00' },
  })
  expect(changes).toEqual([['sync.hour', 'cve_policy.low']])
  expect(settings.current().sync.hour).toBe(5)
  expect((await loaded()).masked()).toEqual(document)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(directory)).toEqual(['settings.json'])
})

test('parallel changes are applied in the order of the calls', async () => {
  const settings = await loaded()
  const hours = Array.from({ length: 12 }, (_, at) => at + 8)
  const answers = await Promise.all(hours.map((hour) => settings.patch({ sync: { hour } }, 'ann')))
  expect(answers.map(({ document }) => [document.sync.hour, document._meta.revision])).toEqual(
    hours.map((hour, at) => [hour, at + 1]),
  )
})

test('a patch that changes nothing leaves revision and file alone', async () => {
  const settings = await loaded()
  await settings.patch({ sync: { hour: 5 } }, 'ann')
  const before = await readFile(path, 'utf8')
  for (const body of [
    {},
    { sync: {} },
    { sync: { hour: 5 }, app_url: 'http://localhost:3003' },
    { ldap: { bind_password: '***' } },
    { email: { smtp_password: null } },
  ]) {
    const { document, changedKeys } = await settings.patch(body, 'bob')
    expect(changedKeys).toEqual([])
    expect(document._meta).toMatchObject({ revision: 1, updated_by: 'ann' })
  }
  expect(await readFile(path, 'utf8')).toBe(before)
  expect(changes).toHaveLength(1)
})

test('the whole document may be sent back as it was answered', async () => {
  const settings = await loaded()
  await settings.patch({ ldap: { bind_password: 'hunter2' }, mirror: { sources: { fedora: true } } }, 'ann')
  expect((await settings.patch(settings.masked(), 'ann')).changedKeys).toEqual([])
  expect(settings.current().ldap.bind_password).toBe('hunter2')
})

test('a secret is sealed in the file, masked in the document, kept by *** and cleared by null or empty text', async () => {
  const settings = await loaded()
  for (const clear of [null, '']) {
    const { document } = await settings.patch(
      { email: { smtp_password: 's3cr3t-value' }, oidc: { client_secret: 'other-value' } },
      'ann',
    )
    expect(document.email.smtp_password).toBe('***')
    expect(document.ldap.bind_password).toBe('')
    expect(JSON.stringify(document)).not.toContain('s3cr3t-value')
    const text = await readFile(path, 'utf8')
    expect(text).not.toContain('s3cr3t-value')
    expect(text).toContain('sealed:v1:')
    await settings.patch({ email: { smtp_password: '***', smtp_user: `u${clear}` } }, 'ann')
    expect(settings.current().email.smtp_password).toBe('s3cr3t-value')
    expect((await settings.patch({ email: { smtp_password: clear } }, 'ann')).document.email.smtp_password).toBe('')
    expect(settings.current().oidc.client_secret).toBe('other-value')
  }
})

test('all faults are reported and nothing is applied', async () => {
  const settings = await loaded()
  const body = {
    sync: { hour: 5, minute: 75 },
    cve_policy: { critical: 'explode' },
    ldap: 'off',
    email: { smtp_password: 7 },
  }
  await expect(settings.patch(body, 'ann')).rejects.toMatchObject({
    code: 'validation_error',
    extra: {
      errors: expect.arrayContaining([
        { field: 'ldap', message: 'must be an object' },
        { field: 'sync.minute', message: 'must be <= 59' },
        { field: 'cve_policy.critical', message: 'must be one of block, review, warn, allow' },
        { field: 'email.smtp_password', message: 'must be string' },
      ]),
    },
  })
  expect(settings.current().sync.hour).toBe(3)
  expect(settings.masked()._meta.revision).toBe(0)
})

test.each([null, 'text', 7, [], [{ sync: {} }], undefined])('the body %j is refused', async (body) => {
  await expect((await loaded()).patch(body, 'ann')).rejects.toMatchObject({ code: 'validation_error' })
})

test.each<[unknown, string]>([
  [{ colour: 'red' }, 'colour'],
  [{ sync: { hours: 5 } }, 'sync.hours'],
  [{ sync_hours: 5 }, 'sync_hours'],
  [{ 'sync.hour': 5 }, 'sync.hour'],
  [{ sources: { gentoo: true } }, 'sources.gentoo'],
  [{ mirror: { sources: { gentoo: true } } }, 'mirror.sources.gentoo'],
  [{ mirror: { sources: { '0': true } } }, 'mirror.sources.0'],
  [JSON.parse('{"__proto__": {"x": 1}}'), '__proto__'],
  [{ constructor: {} }, 'constructor'],
  [{ ldap: { toString: 1 } }, 'ldap.toString'],
])('%j is an unknown key, and nothing is applied', async (body, field) => {
  const settings = await loaded()
  await expect(settings.patch({ ...(body as object), app_url: 'http://x.example' }, 'ann')).rejects.toMatchObject({
    code: 'unknown_key',
    extra: { errors: [{ field, message: 'is not a setting' }] },
  })
  expect(settings.current().app_url).toBe('http://localhost:3003')
})

test.each<[Record<string, unknown>, Record<string, unknown>]>([
  [{ ldap_url: 'ldap://dir.example:3389' }, { ldap: { host: 'dir.example', port: 3389, use_ssl: false } }],
  [{ ldap_url: 'ldap://dir.example' }, { ldap: { host: 'dir.example', port: 389, use_ssl: false } }],
  [{ ldap_url: 'ldaps://dir.example/' }, { ldap: { host: 'dir.example', port: 636, use_ssl: true } }],
  [{ ldap_url: 'ldaps://[fd00::1]:1636' }, { ldap: { host: 'fd00::1', port: 1636, use_ssl: true } }],
  [
    { ldap_url: 'ldap://dir.example', ldap_bind_dn: 'cn=svc', ldap_bind_password: 'pw', ldap_base_dn: 'dc=x' },
    { ldap: { bind_dn: 'cn=svc', bind_password: '***', base_dn: 'dc=x' } },
  ],
  [
    { cve_policy_sla_high_days: 10, validation_max_upload_size_mb: 9 },
    { cve_policy: { sla_high_days: 10 }, validation: { max_upload_size_mb: 9 } },
  ],
  [
    { 'sources_alpine-3.18': false, mirror_sources: { '12': true } },
    { sources: { 'alpine-3.18': false }, mirror: { sources: { '12': true } } },
  ],
  [{ ldap_host: 'a.example', ldap: { host: 'a.example' } }, { ldap: { host: 'a.example' } }],
])('the flat keys %j mean %j', async (flat, nested) => {
  expect((await (await loaded()).patch(flat, 'ann')).document).toMatchObject(nested)
})

test.each<[Record<string, unknown>, string]>([
  [{ ldap_host: 'a.example', ldap: { host: 'b.example' } }, 'ldap.host'],
  [{ ldap_url: 'ldap://a.example', ldap_port: 1389 }, 'ldap_port'],
  [{ ldap: { use_ssl: false }, ldap_url: 'ldaps://a.example' }, 'ldap_url'],
  [{ ldap_url: 'http://a.example' }, 'ldap_url'],
  [{ ldap_url: 'ldap://a.example:99999' }, 'ldap_url'],
  [{ ldap_url: 'ldap://u@a.example' }, 'ldap_url'],
  [{ sync_hour: 99 }, 'sync_hour'],
])('%j is refused at %s', async (body, field) => {
  await expect((await loaded()).patch(body, 'ann')).rejects.toMatchObject({
    code: 'validation_error',
    extra: { errors: [expect.objectContaining({ field })] },
  })
})

test.each([
  ['email', 'smtp_password', 'smtp_host', 'mail.example', 'evil.example'],
  ['ldap', 'bind_password', 'host', 'dir.example', 'evil.example'],
  ['oidc', 'client_secret', 'discovery_url', 'https://idp.example', 'https://evil.example'],
])('the secret %s.%s goes to no other host than it was sent for', async (section, secret, host, first, other) => {
  const settings = await loaded()
  const patch = (values: Record<string, string>) => settings.patch({ [section]: values }, 'ann')
  await patch({ [host]: first, [secret]: 'hunter2' })
  const before = settings.current()
  for (const moved of [{ [host]: other }, { [host]: other, [secret]: '***' }]) {
    await expect(patch(moved)).rejects.toMatchObject({
      code: 'validation_error',
      extra: { errors: [{ field: `${section}.${secret}`, message: expect.stringContaining('must be sent again') }] },
    })
    expect(settings.current()).toEqual(before)
  }
  // The same host, a new secret for the new one, none, and then any host.
  await patch({ [host]: first, [secret]: '***' })
  await patch({ [host]: other, [secret]: 'hunter3' })
  await patch({ [host]: first, [secret]: '' })
  await patch({ [host]: other })
})

test('an address of LDAP moves no password either', async () => {
  const settings = await loaded()
  await settings.patch({ ldap_url: 'ldaps://dir.example', ldap_bind_password: 'hunter2' }, 'ann')
  await settings.patch({ ldap_url: 'ldap://dir.example:3389' }, 'ann')
  await expect(settings.patch({ ldap_url: 'ldaps://evil.example' }, 'ann')).rejects.toMatchObject({
    code: 'validation_error',
  })
})

test('entries of a map are added, changed and removed one by one', async () => {
  const settings = await loaded()
  await settings.patch({ oidc: { role_map: { devs: 'uploader', ops: 'maintainer' } } }, 'ann')
  const { changedKeys } = await settings.patch({ oidc: { role_map: { ops: 'admin', devs: null, gone: null } } }, 'ann')
  expect(changedKeys).toEqual(['oidc.role_map'])
  expect(settings.current().oidc.role_map).toEqual({ ops: 'admin' })
})

test('a list is replaced as a whole, and its faults name the place', async () => {
  const settings = await loaded()
  const publisher = {
    name: 'release',
    issuer: 'https://gitlab.com',
    audience: 'gate',
    claims: { project_path: 'acme/*' },
    role: 'uploader',
  }
  await settings.patch({ trusted_publishing: { publishers: [publisher, { ...publisher, name: 'second' }] } }, 'ann')
  await settings.patch({ trusted_publishing_publishers: [{ ...publisher, minutes: 5 }] }, 'ann')
  expect((await loaded()).current().trusted_publishing.publishers).toEqual([{ ...publisher, minutes: 5 }])
  await expect(
    settings.patch({ trusted_publishing: { publishers: [{ ...publisher, claims: { ref: 'x' } }] } }, 'ann'),
  ).rejects.toMatchObject({
    code: 'validation_error',
    extra: { errors: [{ field: 'trusted_publishing.publishers[0].claims' }] },
  })
})

test('a publisher of an older build whose conditions name no owner gives no tokens, and the service starts', () => {
  const publisher = { name: 'good', issuer: 'https://gitlab.com', audience: 'gate', role: 'uploader' }
  const stored = parseStored(
    JSON.stringify({
      trusted_publishing: {
        publishers: [
          { ...publisher, claims: { sub: 'repo:acme/*' } },
          { ...publisher, name: 'wide', claims: { sub: 'environment:production:*' } },
        ],
      },
    }),
    createSecretBox('a key of a test'),
  )
  const kept = stored.set.get('trusted_publishing.publishers') as { name: string }[]
  expect(kept.map(({ name }) => name)).toEqual(['good'])
  expect(stored.warnings).toEqual([expect.stringContaining('wide')])
})

test('a section alone is changed with its own names for fields', async () => {
  const settings = await loaded()
  expect(
    (await settings.patchSection('cve_policy', { unknown: 'review', sla_high_days: 14 }, 'ann')).document.cve_policy,
  ).toMatchObject({ unknown: 'review', sla_high_days: 14 })
  expect((await settings.patchSection('cve_policy', { unknown: null }, 'ann')).document.cve_policy.unknown).toBeNull()
  await expect(settings.patchSection('cve_policy', { high: 'stop' }, 'ann')).rejects.toMatchObject({
    extra: { errors: [{ field: 'high' }] },
  })
  await expect(settings.patchSection('cve_policy', { hour: 1 }, 'ann')).rejects.toMatchObject({
    code: 'unknown_key',
    extra: { errors: [{ field: 'hour' }] },
  })
})

test('settings and variables without effect are named, those that act are not', async () => {
  const { inactive } = (await loaded()).masked()._meta
  expect(inactive).toEqual(expect.arrayContaining(['REDIS_URL', 'validation.grype_fail_on']))
  for (const acting of [
    'sync.enabled',
    'sync.timezone',
    'sources.debian-bookworm',
    'app_url',
    'validation.clamav_scan',
    'email.enabled',
    'ldap.host',
    'oidc.role_map',
    'cve_policy.critical',
  ])
    expect(inactive).not.toContain(acting)
})
