// Mistakes with TLS, with real certificates on loopback: each is one sentence with its remedy, and is not tried again.
import { createServer as createHttp, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { connect, createServer, type AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { selfSigned, type Certificate } from '../fakes/certificate.ts'
import type { Home } from './gatehouse.ts'
import type { Stage } from './stage.ts'

/** The type of the first record of a TLS connection (RFC 8446, section 5.1). */
const TLS_HANDSHAKE = 22

export function tlsCases(stage: Stage): void {
  describe('a mistake with TLS', () => {
    const servers: Server[] = []
    let home: Home
    beforeAll(async () => {
      home = await stage.home('reader')
    })
    afterAll(() => {
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    })

    const listen = (server: Server) =>
      new Promise<number>((resolve) => {
        servers.push(server)
        server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
      })
    const answers = (server: Server) =>
      server.on('request', (_, response) => response.setHeader('content-type', 'application/json').end('{}'))
    const https = ({ key, cert }: Certificate) => listen(answers(createHttps({ key, cert })))

    /** What `status` says to a server. */
    async function said(url: string, ...flags: string[]) {
      const { code, err } = await home.run(['status', '--url', url, ...flags])
      return { code, err, sentences: err.trimEnd().split('\n').length }
    }

    const authority = selfSigned('authority.example.org')
    const past = new Date(Date.now() - 3_600_000)
    test.each<[string, Certificate, string | null, string]>([
      ['self-signed', selfSigned('localhost'), null, 'is self-signed: if it is yours, give it with --ca-file FILE'],
      [
        'of an unknown authority',
        selfSigned('localhost', { by: authority.authority }),
        null,
        'signed by an authority that this machine does not know',
      ],
      ['for another name', selfSigned('other.example.org'), 'own', 'not for localhost:'],
      ['expired', selfSigned('localhost', { until: past }), 'own', 'has expired'],
    ])('a certificate that is %s', async (_, certificate, trusted, sentence) => {
      const url = `https://localhost:${await https(certificate)}`
      await writeFile(join(home.path, 'trusted.pem'), certificate.cert)
      const { code, err, sentences } = await said(url, ...(trusted ? ['--ca-file', 'trusted.pem'] : []))
      expect([code, sentences, err]).toEqual([1, 1, expect.stringContaining(sentence)])
      expect(err).not.toContain('trying again')
    })

    test('a certificate for other names is refused with these names', async () => {
      const certificate = selfSigned('other.example.org')
      await writeFile(join(home.path, 'trusted.pem'), certificate.cert)
      const { err } = await said(`https://localhost:${await https(certificate)}`, '--ca-file', 'trusted.pem')
      expect(err).toContain('but for other.example.org')
    })

    test('the authority that is given, or that Node is given, is trusted', async () => {
      await writeFile(join(home.path, 'authority.pem'), authority.cert)
      const url = `https://localhost:${await https(selfSigned('localhost', { by: authority.authority }))}`
      expect((await said(url, '--ca-file', 'authority.pem')).err).not.toContain('certificate')
      const extra = { NODE_EXTRA_CA_CERTS: join(home.path, 'authority.pem') }
      expect((await home.run(['status', '--url', url], { env: extra })).err).not.toContain('certificate')
    })

    test('plain HTTP where HTTPS is written, and the reverse', async () => {
      const plain = await listen(answers(createHttp()))
      expect(await said(`https://localhost:${plain}`)).toMatchObject({
        ...{ code: 1, sentences: 1, err: expect.stringContaining(`write http://localhost:${plain}`) },
      })
      const secure = await https(selfSigned('localhost'))
      expect(await said(`http://localhost:${secure}`)).toMatchObject({
        ...{ code: 1, sentences: 1, err: expect.stringContaining(`write https://localhost:${secure}`) },
      })
    })

    test('a server that answers plain HTTP with a page of its own', async () => {
      // As nginx does at its port for HTTPS: 400 to plain HTTP, and TLS to TLS.
      const secure = await https(selfSigned('localhost'))
      const plain = await listen(
        createHttp((_, response) => response.writeHead(400, { 'content-type': 'text/html' }).end('<html>')),
      )
      const both = createServer((client) => {
        client.on('error', () => undefined)
        client.once('data', (bytes) => {
          const isTls = bytes[0] === TLS_HANDSHAKE
          const server = connect(isTls ? secure : plain, '127.0.0.1', () => server.write(bytes))
          server.on('error', () => client.destroy())
          client.pipe(server).pipe(client)
        })
      })
      const port = await new Promise<number>((resolve) =>
        both.listen(0, '127.0.0.1', () => resolve((both.address() as AddressInfo).port)),
      )
      expect((await said(`http://localhost:${port}`)).err).toContain(`write https://localhost:${port}`)
      both.close()
    })
  })
}
