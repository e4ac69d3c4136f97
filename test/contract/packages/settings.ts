// /settings/ and /security/policy: round trips over HTTP.
import { expect, test } from 'vitest'
import { SettingsSchema } from '../../../src/domain/settings.ts'
import type { Gate } from '../harness.ts'
import { lastAudited } from './seen.ts'

interface Document {
  cve_policy: Record<string, unknown>
  ldap: Record<string, unknown>
  _meta: { revision: number; updated_by: string | null }
}

export function settingsContract(gate: Gate): void {
  const read = async () => (await gate.call<Document>('GET', '/settings/')).body
  const patch = (body: unknown) => gate.call<Document>('PATCH', '/settings/', { body })

  test('the whole document, with masked secrets, can be written back without a change', async () => {
    const document = await read()
    expect(Object.keys(document)).toEqual([...Object.keys(SettingsSchema.properties), '_meta'])
    const { _meta, ...rest } = document
    expect(Object.keys(_meta).sort()).toEqual([
      'edition',
      'inactive',
      'repo_format',
      'revision',
      'updated_at',
      'updated_by',
    ])
    const { status, body } = await patch(rest)
    expect([status, body]).toEqual([200, document])
  })

  test('a change is merged, increases the revision and is audited with its keys', async () => {
    const before = await read()
    const { body } = await patch({
      ldap: { bind_password: 'a-very-secret-word' },
      ldap_url: 'ldaps://directory.example.org:1636',
    })
    expect(body.ldap).toMatchObject({
      bind_password: '***',
      host: 'directory.example.org',
      port: 1636,
      use_ssl: true,
      base_dn: '',
    })
    expect(body._meta).toMatchObject({ revision: before._meta.revision + 1, updated_by: 'admin-person' })
    expect(await read()).toEqual(body)
    const entry = await lastAudited(gate, { action: 'SETTINGS_CHANGE' })
    expect(entry).toMatchObject({ user: 'admin-person', detail: expect.stringContaining('ldap.host') })
    expect(JSON.stringify(entry)).not.toContain('a-very-secret-word')
    expect((await patch({ ldap: { bind_password: '***' } })).body._meta.revision).toBe(before._meta.revision + 1)
    expect(
      (await patch({ ldap: { bind_password: null, host: '', port: 389, use_ssl: false } })).body.ldap,
    ).toMatchObject({ bind_password: '' })
  })

  test.each([
    ['an unknown section', { nonsense: 1 }, 'unknown_key', undefined],
    ['an unknown key', { sync: { nonsense: 1 } }, 'unknown_key', undefined],
    ['a key of Object.prototype', { constructor: {} }, 'unknown_key', undefined],
    ['a wrong type', { sync: { hour: '3' } }, 'validation_error', 'sync.hour'],
    ['a value out of range', { sync: { hour: 24 } }, 'validation_error', 'sync.hour'],
    ['a fraction', { sync: { hour: 3.5 } }, 'validation_error', 'sync.hour'],
    ['an unknown action', { cve_policy: { high: 'ignore' } }, 'validation_error', 'cve_policy.high'],
    ['no address', { app_url: 'javascript:alert(1)' }, 'validation_error', 'app_url'],
    [
      'a line break',
      { email: { from_address: 'a@example.org\nBcc: b@example.org' } },
      'validation_error',
      'email.from_address',
    ],
    [
      'a flat and a nested key that differ',
      { ldap_base_dn: 'a', ldap: { base_dn: 'b' } },
      'validation_error',
      'ldap.base_dn',
    ],
    ['a section that is not an object', { sync: true }, 'validation_error', 'sync'],
  ])('%s is refused, and no key of the body is applied', async (_, body, code, field) => {
    const before = await read()
    const reply = await patch({ retention: { audit_days: 123 }, ...body })
    expect([reply.status, reply.body]).toMatchObject([
      400,
      { code, ...(field === undefined ? {} : { errors: [{ field }] }) },
    ])
    expect(await read()).toEqual(before)
  })

  test('the next sync is named, and none while the job is switched off', async () => {
    const next = async () => (await gate.call('GET', '/settings/next-sync')).body
    expect(await next()).toEqual({ next_run: expect.stringMatching(/\+00:00$/), status: 'scheduled' })
    await patch({ sync: { enabled: false } })
    expect(await next()).toEqual({ next_run: null, status: 'disabled' })
    await patch({ sync: { enabled: true } })
  })

  test('the policy reads and writes the settings section cve_policy', async () => {
    const { body } = await gate.call('GET', '/security/policy')
    expect(body).toEqual((await read()).cve_policy)
    const changed = await gate.call('PATCH', '/security/policy', {
      body: { high: 'block', unknown: 'review', sla_high_days: 14, auto_enrich: false },
    })
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...body, high: 'block', unknown: 'review', sla_high_days: 14, auto_enrich: false },
    ])
    expect((await read()).cve_policy).toEqual(changed.body)
    expect(await lastAudited(gate, { action: 'SETTINGS_CHANGE' })).toMatchObject({
      detail: expect.stringContaining('cve_policy.high'),
    })
    expect(await gate.call('PATCH', '/security/policy', { body: { catastrophic: 'block' } })).toMatchObject({
      status: 400,
      body: { code: 'unknown_key' },
    })
    expect(await gate.call('PATCH', '/security/policy', { body: { high: null } })).toMatchObject({
      status: 400,
      body: { code: 'validation_error' },
    })
    expect((await gate.call('PATCH', '/security/policy', { body })).body).toEqual(body)
  })
}
