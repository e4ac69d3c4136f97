// Signing in and out, profiles, and the configuration file.
import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { describe, expect, test } from 'vitest'
import { ADMIN } from '../service.ts'
import { CONFIG } from './gatehouse.ts'
import type { Stage } from './stage.ts'

export function accountCases(stage: Stage): void {
  describe('signing in', () => {
    const tokenOf = async (role: string) => {
      const { body } = await stage.service.call('POST', '/auth/api-tokens', { name: `${role}-${Math.random()}`, role })
      stage.secrets.push(body.token)
      return body.token as string
    }

    test('a person is asked for everything, and the file can be read by nobody else', async () => {
      const home = await stage.stranger()
      const answers = [
        ['address of the service', stage.service.api],
        ['user name', ADMIN.username],
        ['password', ADMIN.password],
        ['[y/N]', 'y'],
      ] as const
      const login = await home.onTerminal(['login'], answers)
      expect([login.code, login.out]).toEqual([0, expect.stringContaining('as admin (admin)')])
      // Escape sequences place the cursor.
      const shown = login.out.replace(/\u001b\[\d*[A-Z]/g, '')
      expect(shown).toMatch(/user name: admin\s+password: \s+store the credential/)
      expect(((await stat(join(home.path, CONFIG))).mode & 0o777).toString(8)).toBe('600')
      const { profiles } = JSON.parse(await readFile(join(home.path, CONFIG), 'utf8'))
      stage.secrets.push(profiles.default.token)
      expect((await home.run(['whoami'])).out).toContain('admin (admin)')
      expect((await home.run(['logout'])).code).toBe(0)
      expect((await home.run(['whoami'])).code).toBe(2)
      const session = await stage.service.call('GET', '/auth/me', undefined, {
        authorization: `Bearer ${profiles.default.token}`,
      })
      expect(session.status).toBe(401)
    })

    test('a second factor is asked for', async () => {
      const user = { username: 'second-factor', password: 'Second-factor-1', role: 'reader' }
      stage.secrets.push(user.password)
      await stage.service.call('POST', '/auth/users', user)
      const session = (await stage.service.call('POST', '/auth/token', user, { authorization: '' })).body.access_token
      const headers = { authorization: `Bearer ${session}` }
      const { body } = await stage.service.call('POST', '/auth/mfa/setup', {}, headers)
      const code = new TOTP({ secret: Secret.fromBase32(body.secret) }).generate()
      const confirmed = await stage.service.call('POST', '/auth/mfa/confirm', { totp_code: code }, headers)
      const [recovery] = confirmed.body.recovery_codes
      const home = await stage.stranger()
      const login = await home.onTerminal(
        ['login', '--url', stage.service.api, '--username', user.username, '--plain-text'],
        [
          ['password', user.password],
          ['code of your', recovery],
        ],
      )
      expect([login.code, login.out]).toEqual([0, expect.stringContaining('second-factor (reader)')])
    })

    test('with --device a person approves it in a session elsewhere, or refuses', async () => {
      const { body } = await stage.service.call('POST', '/auth/token', ADMIN, { authorization: '' })
      const headers = { authorization: `Bearer ${body.access_token}` }
      const line = ['login', '--url', stage.service.api, '--device', '--plain-text', '--quiet']
      const begin = async () => {
        const home = await stage.stranger()
        const { ended, seen } = home.start(line)
        await expect.poll(() => seen.err).toMatch(/enter the code \w{4}-\w{4}/)
        const [code = ''] = /\w{4}-\w{4}$/m.exec(seen.err) ?? []
        return { home, ended, code }
      }
      const answer = async (code: string, approve: boolean) =>
        (await stage.service.call('POST', `/auth/device/${code}`, { approve }, headers)).status
      const [good, bad] = [await begin(), await begin()]
      expect((await stage.service.call('GET', `/auth/device/${good.code}`, undefined, headers)).body.client).toMatch(
        /^gatehouse on /,
      )
      expect([await answer(good.code, true), await answer(bad.code, false)]).toEqual([200, 200])
      const { code, out } = await good.ended
      expect([code, out]).toEqual([0, expect.stringContaining('as admin (admin)')])
      expect((await good.home.run(['whoami'])).out).toContain('admin (admin)')
      const refused = await bad.ended
      expect([refused.code, refused.err]).toEqual([4, expect.stringContaining('[access_denied]')])
    })

    test('a token comes from standard input or from a command, and never from a flag', async () => {
      const token = await tokenOf('reader')
      const home = await stage.stranger()
      const login = ['login', '--url', `${stage.service.api}/api/v1/`]
      expect((await home.run([...login, '--token', token].slice(0, 4))).code).toBe(2)
      const unasked = await home.run([...login, '--with-token'], { input: `${token}\n` })
      expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining('--plain-text')])
      expect((await home.run([...login, '--with-token', '--plain-text'], { input: `${token}\n` })).code).toBe(0)
      expect((await home.run(['whoami'])).code).toBe(0)
      const other = await stage.stranger({ SECRET_OF_A_MANAGER: token })
      expect((await other.run([...login, '--token-command', 'echo $SECRET_OF_A_MANAGER'])).code).toBe(0)
      expect(await readFile(join(other.path, CONFIG), 'utf8')).not.toContain(token)
      expect((await other.run(['whoami'])).code).toBe(0)
      const noFile = await other.run([...login, '--token-command', 'echo $SECRET_OF_A_MANAGER'], {
        env: { XDG_CONFIG_HOME: '/dev/null' },
      })
      expect([noFile.code, noFile.err]).toEqual([1, expect.stringContaining('cannot be changed')])
      expect((await home.run([...login, '--with-token', '--plain-text'], { input: 'svc_wrongwrongwrong' })).code).toBe(
        4,
      )
      expect((await home.run(login)).code).toBe(2)
    })

    test('a file that others can read is refused, and its credential is not used', async () => {
      const home = await stage.stranger()
      const input = await tokenOf('reader')
      await home.run(['login', '--url', stage.service.api, '--with-token', '--plain-text'], { input })
      await chmod(join(home.path, CONFIG), 0o640)
      const refused = await home.run(['whoami'])
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('chmod 600')])
    })

    test('a credential goes to the service it was given for, and to no other', async () => {
      const home = await stage.stranger()
      const input = await tokenOf('reader')
      await home.run(['login', '--url', stage.service.api, '--with-token', '--plain-text'], { input })
      const elsewhere = stage.service.api.replace('127.0.0.1', 'localhost')
      expect((await home.run(['whoami', '--url', elsewhere])).code).toBe(4)
      expect((await home.run(['whoami'], { env: { GATEHOUSE_URL: elsewhere } })).code).toBe(4)
      expect((await home.run(['whoami', '--url', `${stage.service.api}/`])).code).toBe(0)
      const second = await tokenOf('auditor')
      const login = ['login', '--url', elsewhere, '--with-token', '--plain-text']
      expect((await home.run(login, { input: second })).out).toContain('profile localhost')
      expect((await home.run(['whoami', '--profile', 'default'])).out).toContain('(reader)')
      expect((await home.run(['whoami'], { env: { GATEHOUSE_PROFILE: 'default' } })).out).toContain('(reader)')
      expect((await home.run(['whoami'])).out).toContain('(auditor)')
    })
  })
}
