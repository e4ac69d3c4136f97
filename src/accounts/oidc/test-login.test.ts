// The test of the provider that the settings name, against the provider library oidc-provider and an issuer with faults.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import {
  CLIENT,
  REDIRECT,
  startIdentityProvider,
  type IdentityProvider,
} from '../../../test/fakes/identity-provider.ts'
import { startIssuer, type Issuer } from '../../../test/fakes/issuer.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Database } from '../../store/db.ts'
import { createAccounts, DEFAULTS } from '../fixture.ts'

let database: Database
let idp: IdentityProvider
let issuer: Issuer
beforeAll(async () => {
  database = await createTestDatabase()
  idp = await startIdentityProvider()
  issuer = await startIssuer()
})
afterAll(async () => {
  await idp.close()
  await issuer.close()
  await database.close()
})

async function tried(oidc: Partial<Settings['oidc']>, { app_url = DEFAULTS.app_url, privateProviders = true } = {}) {
  const settings: Settings = {
    ...{ ...DEFAULTS, app_url },
    oidc: { ...DEFAULTS.oidc, discovery_url: idp.url, client_id: CLIENT.id, client_secret: CLIENT.secret, ...oidc },
  }
  const at = await createAccounts(database.db, { settings, privateProviders })
  const { status, checks } = await at.testOidc()
  await at.close()
  return { status, checks, wrong: checks.filter(({ ok }) => !ok) }
}

test('a provider that knows this client and its redirect passes, while the sign-in is still switched off', async () => {
  const { status, checks } = await tried({ enabled: false })
  expect(status).toBe('ok')
  expect(checks.map(({ name, ok }) => [name, ok])).toEqual([
    ['redirect_uri', true],
    ['discovery', true],
    ['keys', true],
    ['client', true],
  ])
  expect(checks[0]?.detail).toContain(`register exactly ${REDIRECT}`)
})

test.each<[what: string, oidc: () => Partial<Settings['oidc']>, more: object, names: string[], detail: RegExp]>([
  [
    'no provider',
    () => ({ discovery_url: '', client_id: '' }),
    {},
    ['settings'],
    /oidc\.discovery_url and oidc\.client_id/,
  ],
  ['an unknown client', () => ({ client_id: 'nobody' }), {}, ['client'], /does it know the client nobody/],
  [
    'a redirect that is not registered',
    () => ({}),
    { app_url: 'https://gate.example.org' },
    ['client'],
    /exactly https:\/\/gate\.example\.org\/oidc-callback registered/,
  ],
  ['a redirect to elsewhere', () => ({ redirect_uri: `${REDIRECT}/x` }), {}, ['redirect_uri', 'client'], /waits at/],
  [
    'an address without TLS',
    () => ({}),
    { app_url: 'http://gate.example.org' },
    ['redirect_uri', 'client'],
    /not https/,
  ],
  ['a provider at a private address', () => ({}), { privateProviders: false }, ['discovery'], /127\.0\.0\.1/],
])('%s is said in words', async (_, oidc, more, names, detail) => {
  const { status, wrong } = await tried(oidc(), more)
  expect([status, wrong.map(({ name }) => name)]).toEqual(['error', names])
  expect(wrong[0]?.detail).toMatch(detail)
})

test('keys that cannot be read, and a document without an address', async () => {
  const at = { discovery_url: issuer.url }
  issuer.keysStatus = 500
  expect((await tried(at)).wrong).toMatchObject([{ name: 'keys', detail: expect.stringContaining('500') }])
  issuer.keysStatus = 200
  issuer.document = { jwks_uri: undefined }
  expect((await tried(at)).wrong).toMatchObject([{ name: 'discovery', detail: expect.stringContaining('no jwks_uri') }])
})
