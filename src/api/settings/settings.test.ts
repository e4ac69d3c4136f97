import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Value from 'typebox/value'
import type { AuditEvent } from '../../domain/audit.ts'
import { invalidField } from '../../domain/problem.ts'
import { createBus } from '../../kernel/bus.ts'
import { systemClock } from '../../kernel/clock.ts'
import { createSecretBox } from '../../kernel/crypto.ts'
import type { TestResult } from '../../audit/notify/notifier.ts'
import { createSettings } from '../../config/settings/settings.ts'
import type { Route } from '../http/route.ts'
import { policyRoutes } from '../security/policy.ts'
import { settingsRoutes } from './settings.ts'

let directory: string
let events: AuditEvent[]
let routes: Route[]
/** headers of the last answer */
const sent: Record<string, string> = {}
let webhook: (by: string) => Promise<TestResult>

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-api-settings-'))
  events = []
  const fail = (error: unknown) => {
    throw error
  }
  const settings = createSettings({
    inactiveVariables: ['REDIS_URL'],
    path: join(directory, 'settings.json'),
    clock: systemClock,
    bus: createBus(fail),
    mode: 'production',
    secretBox: createSecretBox('k'),
    repoFormat: 'both',
    edition: 'community',
    onError: fail,
  })
  await settings.load()
  webhook = async () => ({ status: 'ok', http_status: 204, message: 'the receiver answered 204' })
  const notifier = {
    testWebhook: (by: string) => webhook(by),
    testMail: async () => ({ status: 'error' as const, message: 'mail.example.org:587 took too long' }),
  }
  const ldap = { test: async () => ({ status: 'error' as const, message: 'ldap.host is not set' }) }
  const deps = {
    settings,
    notifier,
    directory: ldap,
    testOidc: async () => ({ status: 'ok' as const, message: '', checks: [] }),
    nextSync: () => null,
    signing: { keys: {} as never, db: {} as never, tasks: {} as never },
    audit: { record: async (event: AuditEvent) => void events.push(event) },
  }
  routes = [...settingsRoutes(deps), ...policyRoutes(deps)]
})
afterEach(() => rm(directory, { recursive: true }))

/** Calls the handler as the server does and checks the answer against the declared schema. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const found = routes.find((route) => route.method === method && route.path === path) as Route
  const caller = { kind: 'session', name: 'ann', role: 'admin', ownerId: 1, credentialId: 'c', principal: 'user:1' }
  const answer = await found.handle({
    body,
    caller,
    origin: { ip: '192.0.2.7', requestId: 'r-1' },
    params: {},
    query: {},
    raw: { headers },
    reply: { header: (name: string, value: string) => void (sent[name] = value) },
  } as never)
  expect(Value.Errors(found.answer as never, JSON.parse(JSON.stringify(answer)))).toEqual([])
  return answer as Record<string, unknown>
}

test('only administrators reach settings and policy', () => {
  expect(routes.map(({ method, path, access }) => [method, path, access])).toEqual([
    ['GET', '/settings', 'admin'],
    ['PATCH', '/settings', 'admin'],
    ['POST', '/settings/test-webhook', 'admin'],
    ['POST', '/settings/test-email', 'admin'],
    ['POST', '/settings/test-ldap', 'admin'],
    ['POST', '/settings/test-oidc', 'admin'],
    ['GET', '/settings/next-sync', 'admin'],
    ['GET', '/settings/gpg', 'admin'],
    ['POST', '/settings/gpg/generate', 'admin'],
    ['GET', '/security/policy', 'admin'],
    ['PATCH', '/security/policy', 'admin'],
  ])
})

test('GET returns the whole document and its metadata', async () => {
  expect(await call('GET', '/settings')).toMatchObject({
    ldap: { bind_password: '' },
    _meta: { repo_format: 'both', edition: 'community', revision: 0 },
  })
})

test('the audit entry of a change names the keys and no values', async () => {
  const answer = await call('PATCH', '/settings', {
    ldap_bind_password: 'hunter2-secret',
    ldap: { base_dn: 'dc=example' },
  })
  expect(answer).toMatchObject({
    ldap: { bind_password: '***', base_dn: 'dc=example' },
    _meta: { updated_by: 'ann', revision: 1 },
  })
  expect(events).toEqual([
    {
      action: 'SETTINGS_CHANGE',
      result: 'SUCCESS',
      user: 'ann',
      detail: 'changed ldap.bind_password, ldap.base_dn',
      ip: '192.0.2.7',
      requestId: 'r-1',
      extra: { changed: ['ldap.bind_password', 'ldap.base_dn'] },
    },
  ])
})

test('a change of settings that somebody else changed meanwhile is refused, and says who; without If-Match it is not', async () => {
  await call('GET', '/settings')
  const seen = sent['etag'] as string
  await call('PATCH', '/settings', { retention: { audit_days: 121 } }, { 'if-match': seen })
  const mine = { retention: { audit_days: 130 } }
  await expect(call('PATCH', '/settings', mine, { 'if-match': seen })).rejects.toMatchObject({
    code: 'changed_meanwhile',
    extra: { revision: 1, updated_by: 'ann', etag: '"1"' },
  })
  await expect(call('PATCH', '/security/policy', { high: 'block' }, { 'if-match': seen })).rejects.toMatchObject({
    code: 'changed_meanwhile',
  })
  expect(await call('GET', '/settings')).toMatchObject({ retention: { audit_days: 121 } })
  await call('GET', '/security/policy')
  await call('PATCH', '/security/policy', { high: 'block' }, { 'if-match': sent['etag'] as string })
  expect(await call('PATCH', '/settings', mine)).toMatchObject(mine)
  expect(sent['etag']).toBe('"3"')
})

test('a refused change and one that changes nothing write no audit entry', async () => {
  await expect(call('PATCH', '/settings', { sync: { hour: 99 } })).rejects.toMatchObject({ code: 'validation_error' })
  await call('PATCH', '/settings', { sync: { hour: 3 } })
  expect(events).toEqual([])
})

test('/security/policy reads and changes the settings section cve_policy', async () => {
  expect(await call('GET', '/security/policy')).toMatchObject({
    critical: 'block',
    high: 'review',
    unknown: null,
    sla_high_days: 30,
    auto_enrich: true,
  })
  expect(
    await call('PATCH', '/security/policy', {
      high: 'block',
      unknown: 'review',
      sla_medium_days: 60,
      auto_enrich: false,
    }),
  ).toMatchObject({
    critical: 'block',
    high: 'block',
    unknown: 'review',
    sla_medium_days: 60,
    auto_enrich: false,
  })
  expect(events).toMatchObject([
    {
      action: 'SETTINGS_CHANGE',
      extra: {
        changed: ['cve_policy.high', 'cve_policy.unknown', 'cve_policy.sla_medium_days', 'cve_policy.auto_enrich'],
      },
    },
  ])
  expect(((await call('GET', '/settings'))['cve_policy'] as { high: string }).high).toBe('block')
  await expect(call('PATCH', '/security/policy', { severe: 'block' })).rejects.toMatchObject({ code: 'unknown_key' })
  await expect(call('PATCH', '/security/policy', { critical: 'deny' })).rejects.toMatchObject({
    code: 'validation_error',
    extra: { errors: [{ field: 'critical' }] },
  })
})

test('a test of a receiver returns its result and is audited, whether it succeeds or fails', async () => {
  expect(await call('POST', '/settings/test-webhook')).toEqual({
    status: 'ok',
    http_status: 204,
    message: 'the receiver answered 204',
  })
  expect(await call('POST', '/settings/test-email')).toEqual({
    status: 'error',
    message: 'mail.example.org:587 took too long',
  })
  expect(events).toMatchObject([
    {
      action: 'SETTINGS_TEST',
      result: 'SUCCESS',
      user: 'ann',
      detail: 'webhook: the receiver answered 204',
      ip: '192.0.2.7',
      requestId: 'r-1',
    },
    { action: 'SETTINGS_TEST', result: 'FAILURE', detail: 'email: mail.example.org:587 took too long' },
  ])
})

test('a test of a receiver that is not configured names the missing setting', async () => {
  webhook = async () => {
    throw invalidField('notifications.webhook_url', 'is not set')
  }
  await expect(call('POST', '/settings/test-webhook')).rejects.toMatchObject({
    code: 'validation_error',
    extra: { errors: [{ field: 'notifications.webhook_url' }] },
  })
  expect(events).toEqual([])
})
