// A small issuer of ID tokens on loopback: discovery document, keys, and a token endpoint whose answers the test decides.
import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose'

export interface Issuer {
  readonly url: string
  /** paths requested so far */
  readonly asked: string[]
  /** the answer of the token endpoint: an ID token, made after the code was sent */
  answerCode: (body: URLSearchParams) => Promise<string>
  /** changes to the discovery document */
  document: Record<string, unknown>
  /** the status of the keys */
  keysStatus: number
  /** Signs with the published key, or with `by`. */
  sign(claims: JWTPayload, by?: { key?: CryptoKey | Uint8Array; alg?: string; kid?: string }): Promise<string>
  /** Publishes another key instead of the previous one. */
  rotate(): Promise<void>
  close(): Promise<void>
}

export async function startIssuer(alg = 'RS256'): Promise<Issuer> {
  let pair = await generateKeyPair(alg)
  let kid = 'key-1'
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  async function answer(request: IncomingMessage): Promise<[number, unknown]> {
    const path = request.url ?? ''
    issuer.asked.push(path)
    if (path === '/.well-known/openid-configuration') return [200, { ...standard(), ...issuer.document }]
    if (path === '/keys')
      return [issuer.keysStatus, { keys: [{ ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' }] }]
    if (path === '/token') {
      let body = ''
      for await (const part of request) body += String(part)
      const id_token = await issuer.answerCode(new URLSearchParams(body))
      return [200, { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token }]
    }
    return [404, {}]
  }
  const standard = () => ({
    issuer: issuer.url,
    authorization_endpoint: `${issuer.url}/authorize`,
    token_endpoint: `${issuer.url}/token`,
    jwks_uri: `${issuer.url}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [alg],
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer: Issuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    answerCode: async () => '',
    document: {},
    keysStatus: 200,
    sign: (claims, by = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: by.alg ?? alg, kid: by.kid ?? kid, typ: 'JWT' })
        .sign(by.key ?? pair.privateKey),
    async rotate() {
      pair = await generateKeyPair(alg)
      kid = `${kid}+`
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return issuer
}
