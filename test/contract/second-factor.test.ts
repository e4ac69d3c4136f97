// security.require_mfa over HTTP: what a session without a second factor may do.
import { Secret, TOTP } from 'otpauth'
import { afterAll, describe, expect, test } from 'vitest'
import { PASSWORD, startGate } from './harness.ts'

const gate = await startGate()
afterAll(() => gate.close())

describe('a second factor that the settings require', () => {
  const rule = (require_mfa: string) =>
    gate.call('PATCH', '/settings/', { as: gate.people.admin.token, body: { security: { require_mfa } } })

  test('leaves a session without one nothing but setting it up, and then everything', async () => {
    await gate.call('POST', '/auth/users', { body: { username: 'frida', password: PASSWORD, role: 'maintainer' } })
    const as = await gate.login('frida')
    const reader = gate.people.reader.session
    const me = async (one: string) => (await gate.call('GET', '/auth/me', { as: one })).body['mfa_enrolment_required']
    expect([await me(as), await me(reader)]).toEqual([false, false])
    expect((await rule('maintainers')).status).toBe(200)
    try {
      expect([await me(as), await me(reader), await me(gate.people.maintainer.token)]).toEqual([true, false, false])
      for (const [method, path] of [
        ['GET', '/artifacts/'],
        ['GET', '/dashboard/events'],
        ['POST', '/auth/change-password'],
        ['DELETE', '/artifacts/any'],
      ] as const)
        expect(await gate.call(method, path, { as, ...(method === 'POST' ? { body: {} } : {}) })).toMatchObject({
          status: 403,
          body: { code: 'mfa_required' },
        })
      // A new login does not bypass it, and a token needs no factor.
      expect(await me(await gate.login('frida'))).toBe(true)
      expect((await gate.call('GET', '/artifacts/', { as: gate.people.maintainer.token })).status).toBe(200)
      expect((await gate.call('GET', '/artifacts/', { as: reader })).status).toBe(200)

      const { body } = await gate.call<{ secret: string }>('POST', '/auth/mfa/setup', { as })
      const code = new TOTP({ secret: Secret.fromBase32(body.secret) }).generate({
        timestamp: gate.clock.now().getTime(),
      })
      expect((await gate.call('POST', '/auth/mfa/confirm', { as, body: { totp_code: code } })).status).toBe(200)
      expect(await me(as)).toBe(false)
      expect((await gate.call('GET', '/artifacts/', { as })).status).toBe(200)
      expect((await rule('everybody')).status).toBe(200)
      expect(await me(reader)).toBe(true)
    } finally {
      await rule('nobody')
    }
  })
})
