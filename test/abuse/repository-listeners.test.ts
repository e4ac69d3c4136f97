// The repository listeners under pipelined requests and unread answers: other clients and the API are still served.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectHarmless, openSocket, startTarget, type Target } from './harness.ts'

let target: Target
beforeAll(async () => {
  target = await startTarget('embedded', { REPO_FORMAT: 'all' })
})
afterAll(() => target.remove())

describe.each(['apt', 'rpm'] as const)('the %s listener', (listener) => {
  test.each(['/repos/gpg.key', '/repos/none', '/repos/jammy.sh', '/repos/almalinux9.repo'])(
    'stays available while 20 connections pipeline 20,000 requests of %s each and read nothing',
    async (path) => {
      const measured = await target.measure(async () => {
        const request = `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
        const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(target[listener])))
        for (const socket of sockets) {
          socket.pause()
          socket.write(request.repeat(20_000))
        }
        // Each of these requests is answered while the others wait.
        for (let n = 0; n < 50; n++) {
          const answer = await fetch(`${target[listener]}/repos/gpg.key`)
          expect(answer.status).toBe(200)
          await answer.arrayBuffer()
        }
        for (const socket of sockets) socket.destroy()
      })
      expectHarmless(`${listener}: 20 x 20,000 x ${path}`, measured)
    },
  )
})
