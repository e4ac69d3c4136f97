// The listener of the console over real sockets: its session, its files, and the API behind it.
import { once } from 'node:events'
import { connect } from 'node:net'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { PASSWORD, startGate, type Gate } from './harness.ts'
import { form } from './http.ts'

let gate: Gate
let own: string
let cookie: string

beforeAll(async () => {
  gate = await startGate({ env: { CORS_ORIGINS: 'https://portal.example.org', TRUSTED_PROXIES: '127.0.0.1' } })
  own = `http://127.0.0.1:${gate.consolePort}`
  cookie = await signIn('maintainer-person')
})
afterAll(() => gate?.close())

const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: RequestInit['body']) =>
  fetch(`${own}${path}`, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) })

const totp = (secret: string, now: Date) =>
  TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: now.getTime() })

const json = { 'content-type': 'application/json' }

/** The cookies that an answer sets, in the form for the next request; removed ones are left out. */
function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .filter((one) => !/Max-Age=0/.test(one))
    .map((one) => one.split(';')[0] ?? '')
    .join('; ')
}

async function signIn(username: string): Promise<string> {
  const response = await ask(
    'POST',
    '/session',
    { ...json, origin: own },
    JSON.stringify({ username, password: PASSWORD }),
  )
  expect(response.status).toBe(200)
  return cookiesOf(response)
}

describe('the session', () => {
  test('a login sets a cookie that scripts cannot read, and its answer has no token', async () => {
    const response = await ask(
      'POST',
      '/session',
      { ...json, origin: own },
      JSON.stringify({ username: 'reader-person', password: PASSWORD }),
    )
    expect(response.headers.getSetCookie()[0]).toMatch(
      /^gatehouse_session=ey[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
    )
    expect(await response.text()).not.toContain('ey')
  })

  test('says who is signed in, and nothing of a token', async () => {
    const signedIn = await ask('GET', '/session', { cookie })
    const text = await signedIn.text()
    expect(JSON.parse(text)).toMatchObject({
      user: { username: 'maintainer-person', role: 'maintainer' },
      needs_setup: false,
      secure: false,
    })
    expect(text).not.toContain(cookie.split('=')[1])
    expect(await (await ask('GET', '/session')).json()).toMatchObject({ user: null, expires_in: null })
  })

  test('a wrong password is refused as the API refuses it, and sets no cookie', async () => {
    const response = await ask(
      'POST',
      '/session',
      { ...json, origin: own },
      JSON.stringify({ username: 'reader-person', password: 'wrong' }),
    )
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'unauthorized' })
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('a refresh ends the old cookie and sets a new one', async () => {
    const before = await signIn('uploader-person')
    gate.clock.advance(2_000)
    const response = await ask('POST', '/session/refresh', { origin: own, cookie: before })
    const after = cookiesOf(response)
    expect(response.status).toBe(200)
    expect((await ask('GET', '/api/v1/auth/me', { cookie: before })).status).toBe(401)
    expect((await ask('GET', '/api/v1/auth/me', { cookie: after })).status).toBe(200)
  })

  test('a logout ends it on the server too', async () => {
    const session = await signIn('uploader-person')
    const response = await ask('DELETE', '/session', { origin: own, cookie: session })
    expect(response.headers.getSetCookie().every((one) => /Max-Age=0/.test(one))).toBe(true)
    expect((await ask('GET', '/api/v1/auth/me', { cookie: session })).status).toBe(401)
    expect((await ask('DELETE', '/session', { origin: own })).status).toBe(200)
  })

  test('the second factor is asked with a cookie between the steps', async () => {
    const session = await signIn('admin-person')
    const headers = { ...json, origin: own }
    const setup = (await (
      await ask('POST', '/api/v1/auth/mfa/setup', { ...headers, cookie: session }, '{}')
    ).json()) as { secret: string }
    const confirm = await ask(
      'POST',
      '/api/v1/auth/mfa/confirm',
      { ...headers, cookie: session },
      JSON.stringify({ totp_code: totp(setup.secret, gate.clock.now()) }),
    )
    expect(confirm.status).toBe(200)

    const first = await ask(
      'POST',
      '/session',
      headers,
      JSON.stringify({ username: 'admin-person', password: PASSWORD }),
    )
    expect(await first.json()).toEqual({ mfa_required: true })
    const between = cookiesOf(first)
    expect(between).toMatch(/^gatehouse_mfa=/)
    expect((await ask('GET', '/api/v1/auth/me', { cookie: between })).status).toBe(401)

    expect(
      (await ask('POST', '/session/mfa', { ...headers, cookie: between }, JSON.stringify({ totp_code: '000000' })))
        .status,
    ).toBe(401)
    gate.clock.advance(31_000)
    const second = await ask(
      'POST',
      '/session/mfa',
      { ...headers, cookie: between },
      JSON.stringify({ totp_code: totp(setup.secret, gate.clock.now()) }),
    )
    expect((await ask('GET', '/api/v1/auth/me', { cookie: cookiesOf(second) })).status).toBe(200)
  })

  test('over TLS, as a trusted proxy says, only the __Host- cookie counts', async () => {
    const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'console.example.org' }
    const response = await ask(
      'POST',
      '/session',
      { ...json, ...proxied, origin: 'https://console.example.org' },
      JSON.stringify({ username: 'reader-person', password: PASSWORD }),
    )
    expect(response.headers.getSetCookie()[0]).toMatch(/^__Host-gatehouse_session=.+; Secure$/)
    const secure = cookiesOf(response)
    expect(await (await ask('GET', '/session', { ...proxied, cookie: secure })).json()).toMatchObject({
      user: { username: 'reader-person' },
      secure: true,
    })
    expect((await ask('GET', '/api/v1/auth/me', { ...proxied, cookie: secure.replace('__Host-', '') })).status).toBe(
      401,
    )
  })

  test.each([
    ['POST', '/session/unknown', 404],
    ['PUT', '/session', 404],
    ['OPTIONS', '/session', 405],
    ['POST', '/packages', 405],
  ])('%s %s is %i in the error shape', async (method, path, status) => {
    const response = await ask(method, path, { origin: own })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ detail: expect.any(String), code: expect.any(String) })
  })

  test('a body larger than any login is refused', async () => {
    const response = await ask(
      'POST',
      '/session',
      { ...json, origin: own },
      JSON.stringify({ username: 'x'.repeat(70_000) }),
    )
    expect(response.status).toBe(413)
  })

  test('a body that is announced to be larger is refused before it comes', async () => {
    const socket = connect(gate.consolePort, '127.0.0.1')
    socket.write(
      `POST /session HTTP/1.1\r\nhost: 127.0.0.1:${gate.consolePort}\r\norigin: ${own}\r\n` +
        'content-type: application/json\r\ncontent-length: 1000000000\r\n\r\n',
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 [^]*connection: close[^]*"body_too_large"/i)
  })
})

describe('requests of other sites', () => {
  const decide = JSON.stringify({ from_dist: 'jammy', to_dist: 'noble' })

  test.each([
    ['another site', { origin: 'https://evil.test' }],
    ['another port of this host', { origin: 'http://127.0.0.1:1' }],
    ['no origin', {}],
    ['an opaque origin', { origin: 'null' }],
  ])('a change with the cookie from %s is refused', async (_, headers) => {
    const response = await ask(
      'POST',
      '/api/v1/distributions/migrate',
      { ...json, ...(headers as Record<string, string>), cookie },
      decide,
    )
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'forbidden' })
    expect((await ask('POST', '/session', { ...json, ...(headers as Record<string, string>) }, '{}')).status).toBe(403)
  })

  test('no answer can be read by another origin, also not one of CORS_ORIGINS', async () => {
    for (const path of ['/api/v1/auth/roles', '/session', '/']) {
      const response = await ask('GET', path, { origin: 'https://portal.example.org', cookie })
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })

  test('the port of the API takes no cookie', async () => {
    const { status } = await gate.call('GET', '/auth/me', { as: null, headers: { cookie } })
    expect(status).toBe(401)
  })

  test('a credential of the client is used as it is, without the cookie', async () => {
    const response = await ask('GET', '/api/v1/auth/me', {
      cookie,
      authorization: `Bearer ${gate.people.auditor.token}`,
    })
    expect(await response.json()).toMatchObject({ role: 'auditor' })
  })
})

describe('the API behind the console', () => {
  test('an upload streams through with the cookie', async () => {
    const { body, headers } = form([
      { name: 'distribution', value: 'jammy' },
      { name: 'file', value: await buildDeb({ name: 'by-console' }), filename: 'x.deb' },
    ])
    const response = await ask(
      'POST',
      '/api/v1/upload/stream',
      { ...headers, cookie, origin: own },
      body as Uint8Array<ArrayBuffer>,
    )
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await response.text()).toContain('"package":"by-console"')
  })

  test('a live stream opens with the cookie', async () => {
    const end = new AbortController()
    const response = await fetch(`${own}/api/v1/dashboard/events`, { headers: { cookie }, signal: end.signal })
    const { value } = (await response.body?.getReader().read()) ?? {}
    expect(response.status).toBe(200)
    expect(value?.length).toBeGreaterThan(0)
    end.abort()
  })

  test('a repository of libraries is reached here too, with a credential and never with the cookie', async () => {
    await gate.call('POST', '/registries', { body: { format: 'npm', name: 'team', kind: 'hosted' } })
    const path = '/npm/team/-/v1/search?text=x'
    expect((await ask('GET', path, { cookie })).status).toBe(401)
    const authorization = `Bearer ${gate.people.reader.token}`
    expect((await ask('GET', path, { authorization })).status).toBe(200)
  })

  test('/health is the probe for programs and a page for browsers', async () => {
    expect(await (await ask('GET', '/health/live')).json()).toEqual({ status: 'ok' })
    expect((await ask('GET', '/health')).headers.get('content-type')).toContain('application/json')
    const page = await ask('GET', '/health', { accept: 'text/html,application/xhtml+xml' })
    expect(page.headers.get('content-type')).toContain('text/html')
  })
})

describe('the files of the console', () => {
  test('every other path is the page, which is never stored, with a policy of its own', async () => {
    const page = await ask('GET', '/packages/curl?version=1')
    const html = await page.text()
    expect(page.status).toBe(200)
    expect(page.headers.get('cache-control')).toBe('no-store')
    const nonce = /'nonce-([^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.[1] ?? 'none'
    expect(html).toContain(nonce)
    expect(html).toContain('<base href="/"')
  })

  test('a trusted proxy may show it below a path', async () => {
    const html = await (await ask('GET', '/', { 'x-forwarded-prefix': '/gatehouse' })).text()
    expect(html).toContain('<base href="/gatehouse/"')
  })

  test('a file is stored for ever and sent compressed; one that is gone is a 404, not the page', async () => {
    const html = await (await ask('GET', '/')).text()
    const [, script = ''] = /src="\.\/(assets\/[^"]+\.js)"/.exec(html) ?? []
    const response = await ask('GET', `/${script}`, { 'accept-encoding': 'br' })
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('content-encoding')).toBe('br')
    expect(response.headers.get('content-type')).toContain('javascript')
    expect((await ask('GET', '/assets/index-gone.js')).status).toBe(404)
    expect((await ask('GET', '/assets/../index.html')).headers.get('content-type')).toContain('text/html')
  })
})
