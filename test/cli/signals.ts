// One SIGINT or SIGTERM ends every command at once, with 130 or 143: also where the service accepts and never answers.
import { createServer, type AddressInfo, type Server } from 'node:net'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Home } from './gatehouse.ts'
import { deb, type Stage } from './stage.ts'

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const

/** Far more than it takes, and far less than the time that any of these commands waits. */
const AT_ONCE_MS = 5_000

export function signalCases(stage: Stage): void {
  describe('one signal', () => {
    let home: Home
    let deaf: Server
    let env: Record<string, string>
    let arrived: () => void
    beforeAll(async () => {
      home = await stage.home('admin')
      deaf = createServer((socket) => {
        socket.on('error', () => undefined)
        arrived()
      })
      const port = await new Promise<number>((resolve) =>
        deaf.listen(0, '127.0.0.1', () => resolve((deaf.address() as AddressInfo).port)),
      )
      env = { GATEHOUSE_URL: `http://127.0.0.1:${port}` }
      await writeFile(join(home.path, 'body.json'), '{}')
    })
    afterAll(() => void deaf.close())

    /** Sends the signal when the condition is met. */
    async function ended(line: readonly string[], signal: NodeJS.Signals, when: () => Promise<unknown>, options = {}) {
      const ready = when()
      const { child, ended: end } = home.start(line, options)
      await ready
      const sent = Date.now()
      child.kill(signal)
      const { code, err } = await end
      return { code, err, isAtOnce: Date.now() - sent < AT_ONCE_MS }
    }
    const connected = () => new Promise<void>((resolve) => (arrived = resolve))

    const lines = [
      ...['whoami', 'status', 'doctor', 'search --all', 'review list --all', 'audit list --all', 'audit export'],
      ...['audit verify', 'api GET /artifacts', 'api GET /artifacts --paginate', 'api POST /x --input body.json'],
      ...['logs -f', 'task watch 1', 'task list --all', 'import sync', 'mirror run 1', 'dist check noble'],
      ...['backup create', 'backup download x', 'download hello@1', 'quarantine hello@1 --yes', 'settings set a=1'],
      ...['decision show 1', 'review approve hello@1 --reason x', 'promote hello --from noble --to jammy', 'ci-login'],
      ...['review bulk approve hello@1 --reason x', 'mirror set 1 enabled=true', 'backup delete x --yes'],
      ...['vulns --fail-on high'],
    ]
    test.each(lines.flatMap((line) => SIGNALS.map(([signal, code]) => [line, signal, code] as const)))(
      '%s: %s ends it with %i',
      async (line, signal, code) => {
        const job = line === 'ci-login' ? { GATEHOUSE_ID_TOKEN: 'a.b.c' } : {}
        const ran = await ended(line.split(' '), signal, connected, { env: { ...env, ...job } })
        expect([line, ran.code, ran.isAtOnce], ran.err).toEqual([line, code, true])
      },
    )

    test.each(SIGNALS)('upload: %s ends it with %i', async (signal, code) => {
      const line = ['upload', await deb(home, 'signalled'), '-d', 'noble']
      expect(await ended(line, signal, connected, { env })).toMatchObject({ code, isAtOnce: true })
    })

    test('either ends an upload that waits for people', async () => {
      const line = ['upload', await deb(home, 'held-signal'), '-d', 'noble', '--wait']
      const ends = SIGNALS.map(async ([signal, code]) => {
        const { child, ended: end, seen } = home.start(line)
        await expect.poll(() => seen.err).toContain('waiting for a decision')
        const sent = Date.now()
        child.kill(signal)
        expect([signal, (await end).code, Date.now() - sent < AT_ONCE_MS]).toEqual([signal, code, true])
      })
      await Promise.all(ends)
    })

    test.each(SIGNALS)('a pause before another try: %s ends it with %i', async (signal, code) => {
      // Nobody listens on the discard port.
      const { child, ended: end, seen } = home.start(['whoami'], { env: { GATEHOUSE_URL: 'http://127.0.0.1:9' } })
      await expect.poll(() => seen.err).toContain('trying again')
      child.kill(signal)
      expect((await end).code).toBe(code)
    })

    test('nothing half written is left', async () => {
      expect((await readdir(home.path)).filter((name) => name.endsWith('.partial'))).toEqual([])
    })
  })
}
