// The session of the console: its routes call the API and keep the JWT in a cookie that no script can read.
//
//   GET    /session          who is signed in, and what a login page needs
//   POST   /session          name and password
//   POST   /session/mfa      the second factor
//   POST   /session/oidc     back from the identity provider
//   POST   /session/setup    the first administrator
//   POST   /session/refresh  a new JWT for the old one
//   DELETE /session          logout
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { cookie, readCookie } from './cookies.ts'

export interface Answer {
  status: number
  body: unknown
  headers?: Record<string, string | string[]>
}

export interface Visit {
  request: IncomingMessage
  /** whether the browser reached the console over TLS */
  secure: boolean
  /** the body as it came; JSON is checked by the API */
  body: Buffer
}

export interface SessionDeps {
  app: FastifyInstance
  version: string
}

type Step = (visit: Visit) => Promise<Answer>

/** @returns the handlers by method and path */
export function sessionRoutes({ app, version }: SessionDeps): ReadonlyMap<string, Step> {
  /** Calls the API as this client; rate limits and the audit log use its address. */
  async function api(
    visit: Visit,
    method: 'GET' | 'POST',
    path: string,
    options: { token?: string | null; body?: Buffer | string } = {},
  ) {
    const { headers, socket } = visit.request
    const forwarded = ['x-forwarded-for', 'x-request-id', 'x-setup-token', 'user-agent', 'content-type'] as const
    const passed = forwarded.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))
    const answer = await app.inject({
      method,
      url: `/api/v1${path}`,
      remoteAddress: socket.remoteAddress ?? '',
      headers: {
        ...(Object.fromEntries(passed) as Record<string, string>),
        ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      },
      ...(options.body === undefined ? {} : { payload: options.body }),
    })
    const kept = ['x-request-id', 'retry-after', 'www-authenticate'].flatMap((name) =>
      answer.headers[name] === undefined ? [] : [[name, String(answer.headers[name])]],
    )
    return {
      status: answer.statusCode,
      body: answer.json<Record<string, unknown>>(),
      headers: Object.fromEntries(kept) as Record<string, string>,
    }
  }

  /** Turns the answer of a login into a session; passes every other answer on unchanged. */
  function opened({ secure }: Visit, answer: Awaited<ReturnType<typeof api>>): Answer {
    const { access_token: token, mfa_token: mfa, mfa_required: needed, expires_in: seconds } = answer.body
    if (answer.status !== 200) return answer
    if (needed === true && typeof mfa === 'string')
      return {
        status: 200,
        body: { mfa_required: true },
        headers: { ...answer.headers, 'set-cookie': cookie('mfa', mfa, { secure, seconds: secondsLeft(mfa) }) },
      }
    if (typeof token !== 'string') return answer
    const life = typeof seconds === 'number' ? seconds : secondsLeft(token)
    return {
      status: 200,
      body: { mfa_required: false, expires_in: life },
      headers: {
        ...answer.headers,
        'set-cookie': [
          cookie('session', token, { secure, seconds: life }),
          cookie('mfa', null, { secure, seconds: 0 }),
        ],
      },
    }
  }

  const tokenOf = ({ request, secure }: Visit) => readCookie(request.headers, 'session', secure)

  return new Map<string, Step>([
    [
      'GET /session',
      async (visit) => {
        const token = tokenOf(visit)
        const me = token === null ? null : await api(visit, 'GET', '/auth/me', { token })
        if (me && me.status !== 200 && me.status !== 401) return me
        const common = { secure: visit.secure, version }
        if (me?.status === 200 && token)
          return {
            status: 200,
            body: {
              ...{ user: me.body, expires_in: secondsLeft(token), ...common },
              ...{ needs_setup: false, setup_token_required: false, sso: { enabled: false } },
            },
          }
        // Only a login page needs these: without a session, they count towards the limit of an address that an office may share.
        const [setup, sso] = await Promise.all([
          api(visit, 'GET', '/setup/status'),
          api(visit, 'GET', '/auth/oidc/public-config'),
        ])
        if (setup.status !== 200) return setup
        return {
          status: 200,
          body: {
            ...{ user: null, expires_in: null, ...common },
            needs_setup: setup.body['needs_setup'] === true,
            setup_token_required: setup.body['setup_token_required'] === true,
            sso: sso.status === 200 ? sso.body : { enabled: false },
          },
        }
      },
    ],
    ['POST /session', async (visit) => opened(visit, await api(visit, 'POST', '/auth/token', { body: visit.body }))],
    [
      'POST /session/mfa',
      async (visit) => {
        const mfa_token = readCookie(visit.request.headers, 'mfa', visit.secure) ?? ''
        const body = JSON.stringify({ ...parsed(visit.body), mfa_token })
        return opened(visit, await api(visit, 'POST', '/auth/mfa/authenticate', { body }))
      },
    ],
    [
      'POST /session/oidc',
      async (visit) => opened(visit, await api(visit, 'POST', '/auth/oidc/callback', { body: visit.body })),
    ],
    ['POST /session/setup', async (visit) => opened(visit, await api(visit, 'POST', '/setup', { body: visit.body }))],
    [
      'POST /session/refresh',
      async (visit) => opened(visit, await api(visit, 'POST', '/auth/refresh', { token: tokenOf(visit) })),
    ],
    [
      'DELETE /session',
      async (visit) => {
        const token = tokenOf(visit)
        const ended = token === null ? null : await api(visit, 'POST', '/auth/logout', { token })
        const address = ended?.body['end_session_url']
        const { secure } = visit
        return {
          status: 200,
          body: { status: 'logged_out', ...(typeof address === 'string' ? { end_session_url: address } : {}) },
          headers: {
            'set-cookie': [
              cookie('session', null, { secure, seconds: 0 }),
              cookie('mfa', null, { secure, seconds: 0 }),
            ],
          },
        }
      },
    ],
  ])
}

/** Seconds until a JWT of ours expires, for the cookie and the page. Only the API verifies it. */
function secondsLeft(jwt: string): number {
  const claims = parsed(Buffer.from(jwt.split('.')[1] ?? '', 'base64url'))
  return typeof claims['exp'] === 'number' ? Math.max(0, Math.floor(claims['exp'] - Date.now() / 1000)) : 0
}

/** @returns an empty object when the text is not a JSON object; the API then reports what is missing */
function parsed(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {}
  } catch {
    return {}
  }
}
