// Every kind of invalid credential.
import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { PASSWORD, ROOT, type Gate } from '../harness.ts'

const DAY = 86_400_000
export const SECRET = 'a-secret-of-the-contract-suite-of-some-length'

/** Advances the clock by 25 hours. @returns `[description, Authorization header]`, with null for no header */
export async function badCredentials(gate: Gate): Promise<[string, string | null][]> {
  const root = await gate.login(ROOT)
  const make = async (name: string, more: object = {}, as = root) => {
    const { body } = await gate.call('POST', '/auth/api-tokens', { as, body: { name, role: 'admin', ...more } })
    return { token: body['token'] as string, id: body['token_id'] as string }
  }
  const user = async (username: string) => {
    await gate.call('POST', '/auth/users', { as: root, body: { username, password: PASSWORD, role: 'admin' } })
    return gate.login(username)
  }
  const expiring = await make('for-a-day', { expires_days: 1 })
  const revoked = await make('revoked')
  await gate.call('DELETE', `/auth/api-tokens/${revoked.id}`, { as: root })
  const leaver = await user('leaver')
  const leaversToken = await make('of-the-leaver', {}, leaver)
  const disabled = await user('disabled-one')
  const disabledToken = await make('of-the-disabled', {}, disabled)
  await gate.call('DELETE', '/auth/users/leaver', { as: root })

  gate.clock.advance(DAY + DAY / 24)
  // The following sessions have not expired.
  const again = await gate.login(ROOT)
  const disabledSession = await gate.login('disabled-one')
  await gate.call('PATCH', '/auth/users/disabled-one', { as: again, body: { active: false } })
  const loggedOut = await gate.login(ROOT)
  await gate.call('POST', '/auth/logout', { as: loggedOut })
  const claims = JSON.parse(Buffer.from(again.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
  const sign = (payload: Record<string, unknown>, secret = SECRET, alg = 'HS256') =>
    new SignJWT(payload).setProtectedHeader({ alg, typ: 'JWT' }).sign(new TextEncoder().encode(secret))
  const unsigned = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${again.split('.')[1]}.`
  const bearer = (text: string) => `Bearer ${text}`
  return [
    ['none', null],
    ['an empty one', ''],
    ['the scheme alone', 'Bearer'],
    ['garbage', bearer('garbage')],
    ['garbage of 20 kB', bearer('g'.repeat(12_000))],
    ['user name and password', `Basic ${Buffer.from(`${ROOT}:${PASSWORD}`).toString('base64')}`],
    ['two credentials', bearer(`${again}, Bearer ${again}`)],
    ['a JWT without a signature', bearer(unsigned)],
    ['a JWT signed with another secret', bearer(await sign(claims, 'x'.repeat(40)))],
    ['a JWT with another algorithm', bearer(await sign(claims, SECRET, 'HS512'))],
    ['a JWT for another purpose', bearer(await sign({ ...claims, typ: 'mfa' }))],
    ['a JWT of another issuer', bearer(await sign({ ...claims, iss: 'somebody' }))],
    ['a JWT of an unknown session', bearer(await sign({ ...claims, jti: 'never' }))],
    ['a JWT with another user name', bearer(await sign({ ...claims, sub: 'disabled-one' }))],
    ['an expired session', bearer(root)],
    ['a session after its logout', bearer(loggedOut)],
    ['a session of a disabled user', bearer(disabledSession)],
    ['a session of a deleted user', bearer(leaver)],
    ['an expired API token', bearer(expiring.token)],
    ['a revoked API token', bearer(revoked.token)],
    ['an API token of a deleted user', bearer(leaversToken.token)],
    ['an API token of a disabled user', bearer(disabledToken.token)],
    ['an unknown API token', bearer(`svc_${randomBytes(32).toString('base64url')}`)],
  ]
}
