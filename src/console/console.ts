// The listener of the web console: its files, its session, and the API on the same origin, so that the console needs no CORS.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { registryFormats } from '../formats/index.ts'
import { createListener } from '../api/http/listener.ts'
import { answerOf, problemOf } from '../api/http/problems.ts'
import { Problem } from '../domain/problem.ts'
import { createTrust, socketAddress } from '../kernel/client-address.ts'
import type { Log } from '../kernel/log.ts'
import { addressOf, peerOf } from '../serve/public-address.ts'
import { readBuild, representation, type Asset } from './assets.ts'
import { readCookie } from './cookies.ts'
import { isOwnOrigin, isSafe } from './origin.ts'
import { prefixOf, renderPage } from './page.ts'
import { sessionRoutes, type Answer } from './session.ts'

/** Logins have smaller bodies. */
const MOST_BODY_BYTES = 64 * 1024

export interface ConsoleDeps {
  /** the API */
  app: FastifyInstance
  /** directory of the console's build */
  directory: string
  trustedProxies: readonly string[]
  /** the configured address of the console */
  appUrl(): string
  production: boolean
  version: string
  log: Log
}

export interface Console {
  /** @returns the port in use */
  listen(port: number, host: string): Promise<number>
  /** Accepts nothing new and cuts what still runs after `deadlineMs`. */
  close(deadlineMs: number): Promise<void>
}

const isRegistryPath = (path: string) => registryFormats.some(({ id }) => path.startsWith(`/${id}/`))

export function createConsole(deps: ConsoleDeps): Console {
  const build = readBuild(deps.directory)
  const sessions = sessionRoutes(deps)
  const trusts = createTrust(deps.trustedProxies)

  /** The address of the console as this client sees it. */
  const ownAddress = ({ headers, socket }: IncomingMessage) => addressOf(headers, peerOf(socket), null, trusts)

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const address = ownAddress(request)
    const secure = address.startsWith('https:')
    if (request.method === 'OPTIONS') throw new Problem('method_not_allowed', 'the console answers no OPTIONS')

    // The page of the console has the same path as the probe; only a browser that opens a page asks for HTML.
    const isPage = path === '/health' && /\btext\/html\b/.test(request.headers.accept ?? '')
    if (!isPage && /^\/(api|health|cli)(\/|$)/.test(path)) {
      toApi(request, response, address, secure)
      return
    }
    // The address of a repository is right whichever listener a person saw it at. Its clients have credentials of their own.
    if (isRegistryPath(path)) {
      passOn(request, response)
      return
    }
    if (path === '/session' || path.startsWith('/session/')) {
      refuseForeign(request, address)
      const step = sessions.get(`${request.method === 'HEAD' ? 'GET' : request.method} ${path}`)
      if (!step) throw new Problem('not_found', `there is no ${request.method} ${path}`)
      sendJson(response, await step({ request, secure, body: await bodyOf(request) }))
      return
    }
    if (!isSafe(request.method)) throw new Problem('method_not_allowed', 'pages are read with GET')
    if (path.startsWith('/assets/')) {
      sendAsset(request, response, path.slice('/assets/'.length))
      return
    }
    sendPage(request, response, secure)
  }

  /** Passes the request to the API with the session as its credential, unless the client sent a credential of its own. */
  function toApi(request: IncomingMessage, response: ServerResponse, address: string, secure: boolean): void {
    if (request.headers.authorization === undefined) {
      const token = readCookie(request.headers, 'session', secure)
      if (token !== null) {
        refuseForeign(request, address)
        request.headers.authorization = `Bearer ${token}`
      }
    }
    passOn(request, response)
  }

  function passOn(request: IncomingMessage, response: ServerResponse): void {
    // Other origins must not read answers of this listener.
    delete request.headers.origin
    delete request.headers.cookie
    deps.app.routing(request, response)
  }

  function refuseForeign({ method, headers }: IncomingMessage, address: string): void {
    if (isSafe(method) || isOwnOrigin(headers, [address, deps.appUrl()])) return
    throw new Problem(
      'forbidden',
      `the request comes from ${headers.origin ?? 'no origin'}, not from the console at ${address}; behind a proxy set TRUSTED_PROXIES`,
    )
  }

  function sendAsset(request: IncomingMessage, response: ServerResponse, name: string): void {
    const asset: Asset | undefined = build?.assets.get(name)
    if (!asset) throw new Problem('not_found', 'there is no such file; the console was updated, load the page again')
    const { bytes, encoding } = representation(asset, request.headers['accept-encoding'])
    response.writeHead(200, {
      ...COMMON,
      'content-type': asset.type,
      'content-length': bytes.length,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      ...(encoding && { 'content-encoding': encoding }),
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }

  function sendPage(request: IncomingMessage, response: ServerResponse, secure: boolean): void {
    if (!build) throw new Problem('not_found', 'the console is not part of this build; `npm run build` makes it')
    const trusted = trusts(socketAddress(request.socket.remoteAddress))
    const { html, policy } = renderPage(build.page, trusted ? prefixOf(request.headers['x-forwarded-prefix']) : '/')
    response.writeHead(200, {
      ...COMMON,
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(html),
      'cache-control': 'no-store',
      'content-security-policy': policy,
      'x-frame-options': 'DENY',
      ...(secure && deps.production && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
    })
    response.end(request.method === 'HEAD' ? undefined : html)
  }

  const listener = createListener()
  const server = listener.createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      const { problem, isBug } = problemOf(error, String(request.headers['x-request-id'] ?? ''))
      if (isBug) deps.log.error({ err: error }, 'console')
      if (response.headersSent) return response.destroy()
      const { status, headers, body } = answerOf(problem)
      sendJson(response, { status, body, headers: { ...headers, connection: 'close' } })
    })
  })
  server.on('clientError', (error, socket) => listener.refuseUnreadable(error, socket as Socket))

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => resolve((server.address() as { port: number }).port))
      }),
    close: (deadlineMs) => listener.drain(deadlineMs),
  }
}

const COMMON = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

function sendJson(response: ServerResponse, { status, body, headers }: Answer): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    ...COMMON,
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  })
  response.end(text)
}

/** @throws Problem `body_too_large` */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = () => new Problem('body_too_large', `the body is larger than ${MOST_BODY_BYTES} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > MOST_BODY_BYTES) throw tooLarge()
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MOST_BODY_BYTES) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts)
}
