// deploy/nginx in a real nginx, in front of a real service: every package client, TLS, and the client addresses in the logs.
import { createHash, X509Certificate } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { apkClients } from '../clients/apk-roots.ts'
import { createAptRoot, secondIsOver } from '../clients/apt-root.ts'
import { dnf } from '../clients/dnf-root.ts'
import { zypper } from '../clients/zypper-root.ts'
import { selfSigned } from '../fakes/certificate.ts'
import { need } from '../need.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { ADMIN, startService, type Service } from '../service.ts'
import { startNginx, type Nginx } from './nginx.ts'

/** An address of this machine that no configuration names. */
const CLIENT = '127.0.0.9'

let base: string
let service: Service
let nginx: Nginx
let pem: string

beforeAll(async () => {
  need('nginx-light', 'fakeroot', ...dnf.needs, ...zypper.needs)
  base = await mkdtemp(join(tmpdir(), 'deploy-'))
  await chmod(base, 0o711)
  service = await startService({
    reposDir: join(base, 'repos'),
    env: {
      REPO_FORMAT: 'all',
      TRUSTED_PROXIES: '127.0.0.1',
      SVC_DISTRIBUTIONS: 'bookworm,jammy,almalinux9,alpine3.21',
      CLIENT_CERTIFICATE_HEADER: 'X-Client-Certificate',
    },
  })
  pem = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  await publish('1.0')
})
afterAll(async () => {
  await service?.stop()
  await rm(base, { recursive: true, force: true })
})

/** Publishes a version of `hello` in each format. */
async function publish(version: string): Promise<void> {
  for (const [distribution, file] of [
    ['bookworm', await buildDeb({ name: 'hello', version })],
    ['almalinux9', await buildRpm({ name: 'hello', version })],
    ['alpine3.21', buildApk({ name: 'hello', version: `${version}-r0` })],
  ] as const) {
    const { status, body } = await service.upload(file, 'hello', { distribution })
    expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
  }
}

/** Changes of rights count within this time. */
const SEEN = { timeout: 10_000, interval: 100 }

interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  from?: string
  /** of the client */
  certificate?: { key: string; cert: string }
}

/** One request on a separate connection, over TLS with nginx's certificate as the only authority. */
function open(
  url: string,
  { method = 'GET', headers = {}, body, from = CLIENT, certificate }: Asked = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest
    // The path is sent unchanged.
    const [, origin = '', path = '/'] = /^(https?:\/\/[^/]+)(\/.*)?$/.exec(url) ?? []
    const options = {
      method,
      headers,
      path,
      agent: false,
      localAddress: from,
      family: from.includes(':') ? 6 : 4,
      ca: nginx.certificate.pem,
      ...certificate,
      // That of the certificate, also for an address.
      servername: 'localhost',
    }
    send(origin, options, resolve).once('error', reject).end(body)
  })
}

async function ask(url: string, asked?: Asked): Promise<{ status: number; text: string; message: IncomingMessage }> {
  const message = await open(url, asked)
  return { status: message.statusCode ?? 0, text: await text(message), message }
}

/** The lines of the access log of a listener that name the client of the tests. */
async function loggedBy(listener: 'apt' | 'rpm'): Promise<string[]> {
  const lines = (await readFile(join(service.reposDir, `logs/access-${listener}.log`), 'latin1').catch(() => '')).split(
    '\n',
  )
  return lines.filter((line) => line.startsWith(`${CLIENT} `))
}

/** The path of the newest `hello` in the index of bookworm. */
async function packagePath(): Promise<string> {
  const index = await ask(`${nginx.urls.apt}/repos/dists/bookworm/main/binary-amd64/Packages`)
  return `/repos/${[...index.text.matchAll(/^Filename: (.+)$/gm)].at(-1)?.[1]}`
}

describe.each([
  ['passes everything on', false, '1.1'],
  ['sends packages from the disk', true, '1.2'],
] as const)('nginx that %s', (_, fromDisk, next) => {
  beforeAll(async () => {
    nginx = await startNginx(service, { fromDisk })
  })
  afterAll(() => nginx?.stop())

  test.each(['compressed', 'plain'])('apt installs with %s indexes, and sees what is published next', async (form) => {
    const config = form === 'plain' ? 'Acquire::CompressionTypes::Order "uncompressed"; Acquire::By-Hash "no";' : ''
    const root = await createAptRoot({ url: `${nginx.urls.apt}/repos`, suite: 'bookworm', key: pem, config })
    await secondIsOver(`${nginx.urls.apt}/repos/dists/bookworm/InRelease`)
    try {
      const { code, text } = await root.update()
      expect([code, text]).toEqual([0, expect.not.stringMatching(/^(W|E|Err):/m)])
      expect((await root.run('apt-get', 'install', 'hello')).code).toBe(0)
      expect(Object.keys(await root.installed())).toEqual(['hello'])
      expect((await root.update()).text).toMatch(/^Hit:1 /m)
      if (form === 'plain') return
      await publish(next)
      expect((await root.update()).code).toBe(0)
      expect((await root.versions('hello'))[0]).toBe(next)
      expect((await root.run('apt-get', 'upgrade')).code).toBe(0)
      expect(await root.installed()).toEqual({ hello: next })
    } finally {
      await root.remove()
    }
  })

  test.each([dnf, zypper])('$name verifies and downloads', async (client) => {
    const root = await client.createRoot({ url: `${nginx.urls.rpm}/repos/almalinux9/x86_64/`, key: pem })
    try {
      expect(await root.refresh()).toMatchObject({ code: 0 })
      expect(await root.download('hello')).toMatchObject({ code: 0 })
    } finally {
      await root.dispose()
    }
  })

  test.each(apkClients())('$name installs', async (client) => {
    await client.prepare()
    const key = await (await fetch(`${service.apt}/apk/svc.rsa.pub`)).text()
    const url = `${nginx.urls.apt}/apk/alpine3.21/main`
    const root = await client.createRoot({ url, keys: [{ name: 'svc.rsa.pub', pem: key }] })
    try {
      const { code, text } = await root.add('hello')
      expect(code, text).toBe(0)
      expect(Object.keys(await root.installed())).toEqual(['hello'])
    } finally {
      await root.remove()
    }
  })

  test('a plain index has the bytes of the compressed one, which the Release lists', async () => {
    const place = `${nginx.urls.apt}/repos/dists/bookworm`
    const plain = await ask(`${place}/main/binary-amd64/Packages`)
    const packed = await open(`${place}/main/binary-amd64/Packages.gz`)
    const unpacked = gunzipSync(await buffer(packed))
    expect(plain.text).toBe(unpacked.toString())
    const digest = createHash('sha256').update(unpacked).digest('hex')
    expect((await ask(`${place}/Release`)).text).toContain(`${digest} ${unpacked.length} main/binary-amd64/Packages\n`)
  })

  test('a download is logged once, with the address of the client and not the one it claims', async () => {
    const path = await packagePath()
    const answer = await ask(nginx.urls.apt + path, { headers: { 'x-forwarded-for': '192.0.2.1' } })
    expect([answer.status, answer.message.headers['cache-control']]).toEqual([
      200,
      'public, max-age=2592000, immutable',
    ])
    const mine = async () => {
      const inNginx = (await nginx.log('gatehouse-apt-files.log')).split('\n').filter((line) => line.startsWith(CLIENT))
      const named = (lines: string[]) => lines.filter((line) => line.includes(`"GET ${path} `)).length
      return { nginx: named(inNginx), listener: named(await loggedBy('apt')) }
    }
    await expect.poll(mine).toEqual(fromDisk ? { nginx: 1, listener: 0 } : { nginx: 0, listener: 1 })
    await expect.poll(async () => (await loggedBy('apt')).some((line) => line.includes('/Packages '))).toBe(true)
  })

  test('a download is continued', async () => {
    const path = await packagePath()
    const whole = await ask(nginx.urls.apt + path)
    const headers = { range: 'bytes=100-', 'if-range': whole.message.headers.etag! }
    const rest = await ask(nginx.urls.apt + path, { headers })
    expect([rest.status, rest.message.headers['content-range']]).toEqual([
      206,
      expect.stringMatching(/^bytes 100-\d+\/\d+$/),
    ])
  })

  test.each([
    '/repos/dists/bookworm/pool/../../../settings.json',
    '/repos/dists/bookworm/pool/..%2f..%2f..%2fsettings.json',
    '/repos/dists/bookworm/pool/%2e%2e/%2e%2e/%2e%2e/gnupg/signing-key.asc',
    '/repos/dists/../pool/x.deb',
    '/repos/dists//../../gnupg/audit.key',
    '/repos/dists/bookworm/by-hash/SHA256/../../../../../settings.json',
    '/repos/settings.json',
    '/gnupg/signing-key.asc',
  ])('nothing but published files is sent for %s', async (path) => {
    for (const url of [nginx.urls.apt, nginx.urls.rpm]) {
      const { status } = await ask(url + path)
      expect([400, 404]).toContain(status)
    }
  })
})

describe('TLS', () => {
  beforeAll(async () => {
    nginx = await startNginx(service, { fromDisk: false })
  })
  afterAll(() => nginx?.stop())

  const login = () =>
    ask(`${nginx.urls.api}/api/v1/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' },
      body: JSON.stringify(ADMIN),
    })

  test('apt installs when it knows the authority, and refuses the certificate otherwise', async () => {
    const trusting = `Acquire::https::CaInfo "${nginx.certificate.path}";`
    const root = await createAptRoot({
      url: `${nginx.urls.aptTls}/repos`,
      suite: 'bookworm',
      key: pem,
      config: trusting,
    })
    try {
      expect((await root.update()).code).toBe(0)
      expect((await root.run('apt-get', 'install', 'hello')).code).toBe(0)
      await root.forget()
      await root.configure('')
      expect(await root.update()).toMatchObject({ code: 100, text: expect.stringMatching(/certificate/i) })
    } finally {
      await root.remove()
    }
  })

  test('dnf installs with the set-up file that it is handed, which names the address it used', async () => {
    const file = (await ask(`${nginx.urls.rpmTls}/repos/almalinux9.repo`)).text
    expect(file).toContain(`baseurl=${nginx.urls.rpmTls}/repos/almalinux9/`)
    const root = await dnf.createRoot({ url: `${nginx.urls.rpmTls}/repos/almalinux9/x86_64/`, key: pem })
    try {
      await root.useRepoFile(`${file.trim()}\nsslcacert=${nginx.certificate.path}\n`)
      const { code, text } = await root.install('hello')
      expect(code, text).toBe(0)
    } finally {
      await root.dispose()
    }
  })

  test('the audit log names the client of a login, not the address it claims', async () => {
    const { status, text } = await login()
    expect([status, JSON.parse(text).token_type]).toEqual([200, 'bearer'])
    const { body } = await service.call('GET', '/artifacts/audit/logs?action=LOGIN')
    expect(body.items[0]).toMatchObject({ user: ADMIN.username, ip: CLIENT })
  })

  test('an upload is passed on as it comes: it is refused before its body, and accepted whole', async () => {
    const form = new FormData()
    form.set('distribution', 'bookworm')
    const files = { 'usr/share/large': Buffer.alloc(3_000_000, 'large ') }
    form.set('file', new Blob([await buildDeb({ name: 'large', files, compression: 'none' })]), 'large.deb')
    const sent = new Response(form)
    const type = sent.headers.get('content-type')!
    const whole = new Uint8Array(await sent.arrayBuffer())
    const headers = { 'content-type': type, 'content-length': String(whole.length) }
    const url = `${nginx.urls.api}/api/v1/upload/`
    expect(await ask(url, { method: 'POST', headers })).toMatchObject({ status: 401 })
    const authorization = `Bearer ${service.token}`
    const accepted = await ask(url, { method: 'POST', headers: { ...headers, authorization }, body: whole })
    expect([accepted.status, JSON.parse(accepted.text).status]).toEqual([201, 'published'])
  })

  test('an event of the stream arrives when it happens', async () => {
    const authorization = `Bearer ${service.token}`
    const stream = await open(`${nginx.urls.api}/api/v1/dashboard/events`, { headers: { authorization } })
    expect(stream.statusCode).toBe(200)
    let seen = ''
    stream.setEncoding('utf8').on('data', (piece) => (seen += String(piece)))
    stream.on('error', () => {})
    await service.upload(await buildDeb({ name: 'streamed' }), 'streamed.deb', { distribution: 'bookworm' })
    await expect.poll(() => seen).toContain('streamed')
    stream.destroy()
  })

  test.each(['/metrics', '/metrics/', '/api/metrics', '/api//metrics', '/api/%6detrics'])(
    'metrics at %s are for this machine only',
    async (path) => {
      expect(await ask(nginx.urls.api + path)).toMatchObject({ status: 403 })
    },
  )

  test('Prometheus on this machine reads the metrics', async () => {
    const { status, text } = await ask(`${nginx.urls.api}/metrics`, { from: '127.0.0.1' })
    expect([status, text]).toEqual([200, expect.stringContaining('svc_packages_total')])
  })

  test('the console answers under its name, for https only', async () => {
    const { status, message } = await ask(nginx.urls.console)
    expect([status, message.headers['strict-transport-security']]).toEqual([200, 'max-age=31536000'])
  })

  test.each([
    ['console.example.org', 308, 'https://console.example.org/review?page=2'],
    ['api.example.org', 403, undefined],
    ['apt.example.org', 404, undefined],
    ['machines-that-know-another-name', 404, undefined],
  ])('without TLS, %s answers %i', async (host, status, location) => {
    const answer = await ask(`${nginx.urls.apt}/review?page=2`, { headers: { host } })
    expect([answer.status, answer.message.headers.location]).toEqual([status, location])
  })

  test('every server answers over IPv6 as well', async () => {
    const { port: apt } = new URL(nginx.urls.apt)
    const { status } = await ask(`http://[::1]:${apt}/repos/dists/bookworm/InRelease`, { from: '::1' })
    expect(status).toBe(200)
    for (const { port } of [nginx.urls.console, nginx.urls.api, nginx.urls.aptTls, nginx.urls.rpmTls].map(
      (url) => new URL(url),
    )) {
      const answer = await ask(`https://[::1]:${port}/`, { from: '::1' })
      expect(answer.status).toBeLessThan(500)
    }
  })
})

// Last, because every unknown name is answered 401 while anything is private.
describe.each([
  ['passes everything on', false],
  ['sends packages from the disk', true],
] as const)('a private distribution behind nginx that %s', (_, fromDisk) => {
  const machine = selfSigned('web-01')
  let authorization: string
  let machineId: number
  let paths: [base: string, path: string][]
  beforeAll(async () => {
    nginx = await startNginx(service, { fromDisk, authority: machine.cert })
    await service.upload(await buildDeb({ name: 'inner' }), 'inner.deb', { distribution: 'jammy' })
    const index = await ask(`${nginx.urls.apt}/repos/dists/jammy/main/binary-amd64/Packages`)
    const release = await ask(`${nginx.urls.apt}/repos/dists/jammy/Release`)
    const digest = /^ ([0-9a-f]{64}) +\d+ main\/binary-amd64\/Packages\.gz$/m.exec(release.text)?.[1]
    const rpms = await service.call('GET', '/distributions/almalinux9/packages')
    expect(rpms.body.total).toBeGreaterThan(0)
    paths = [
      [nginx.urls.apt, `/repos/${/^Filename: (.+)$/m.exec(index.text)?.[1]}`],
      [nginx.urls.apt, `/repos/dists/jammy/main/binary-amd64/by-hash/SHA256/${digest}`],
      [nginx.urls.apt, '/repos/dists/jammy/InRelease'],
      [nginx.urls.rpm, await rpmPath()],
      [nginx.urls.rpm, '/repos/almalinux9/x86_64/repodata/repomd.xml'],
    ]
    for (const [base, path] of paths) expect((await ask(base + path)).status, path).toBe(200)
    const fingerprint = new X509Certificate(machine.cert).fingerprint
    const wanted = { name: `web-${fromDisk}`, certificate: fingerprint }
    const made = await service.call('POST', '/machines', wanted)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    machineId = made.body.id
    authorization = `Basic ${Buffer.from(`machine:${made.body.token}`).toString('base64')}`
    for (const place of ['jammy', 'almalinux9']) {
      await service.call('PATCH', `/distributions/${place}`, { private: true })
      await service.call('POST', '/readers', { place, kind: 'machine', name: wanted.name })
    }
    await vi.waitFor(async () => {
      for (const [base, path] of paths) expect((await ask(base + path)).status).toBe(401)
      expect((await ask(url(0), { headers: { authorization } })).status).toBe(200)
    }, SEEN)
  })
  afterAll(async () => {
    for (const place of ['jammy', 'almalinux9'])
      await service.call('PATCH', `/distributions/${place}`, { private: false })
    await service.call('DELETE', `/machines/${machineId}`)
    const allArePublic = async () => {
      for (const [base, path] of paths) expect((await ask(base + path)).status, path).toBe(200)
    }
    await vi.waitFor(allArePublic, SEEN).finally(() => nginx.stop())
  })

  const url = (n: number) => paths[n]!.join('')

  /** The path of a package in the index of almalinux9. */
  async function rpmPath(): Promise<string> {
    const place = '/repos/almalinux9/x86_64'
    const { text: root } = await ask(`${nginx.urls.rpm}${place}/repodata/repomd.xml`)
    const primary = /href="([^"]*primary\.xml\.gz)"/.exec(root)?.[1]
    const packed = await buffer(await open(`${nginx.urls.rpm}${place}/${primary}`))
    return `${place}/${/<location href="([^"]+)"/.exec(gunzipSync(packed).toString())?.[1]}`
  }

  test.each([0, 1, 2, 3, 4])('file %i is sent with a token, and not without', async (n) => {
    const signedIn = await ask(url(n), { headers: { authorization } })
    expect([signedIn.status, signedIn.message.headers['cache-control']]).toEqual([
      200,
      expect.stringMatching(/^private/),
    ])
    for (const headers of [{}, { authorization: 'Basic eDp5' }, { range: 'bytes=0-9' }] as Record<string, string>[])
      for (const method of ['GET', 'HEAD']) {
        const refused = await ask(url(n), { method, headers })
        expect([refused.status, refused.message.headers['www-authenticate']]).toEqual([
          401,
          expect.stringContaining('Basic realm='),
        ])
        expect(refused.text).toBe(method === 'GET' ? 'unauthorized\n' : '')
      }
  })

  test('no spelling of its path gives a byte', async () => {
    const [, path] = paths[0]!
    for (const spelled of [
      path.replace('jammy', 'bookworm/../jammy'),
      path.replace('jammy', 'bookworm%2f..%2fjammy'),
      path.replace('jammy', 'bookworm/%2e%2e/jammy'),
      path.replace('jammy', '%6aammy'),
      path.replace('/dists/', '//dists//'),
      path.replace('/repos/', '/x/../repos/'),
      `${path}?/repos/dists/bookworm/InRelease`,
      `${path}#/../../bookworm`,
      path.replace('/repos/dists/', '/repos/dists/bookworm#/../'),
    ]) {
      const { status, text: body } = await ask(nginx.urls.apt + spelled)
      expect(status, spelled).toBeGreaterThanOrEqual(400)
      expect(body.length).toBeLessThan(600)
    }
  })

  test('a public one beside it is sent to everybody', async () => {
    const answer = await ask(nginx.urls.apt + (await packagePath()))
    expect([answer.status, answer.message.headers['cache-control']]).toEqual([
      200,
      'public, max-age=2592000, immutable',
    ])
  })

  test('the question of nginx is not for clients', async () => {
    expect((await ask(`${nginx.urls.apt}/gatehouse/access`)).status).toBe(fromDisk ? 404 : 400)
  })

  test('a client certificate signs in, and its header does not', async () => {
    const secure = nginx.urls.aptTls + paths[0]![1]
    expect((await ask(secure, { certificate: machine })).status).toBe(200)
    expect((await ask(secure)).status).toBe(401)
    const { fingerprint } = new X509Certificate(machine.cert)
    for (const base of [nginx.urls.aptTls, nginx.urls.apt])
      expect((await ask(base + paths[0]![1], { headers: { 'x-client-certificate': fingerprint } })).status).toBe(401)
    expect((await ask(secure, { certificate: selfSigned('web-01') })).status).toBe(400)
  })

  test.runIf(fromDisk)('the log of nginx names the machine, and nobody who claims a name', async () => {
    const claimed = `Basic ${Buffer.from('machine:x').toString('base64')}`
    await ask(nginx.urls.apt + (await packagePath()), { headers: { authorization: claimed } })
    await ask(url(0), { headers: { authorization } })
    const log = () => nginx.log('gatehouse-apt-files.log')
    await expect.poll(log).toContain(`${CLIENT} - machine:web-true [`)
    expect(await log()).not.toMatch(/ - machine \[/)
  })
})
