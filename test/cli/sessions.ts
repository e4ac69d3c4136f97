// Renewal of sessions: in time, by one of several commands, and not when the service refuses.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFIG, type Home } from './gatehouse.ts'
import { startCuttingProxy, type CuttingProxy } from './proxy.ts'
import { deb, signIn, type Stage } from './stage.ts'

interface Stored {
  token: string
  session: { expires_at: string; life_seconds: number }
}

export async function storedBy(home: Home): Promise<Stored> {
  return JSON.parse(await readFile(join(home.path, CONFIG), 'utf8')).profiles.default as Stored
}

/** Changes the file as if this many seconds were left: only the file tells the command the age of the session. */
async function age(home: Home, leftSeconds: number): Promise<void> {
  const config = JSON.parse(await readFile(join(home.path, CONFIG), 'utf8'))
  config.profiles.default.session.expires_at = new Date(Date.now() + leftSeconds * 1000).toISOString()
  await writeFile(join(home.path, CONFIG), JSON.stringify(config))
}

/** Whether the service still accepts the token. */
export async function isGood(stage: Stage, token: string): Promise<boolean> {
  const { status } = await stage.service.call('GET', '/auth/me', undefined, { authorization: `Bearer ${token}` })
  return status === 200
}

const isRefresh = (head: string) => head.startsWith('POST /api/v1/auth/refresh ')

export function sessionCases(stage: Stage): void {
  // One login for all cases, because the service allows ten a minute.
  describe('a session', () => {
    let proxy: CuttingProxy
    let home: Home
    beforeAll(async () => {
      proxy = await startCuttingProxy(stage.service.api)
      home = await signIn(stage, proxy.url)
    })
    afterAll(() => proxy.close())

    test.each([
      ['that nears its end', 10],
      ['that has ended by the clock of this machine, and not by that of the service', -3600],
    ])('%s is renewed, and the command goes on', async (_, leftSeconds) => {
      const before = await storedBy(home)
      await age(home, leftSeconds)
      const ran = await home.run(['whoami'])
      expect([ran.code, ran.err]).toEqual([0, ''])
      const after = await storedBy(home)
      expect(after.token).not.toBe(before.token)
      expect(Date.parse(after.session.expires_at)).toBeGreaterThan(Date.now() + 30_000)
      expect(await isGood(stage, before.token)).toBe(false)
      expect((await home.run(['whoami'])).code).toBe(0)
    })

    test('is renewed once by several commands at once, and all go on', async () => {
      const before = proxy.requests.filter(isRefresh).length
      await age(home, 10)
      const ran = await Promise.all(Array.from({ length: 5 }, () => home.run(['whoami'])))
      expect(ran.map(({ code, err }) => [code, err])).toEqual(Array.from({ length: 5 }, () => [0, '']))
      expect(proxy.requests.filter(isRefresh)).toHaveLength(before + 1)
      expect(await isGood(stage, (await storedBy(home)).token)).toBe(true)
    })

    test('that another command renews while a request is under way: the request is sent again', async () => {
      const slow = proxy.holdNext()
      const { ended } = home.start(['whoami'])
      await slow.held
      await age(home, 10)
      expect((await home.run(['whoami'])).code).toBe(0)
      const asked = proxy.requests.length
      slow.release()
      const { code, err } = await ended
      expect([code, err]).toEqual([0, ''])
      expect(proxy.requests).toHaveLength(asked + 1)
    })

    test('that cannot be renewed now is used as long as it lasts', async () => {
      const { token } = await storedBy(home)
      await age(home, 10)
      proxy.refuse = /^POST \S+\/auth\/refresh /
      expect((await home.run(['whoami'])).code).toBe(0)
      proxy.refuse = null
      expect((await storedBy(home)).token).toBe(token)
    })

    test.each([
      ['near its end', 10, /sign in with `gatehouse login`/],
      ['after its end', -1, /the session at http\S+ has ended: run `gatehouse login`/],
    ])('that the service ended is not renewed, %s: exit 4, and what to do', async (_, leftSeconds, sentence) => {
      const { token } = await storedBy(home)
      await stage.service.call('POST', '/auth/logout', {}, { authorization: `Bearer ${token}` })
      await age(home, leftSeconds)
      const whoami = await home.run(['whoami', '--json'])
      expect([whoami.code, whoami.err]).toEqual([4, expect.stringMatching(sentence)])
      expect(JSON.parse(whoami.out)).toMatchObject({ code: expect.any(String), detail: expect.any(String) })
      expect(whoami.err).not.toContain('trying again')
      const upload = await home.run(['upload', await deb(home, 'never-sent-2'), '-d', 'noble'])
      expect([upload.code, upload.out]).toEqual([4, ''])
    })
  })
}
