// Certificates, proxies and redirects, with real servers on loopback.
import { createHash } from 'node:crypto'
import { createServer as createHttp, request as forward, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { selfSigned } from '../fakes/certificate.ts'
import type { Home } from './gatehouse.ts'
import type { Stage } from './stage.ts'

export function networkCases(stage: Stage): void {
  describe('the network', () => {
    const servers: Server[] = []
    let home: Home
    let url: string
    let proxy: string
    /** hosts that were requested from the proxy */
    const asked: string[] = []

    const listen = (server: Server) =>
      new Promise<number>((resolve) => {
        servers.push(server)
        server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
      })

    beforeAll(async () => {
      home = await stage.home('reader')
      const { key, cert } = selfSigned('localhost')
      await writeFile(join(home.path, 'ca.pem'), cert)
      const front = createHttps({ key, cert }, (incoming, response) => {
        const { method, headers } = incoming
        incoming.pipe(
          forward(`${stage.service.api}${incoming.url}`, { method, headers }, (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            answer.pipe(response)
          }),
        )
      })
      url = `https://localhost:${await listen(front)}`
      const tunnels = createHttp().on('connect', (request, socket) => {
        asked.push(request.url ?? '')
        const [host = '', port] = (request.url ?? '').split(':')
        const there = connect(Number(port), host, () => {
          socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
          there.pipe(socket).pipe(there)
        })
        there.on('error', () => socket.destroy())
        socket.on('error', () => there.destroy())
      })
      proxy = `http://127.0.0.1:${await listen(tunnels)}`
    })
    afterAll(() => {
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    })
    const whoami = (env: Record<string, string>, ...flags: string[]) =>
      home.run(['whoami', ...flags], { env: { GATEHOUSE_URL: url, ...env } })

    test('a certificate that nobody trusts is refused at once, and accepted with --ca-file', async () => {
      const refused = await whoami({})
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('certificate')])
      expect(refused.err).not.toContain('trying again')
      expect((await whoami({}, '--ca-file', 'ca.pem')).code).toBe(0)
      expect((await whoami({}, '--ca-file', 'none.pem')).code).toBe(2)
    })

    test('HTTPS_PROXY is used, and not for the hosts of NO_PROXY', async () => {
      asked.length = 0
      expect((await whoami({ HTTPS_PROXY: proxy }, '--ca-file', 'ca.pem')).code).toBe(0)
      expect(asked).toEqual([new URL(url).host])
      expect((await whoami({ HTTPS_PROXY: proxy, NO_PROXY: 'localhost' }, '--ca-file', 'ca.pem')).code).toBe(0)
      expect(asked).toHaveLength(1)
    })

    test('a redirect is not followed, so the credential goes nowhere else', async () => {
      let seen = 0
      const elsewhere = await listen(createHttp((_, response) => void (seen++, response.end())))
      const from = await listen(
        createHttp((_, response) => response.writeHead(307, { location: `http://127.0.0.1:${elsewhere}/` }).end()),
      )
      const ran = await whoami({ GATEHOUSE_URL: `http://127.0.0.1:${from}` })
      expect([ran.code, ran.err, seen]).toEqual([
        1,
        expect.stringContaining(`127.0.0.1:${elsewhere}; use that address`),
        0,
      ])
    })

    test('the service offers the command, and a proxy or browser keeps it until it changes', async () => {
      const front = stage.service.log.find((entry) => typeof entry === 'object' && entry['msg'] === 'listening') as {
        ports: { console: number }
      }
      for (const base of [stage.service.api, `http://127.0.0.1:${front.ports.console}`]) {
        const first = await fetch(`${base}/cli/gatehouse.mjs`)
        expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache'])
        const text = await first.text()
        expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
        const digest = createHash('sha256').update(text).digest('hex')
        const listed = await fetch(`${base}/cli/gatehouse.mjs.sha256`)
        expect([listed.status, await listed.text()]).toEqual([200, `${digest}  gatehouse.mjs\n`])
        const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
        expect((await fetch(`${base}/cli/gatehouse.mjs`, { headers })).status).toBe(304)
      }
    })
  })
}
