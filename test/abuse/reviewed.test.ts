// Attacks of the security review of November 2026 that need no load: none of them succeeds any more. Attacks with files, backups,
// memory and misbehaving upstreams have separate tests (THREATS.md).
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aptFiles, sha256, stanza } from '../../src/upstream/fixture.ts'
import { startFakeClamd, type FakeClamd } from '../fakes/clamd.ts'
import { startIssuer, type Issuer } from '../fakes/issuer.ts'
import { unmarked } from '../antivirus/unmarked.ts'
import { buildDeb } from '../samples/deb.ts'
import { closedBy, expectHarmless, openSocket, startTarget, type Target } from './harness.ts'

const SECRET = 'another-secret-of-the-test-suites-0123'

let target: Target
let clamd: FakeClamd
let issuer: Issuer
const servers: Server[] = []
beforeAll(async () => {
  clamd = await startFakeClamd()
  issuer = await startIssuer()
  target = await startTarget('embedded', {
    CLAMAV_HOST: clamd.address.host,
    CLAMAV_PORT: String(clamd.address.port),
    OUTBOUND_ALLOWED_HOSTS: '127.0.0.1',
  })
})
afterAll(async () => {
  await target?.remove()
  await issuer?.close()
  await clamd?.close()
  for (const server of servers) server.close()
})

/** @returns the address of a server that treats every connection this way */
async function serve(behave: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    behave(socket)
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A repository over HTTP/1.0, where the end of the connection ends the answer. */
function repository(files: Record<string, Buffer | string>): Promise<string> {
  return serve((socket) =>
    socket.once('data', (request: Buffer) => {
      const path = /^GET \/(\S+)/.exec(request.toString('latin1'))?.[1] ?? ''
      const file = files[decodeURIComponent(path)]
      if (file === undefined) return void socket.end('HTTP/1.0 404 Not Found\r\n\r\n')
      socket.write(`HTTP/1.0 200 OK\r\nContent-Length: ${Buffer.byteLength(file)}\r\n\r\n`)
      socket.end(file)
    }),
  )
}

async function sourceOf(name: string, files: Record<string, Buffer | string>): Promise<number> {
  const url = `http://${await repository(files)}`
  const wanted = { name, type: 'apt', url, distribution: 'test', allow_unsigned: true }
  const { status, body } = await target.call('POST', '/import/sources', wanted)
  expect(status).toBe(201)
  return body.id as number
}
const sync = async (id: number): Promise<string> =>
  String((await target.call('POST', `/import/sources/${id}/sync`)).body)

const tokenWith = async (
  name: string,
  more: object,
): Promise<{ token: string; token_id: string; expires_at: string }> =>
  (await target.call('POST', '/auth/api-tokens', { name, role: 'admin', ...more })).body
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

/** A form with the boundary `b`. */
async function formOf(name: string): Promise<Buffer> {
  const part = (field: string, more = '') => `--b\r\ncontent-disposition: form-data; name="${field}"${more}\r\n\r\n`
  return Buffer.concat([
    Buffer.from(`${part('distribution')}jammy\r\n${part('file', '; filename="a.deb"')}`),
    await buildDeb({ name }),
    Buffer.from('\r\n--b--\r\n'),
  ])
}

test('H1: an upstream that closes each connection is read seven times, and nothing ends', async () => {
  const packages = Array.from({ length: 400 }, (_, n) =>
    stanza({ Package: `p${n}`, Description: randomBytes(200).toString('hex') }),
  )
  const { release, files } = aptFiles({ packages: packages.join('') })
  const id = await sourceOf('closing', { ...files, 'dists/test/Release': release })
  for (let n = 0; n < 7; n++) expect(await sync(id)).toMatch(/"status":"done"/)
  expect((await target.call('GET', '/health/live')).status).toBe(200)
})

describe('with a source', () => {
  let id: number
  beforeAll(async () => {
    const bytes = await buildDeb({ name: 'openssl', version: '9.9-9' })
    const listed = { Package: 'nice-tool', Version: '1.0-1', Depends: null, Filename: 'pool/nice.deb' }
    const entry = stanza({ ...listed, Size: String(bytes.length), SHA256: sha256(bytes) })
    const { release, files } = aptFiles({ packages: entry })
    id = await sourceOf('lying', { ...files, 'dists/test/Release': release, 'pool/nice.deb': bytes })
    expect(await sync(id)).toContain('"done"')
  })

  test('M1: a change of it writes what is declared', async () => {
    const forged = {
      created_by: 'root',
      signed_by: ['x'],
      key: 'x',
      type: 'rpm',
      status: 'never',
      seen: null,
      toString: 1,
    }
    const { status, body } = await target.call('PATCH', `/import/sources/${id}`, forged)
    expect([status, body]).toMatchObject([200, { created_by: 'admin', key: null, type: 'apt', status: 'ok' }])
  })

  test('M2: what it lists is what it brings', async () => {
    const wanted = { source_id: id, package: 'nice-tool', version: '1.0-1', arch: 'amd64', distribution: 'jammy' }
    expect(await target.call('POST', '/import/packages', wanted)).toMatchObject({
      status: 502,
      body: { code: 'upstream_error', reason: 'malformed' },
    })
    expect((await target.call('GET', '/artifacts/openssl')).status).toBe(404)
  })

  test('L2: a mirror keeps no keys that it does not know', async () => {
    const selection = { names: ['nice-tool'], distribution: 'jammy', no_such: 1, id: 7, label: 'x' }
    const { status, body } = await target.call('PUT', `/import/mirror/sources/${id}`, selection)
    expect(status).toBe(200)
    expect(Object.keys(body.selection as object)).not.toEqual(expect.arrayContaining(['no_such']))
    expect((body.selection as Record<string, unknown>)['id']).toBeUndefined()
  })
})

test('M5: an upload whose token is revoked in its middle publishes nothing', async () => {
  const made = await tokenWith('half-way', {})
  const body = await formOf('half-way')
  const socket = await openSocket(target.api)
  socket.write(
    `POST /api/v1/upload HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${made.token}\r\nexpect: 100-continue\r\n` +
      `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  expect(String((await once(socket, 'data'))[0])).toContain('100 Continue')
  socket.write(body.subarray(0, body.length / 2))
  await target.call('DELETE', `/auth/api-tokens/${made.token_id}`)
  socket.write(body.subarray(body.length / 2))
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 401/)
  socket.destroy()
  expect((await target.call('GET', '/artifacts/half-way')).status).toBe(404)
})

test('M6: malware in containers without a magic is found in each of them', async () => {
  for (const [title, name, content] of unmarked()) {
    const package_ = `m6-${title.replaceAll(' ', '-').toLowerCase()}`
    const deb = await buildDeb({ name: package_, files: { [`opt/${name}`]: content } })
    const { body } = await target.upload(deb, 'a.deb', { distribution: 'jammy' })
    expect([title, body.status, body.pipeline?.antivirus]).toEqual([title, 'quarantined', 'infected'])
  }
})

test.each(['[::ffff:0:169.254.169.254]', '[fd20:ce::254]', '[fd00:42::42]', '169.254.169.254'])(
  'L1: %s is no address to read from',
  async (host) => {
    const wanted = { name: host, type: 'apt', url: `http://${host}/`, distribution: 'test', allow_unsigned: true }
    const { status, body } = await target.call('POST', '/import/sources', wanted)
    expect([status, body.code]).toEqual([400, 'forbidden_target'])
  },
)

describe('webhooks', () => {
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
    const reply = await fetch(`${target.api}/webhooks/kev`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature, ...headers },
      body,
    })
    return { status: reply.status, body: (await reply.json()) as { status?: string; code?: string } }
  }

  test('L4: a delivery is taken once, whatever id it has', async () => {
    const body = '[{"cveID":"CVE-2026-0001"}]'
    const statuses = []
    for (const id of ['a', 'b', 'c']) statuses.push((await post(body, { 'x-github-delivery': id })).body.status)
    expect(statuses).toEqual(['processed', 'duplicate', 'duplicate'])
  })

  test('L5: a body of a million keys is refused without holding others', async () => {
    const body = `{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":1`).join(',')}}`
    const measured = await target.measure(() => post(body))
    expect(codeOf(measured.result)).toEqual([400, 'validation_error'])
    expectHarmless('a signed webhook of a million keys', measured)
  })
})

describe('a held package', () => {
  beforeAll(async () => {
    await target.call('PATCH', '/settings/', { validation: { on_unscanned: 'hold' } })
    const { body } = await target.upload(await buildDeb({ name: 'held' }), 'a.deb', { distribution: 'jammy' })
    expect(body.status).toBe('pending_review')
  })
  const decide = (more: object) =>
    target.call('POST', '/security/packages/held/1.0-1/decide', { decision: 'approve', justification: 'seen', ...more })

  test('L6: is not approved with a reason that nobody can see', async () => {
    for (const justification of ['\u200b', '\u00ad \u2060', '...', ''])
      expect(codeOf(await decide({ justification }))).toEqual([400, 'validation_error'])
  })

  test('L10: is not approved for one that was there before', async () => {
    const seen = (await target.call('GET', '/security/packages/held/1.0-1/evidence')).body.sha256 as string
    await target.call('DELETE', '/artifacts/held/1.0-1')
    const other = await buildDeb({ name: 'held', files: { 'usr/bin/other': 'x' } })
    expect((await target.upload(other, 'a.deb', { distribution: 'jammy' })).body.status).toBe('pending_review')
    expect(codeOf(await decide({ sha256: seen }))).toEqual([409, 'bytes_changed'])
    expect((await target.call('GET', '/artifacts/held')).body.manifest_status).toBe('pending_review')
    await target.call('PATCH', '/settings/', { validation: { on_unscanned: 'allow' } })
  })
})

test('L7: a stored password is not sent to another host', async () => {
  let said = ''
  const host = await serve((socket) => {
    socket.write('220 evil ESMTP\r\n')
    socket.on('data', (line: Buffer) => {
      said += line.toString()
      socket.write(line.toString().startsWith('EHLO') ? '250-evil\r\n250 AUTH PLAIN LOGIN\r\n' : '535 no\r\n')
    })
  })
  const email = { smtp_host: 'mail.example.org', smtp_user: 'gate', smtp_password: 'hunter2-secret', use_tls: false }
  await target.call('PATCH', '/settings/', {
    email: { ...email, from_address: 'a@example.org', to_addresses: 'b@example.org' },
  })
  const moved = { smtp_host: '127.0.0.1', smtp_port: Number(host.split(':')[1]) }
  expect(codeOf(await target.call('PATCH', '/settings/', { email: moved }))).toEqual([400, 'validation_error'])
  await target.call('PATCH', '/settings/', { email: { ...moved, smtp_password: 'for-the-new-one' } })
  await target.call('POST', '/settings/test-email')
  const sent = [said, ...said.split(/\s/).map((word) => Buffer.from(word, 'base64').toString('latin1'))].join('\n')
  expect(sent).toContain('for-the-new-one')
  expect(sent).not.toContain('hunter2-secret')
  await target.call('PATCH', '/settings/', { email: { smtp_host: '', smtp_password: '' } })
})

test('L8: a sign-in that announces 1 GB is answered before it comes', async () => {
  const socket = await openSocket(target.console)
  socket.write(
    `POST /session HTTP/1.1\r\nhost: ${new URL(target.console).host}\r\norigin: ${target.console}\r\n` +
      'content-type: application/json\r\ncontent-length: 1000000000\r\n\r\n{',
  )
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 413/)
  socket.destroy()
})

describe('L9: a token with scopes', () => {
  test('brings nothing that takes the place of another package', async () => {
    const { token } = await tokenWith('team-a', { scopes: { actions: ['upload'], names: ['team-a-*'] } })
    const file = await buildDeb({ name: 'team-a-x', fields: { Provides: 'team-b-tool', Replaces: 'team-b-tool' } })
    const reply = await target.upload(file, 'a.deb', { distribution: 'jammy' }, bearer(token))
    expect(codeOf(reply)).toEqual([403, 'forbidden'])
  })

  test('makes none that outlives it', async () => {
    const brief = await tokenWith('brief', { expires_days: 1 })
    const made = await target.call('POST', '/auth/api-tokens', { name: 'heir', role: 'admin' }, bearer(brief.token))
    expect(made.body.expires_at).toBe(brief.expires_at)
    await target.call('DELETE', `/auth/api-tokens/${brief.token_id}`)
    expect((await target.call('GET', '/auth/me', undefined, bearer(made.body.token as string))).status).toBe(401)
  })
})

describe('a CI provider', () => {
  const set = (claims: object) => {
    const publisher = { name: 'release', issuer: issuer.url, audience: 'gate', claims, role: 'uploader' }
    return target.call('PATCH', '/settings/', { trusted_publishing: { publishers: [publisher] } })
  }

  test.each(['environment:production:*', 'a/*', 'repo:*', '*'])('L9: %s names no owner', async (sub) => {
    expect(codeOf(await set({ sub }))).toEqual([400, 'validation_error'])
  })

  test('L11: NUL in a claim is a token that is not accepted', async () => {
    expect((await set({ repository: 'acme/tools' })).status).toBe(200)
    const now = Math.floor(Date.now() / 1000)
    const job = { iss: issuer.url, aud: 'gate', repository: 'acme/tools', iat: now, exp: now + 60 }
    for (const claims of [{ sub: 's\0' }, { sub: 's', actor: 'a\0b' }, { sub: 's', jti: '\0' }]) {
      const token = await issuer.sign({ ...job, ...claims })
      expect(codeOf(await target.call('POST', '/auth/oidc/exchange', { token }))).toEqual([401, 'unauthorized'])
    }
  })
})

test('L12: a directory that announces 2 GB holds nobody', async () => {
  const host = await serve((socket) =>
    socket.once('data', () => {
      socket.write(Buffer.from('3084800000000201016184800000', 'hex'))
      const more = () => {
        if (!socket.destroyed) socket.write(Buffer.alloc(64 * 1024), () => setImmediate(more))
      }
      more()
    }),
  )
  const port = Number(host.split(':')[1])
  const ldap = { enabled: true, host: '127.0.0.1', port, base_dn: 'dc=x', bind_dn: 'cn=x', bind_password: 'x' }
  expect((await target.call('PATCH', '/settings/', { ldap })).status).toBe(200)
  const measured = await target.measure(() => target.call('POST', '/settings/test-ldap'))
  expect(measured.result.body.status).not.toBe('ok')
  expectHarmless('a directory that announces 2 GB', measured)
  await target.call('PATCH', '/settings/', { ldap: { enabled: false, host: '', bind_password: '' } })
})

test('L13: an event stream closes the connection of who asked for that', async () => {
  const body = await formOf('streamed')
  const socket = await openSocket(target.api)
  let said = ''
  socket.on('data', (piece: Buffer) => (said += piece.toString()))
  socket.write(
    `POST /api/v1/upload/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${target.token}\r\nconnection: close\r\n` +
      `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  socket.write(body)
  expect(await closedBy([socket], 20_000)).toBe(1)
  expect(said).toMatch(/^HTTP\/1\.1 200 [^]*connection: close[^]*data: done/i)
})
