// Interrupted event streams: --wait loses no decision, `logs --follow` no line, and an upload is sent again.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Home, Ran } from './gatehouse.ts'
import { startCuttingProxy, type CuttingProxy } from './proxy.ts'
import { deb, type Stage } from './stage.ts'

const EVENTS = 'GET /api/v1/dashboard/events '
const LOGS = 'GET /api/v1/logs/stream?'
const idOf = (head: string) => /^last-event-id: (\S+)/im.exec(head)?.[1]

export function streamCases(stage: Stage): void {
  describe('a stream that breaks', () => {
    const proxies: CuttingProxy[] = []
    let home: Home
    beforeAll(async () => {
      home = await stage.home('admin')
    })
    afterAll(() => {
      for (const proxy of proxies) proxy.close()
    })
    async function through() {
      const proxy = await startCuttingProxy(stage.service.api)
      proxies.push(proxy)
      return {
        proxy,
        env: { GATEHOUSE_URL: proxy.url },
        heads: (start: string) => proxy.requests.filter((head) => head.startsWith(start)),
      }
    }
    const decide = (name: string, decision: 'approve' | 'reject') =>
      stage.service.call('POST', `/security/packages/${name}/1.0-1/decide`, { decision, justification: 'looked' })

    let polls: Promise<Ran>
    test('--wait, where no stream is possible: what is not sent yet does not wait', async () => {
      const { proxy, env, heads } = await through()
      proxy.refuse = new RegExp(`^${EVENTS}`)
      const files = [await deb(home, 'held-parallel'), await deb(home, 'held-poll'), await deb(home, 'not-held')]
      const { ended, seen } = home.start(['upload', ...files, '-d', 'noble', '--wait', '--parallel', '1'], { env })
      polls = ended
      await expect.poll(() => seen.out).toContain('published\tdist/not-held')
      await expect.poll(() => heads(EVENTS).length).toBeGreaterThan(1)
      for (const name of ['held-parallel', 'held-poll']) expect((await decide(name, 'approve')).status).toBe(200)
    })

    test('--wait: it is opened again after the last event, and the verdict of the meantime is found', async () => {
      const { proxy, env, heads } = await through()
      const { ended } = home.start(['upload', await deb(home, 'held-cut'), '-d', 'noble', '--wait'], { env })
      await expect.poll(() => heads(EVENTS).length).toBe(1)
      // An event elsewhere, so that there is a last event.
      await home.run(['upload', await deb(home, 'event-elsewhere'), '-d', 'noble'])
      await expect.poll(() => /^id: \d+$/m.test(proxy.answered())).toBe(true)
      proxy.cut()
      await decide('held-cut', 'reject')
      const { code, out } = await ended
      expect([code, out]).toEqual([3, expect.stringMatching(/^rejected\t/)])
      expect(heads(EVENTS).map(idOf)).toEqual([undefined, expect.stringMatching(/^\d+$/)])
    })

    test('an upload whose answer is lost is sent again, and there is one record', async () => {
      const { proxy, env, heads } = await through()
      const start = 'POST /api/v1/upload/stream '
      proxy.cutAnswerTo = new RegExp(`^${start}`)
      const ran = await home.run(['upload', await deb(home, 'answer-lost'), '-d', 'noble'], { env })
      expect([ran.code, ran.out, ran.err]).toEqual([
        0,
        expect.stringMatching(/^(published|already_there)\t/),
        expect.stringContaining('trying again'),
      ])
      expect(heads(start).length).toBeGreaterThan(1)
      for (const head of heads(start)) {
        expect(head).toMatch(/^content-length: \d+\r$/im)
        expect(head).not.toMatch(/^transfer-encoding:/im)
      }
      expect((await stage.service.call('GET', '/artifacts/answer-lost')).body.versions).toHaveLength(1)
    })

    test.each([
      ['machine create lost-1', '/machines ', 'GET', '/machines?q=lost-1'],
      ['enrolment create lost-2', '/machines/enrolments ', 'GET', '/machines/enrolments'],
      ['reader add noble tag lost-3', '/readers ', 'GET', '/readers'],
      ['repo create npm/lost-4', '/registries ', 'GET', '/registries'],
      ['token create lost-5', '/auth/api-tokens ', 'GET', '/auth/api-tokens'],
      ['reserve add lost-6', '/import/reservations ', 'GET', '/import/reservations'],
      [
        'source add lost-7 --type apk --address https://packages.example.org --allow-unsigned',
        ...['/import/sources ', 'GET', '/import/sources'],
      ],
    ] as const)('%s, whose answer is lost, is sent again and makes one thing', async (line, path, method, list) => {
      const { proxy, env, heads } = await through()
      const start = `POST /api/v1${path}`
      proxy.cutAnswerTo = new RegExp(`^${start}`)
      const ran = await home.run(line.split(' '), { env })
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('trying again')])
      const keys = heads(start).map((head) => /^idempotency-key: (.+)\r$/im.exec(head)?.[1])
      expect([keys.length, new Set(keys).size, keys[0]]).toEqual([2, 1, expect.any(String)])
      const [name = ''] = /lost-\d/.exec(line) ?? []
      const { body } = await stage.service.call(method, list)
      expect(JSON.stringify(body).split(`"${name}"`).length - 1).toBe(1)
    })

    test('logs --follow: every line of the meantime is printed once', async () => {
      const { proxy, env, heads } = await through()
      const { child, ended, seen } = home.start(['logs', '-f', '--text', 'marker-', '--limit', '1'], { env })
      const mark = (name: string) => stage.service.call('GET', `/artifacts/marker-${name}`)
      await expect.poll(() => heads(LOGS).length).toBe(1)
      await expect
        .poll(async () => {
          await mark('before')
          return seen.out
        })
        .toContain('marker-before')
      await mark('last')
      await expect.poll(() => seen.out).toContain('marker-last')
      proxy.cut()
      const missed = Array.from({ length: 5 }, (_, i) => `missed-${i}`)
      for (const name of missed) await mark(name)
      await expect.poll(() => heads(LOGS).length).toBe(2)
      await mark('after')
      await expect.poll(() => seen.out).toContain('marker-after')
      const printed = [...seen.out.matchAll(/marker-(missed-\d|last|after)/g)].map(([, name]) => name)
      expect(printed).toEqual(['last', ...missed, 'after'])
      expect(seen.err).toContain('connecting again')
      child.kill('SIGINT')
      expect((await ended).code).toBe(130)
    })

    // It polls every 15 s; the other cases run meanwhile.
    test('--wait, where no stream is possible: it looks now and then, and ends as people decided', async () => {
      const { code, out } = await polls
      expect([code, out.match(/^published\t/gm)?.length]).toEqual([0, 3])
    })
  })
}
