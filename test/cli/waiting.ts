// Waiting commands: for a rate limit, for a service that does not return, for people while a session ends. They start first
// and are checked last.
import { describe, expect, test } from 'vitest'
import type { Home, Ran } from './gatehouse.ts'
import { isGood, storedBy } from './sessions.ts'
import { deb, signIn, type Stage } from './stage.ts'

const FILES = 25

/** Starts at once. @returns a function that declares the test, which awaits the end */
export function waitingCases(stage: Stage): () => void {
  let ended: Promise<Ran>
  let unreachable: Promise<Ran>
  let patient: { home: Home; first: string; waits: ReturnType<Home['start']> }
  let absent: Home
  test('25 files begin to be sent, and a service is called that is not there', async () => {
    // Nobody listens on the discard port.
    const nobody = await stage.stranger({
      GATEHOUSE_URL: 'http://127.0.0.1:9',
      GATEHOUSE_TOKEN: 'svc_somethingsomething',
    })
    unreachable = nobody.run(['whoami', '--json'])
    const home = await stage.home('uploader')
    for (let i = 0; i < FILES; i++) await deb(home, `limited-${i}`)
    ended = home.run(['upload', 'dist/limited-*.deb', '-d', 'jammy', '--json'])
  })
  test('two people sign in, and one of them waits for a decision', async () => {
    absent = await signIn(stage)
    const home = await signIn(stage)
    const { token: first } = await storedBy(home)
    const waits = home.start(['upload', await deb(home, 'held-session'), '-d', 'noble', '--wait'])
    patient = { home, first, waits }
  })
  return () =>
    describe('waiting', () => {
      test('25 files pass a limit of 20 a minute, because the command waits as long as the service says', async () => {
        const { code, out, err } = await ended
        expect([code, err]).toEqual([0, expect.stringMatching(/too many requests.*trying again in/s)])
        const { results } = JSON.parse(out)
        expect(results.map((one: { outcome: string }) => one.outcome)).toEqual(
          Array.from({ length: FILES }, () => 'published'),
        )
        const { body } = await stage.service.call('GET', '/distributions/jammy/packages')
        expect(body.packages.filter((one: { name: string }) => one.name.startsWith('limited-'))).toHaveLength(FILES)
      })

      test('a command that outlives its session renews it, says every 30 s that it waits, and gets the verdict', async () => {
        const { home, first, waits } = patient
        await expect.poll(async () => (await storedBy(home)).token).not.toBe(first)
        expect(await isGood(stage, first)).toBe(false)
        await expect.poll(() => waits.seen.err).toContain('held-session_1.0-1.deb (noble): waiting for a decision')
        await stage.service.call('POST', '/security/packages/held-session/1.0-1/decide', {
          decision: 'approve',
          justification: 'looked at it',
        })
        const { code, out } = await waits.ended
        expect([code, out]).toEqual([0, expect.stringMatching(/^published\t/)])
        expect((await home.run(['whoami'])).code).toBe(0)
        stage.secrets.push((await storedBy(home)).token)
      })

      test('a session that nobody renewed has ended: exit 4, and what to do', async () => {
        const { token } = await storedBy(absent)
        await expect.poll(() => isGood(stage, token)).toBe(false)
        const { code, err } = await absent.run(['whoami'])
        expect([code, err]).toEqual([4, expect.stringContaining('has ended: run `gatehouse login`')])
      })

      test('a service that cannot be reached ends with 1, after five more tries', async () => {
        const { code, out, err } = await unreachable
        expect([code, err.match(/trying again/g)?.length]).toEqual([1, 5])
        expect(JSON.parse(out)).toMatchObject({ code: 'network_error' })
      })
    })
}
