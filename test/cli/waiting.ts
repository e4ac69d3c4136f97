// What waits: for a rate limit, and for a service that does not come back. It begins first and is looked at last.
import { describe, expect, test } from 'vitest'
import type { Ran } from './gatehouse.ts'
import { deb, type Stage } from './stage.ts'

const FILES = 25

/** Begins at once. @returns what declares the test that awaits the end */
export function waitingCases(stage: Stage): () => void {
  let ended: Promise<Ran>
  let unreachable: Promise<Ran>
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

      test('a service that cannot be reached ends with 1, after five more tries', async () => {
        const { code, out, err } = await unreachable
        expect([code, err.match(/trying again/g)?.length]).toEqual([1, 5])
        expect(JSON.parse(out)).toMatchObject({ code: 'network_error' })
      })
    })
}
