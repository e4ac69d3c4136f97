// Private distributions over real sockets: who gets a byte, by which path, and what the others learn.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createClientAddress, createTrust } from '../../kernel/client-address.ts'
import { createRepository, startListener, type Repository, type TestListener } from '../listener.fixture.ts'
import { createAccessFiles, tokenOf } from './access.fixture.ts'
import { newFactsKey } from './facts.ts'
import type { KnownAccess } from './known-access.ts'

const TOKEN = tokenOf('a')
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
const GOOD = basic(`machine:${TOKEN}`)
const DEB = 'pool/aa/hello_1_amd64.deb'
const HOUR = 3_600_000

let repository: Repository
let files: ReturnType<typeof createAccessFiles>
let known: KnownAccess
let server: TestListener
let now = Date.now()

beforeAll(async () => {
  repository = createRepository()
  const { write, publish, link, dir } = repository
  write('keys/gpg.key', 'PUBLIC KEY')
  const generations: Record<string, string> = {}
  for (const codename of ['jammy', 'secret', 'other']) {
    generations[codename] = publish(codename, {
      InRelease: `release of ${codename}`,
      'main/binary-amd64/Packages': 'index',
    })
    write(`.generations/deb/${codename}/${DEB}`, `package of ${codename}`)
    write(`.generations/deb/${codename}/by-hash/SHA256/abcdef`, `old index of ${codename}`)
  }
  write('.generations/deb/secret/r0-former/InRelease', 'former release')
  // Names that lead to it: another one, one of a former build, and links that a person made.
  link('dists/alias', `../${generations['secret']}`)
  link('dists/former', 'secret')
  link('.generations/deb/jammy/pool/deep', '../../secret/pool')
  write('apk/inner/main/x86_64/hello-1-r0.apk', 'apk')
  files = createAccessFiles(dir)
  known = files.known({ clock: { now: () => new Date(now) } })
})
afterAll(async () => {
  known.stop()
  await server?.close(1000)
  repository.remove()
})

/** A listener that has read the facts as they are now. */
async function listen(certificateHeader: string | null = null): Promise<void> {
  await server?.close(1000)
  known.stop()
  known = files.known({ clock: { now: () => new Date(now) } })
  await known.start()
  server = await startListener(repository.dir, {
    clientAddress: createClientAddress(['127.0.0.1']),
    signIn: {
      ...{ known, declared: new Set(['jammy', 'secret', 'other', 'inner', 'unpublished']), certificateHeader },
      trusts: createTrust(['127.0.0.1']),
    },
    setup: ({ url = '' }) => (/^\/repos\/(secret|jammy)\.sources$/.test(url) ? 'SET-UP' : null),
  })
}

beforeEach(async () => {
  now = Date.now()
  files.write({ private: ['secret', 'other', 'inner'], tokens: { [TOKEN]: ['secret', 'inner'], [tokenOf('b')]: [] } })
  await known.look()
})

const PATHS = [
  '/repos/dists/secret/InRelease',
  `/repos/dists/secret/${DEB}`,
  '/repos/dists/secret/main/binary-amd64/Packages',
  '/repos/dists/secret/main/binary-amd64/by-hash/SHA256/abcdef',
  '/repos/dists/alias/InRelease',
  '/repos/dists/former/InRelease',
  '/repos/secret.sources',
  '/repos//dists//secret//InRelease',
  '/repos/dists/%73ecret/InRelease',
  '/repos/dists/secret/InRelease?x=/repos/dists/jammy/InRelease',
  'http://x/repos/dists/secret/InRelease',
  '/apk/inner/main/x86_64/hello-1-r0.apk',
]

describe('who gets a private file', () => {
  beforeAll(() => listen())

  test.each(PATHS)('%s needs a credential with a right', async (path) => {
    expect((await server.get(path, GOOD)).status).toBe(200)
    expect((await server.get(path, { authorization: `Bearer ${TOKEN}` })).status).toBe(200)
    expect((await server.get(path, basic(`${TOKEN}:`))).status).toBe(200)
    expect((await server.head(path, GOOD)).status).toBe(200)
    for (const headers of [{}, basic(`machine:${tokenOf('b')}`), basic('machine:wrong'), { range: 'bytes=0-3' }])
      for (const method of ['GET', 'HEAD']) {
        const answer = await server.ask(method, path, headers as Record<string, string>)
        expect(answer.status).toBe(401)
        expect(answer.headers['www-authenticate']).toBe('Basic realm="Gatehouse packages", charset="UTF-8"')
        expect(answer.text).toBe(method === 'GET' ? 'unauthorized\n' : '')
      }
  })

  test.each([
    ['a link from a public tree into a private one', `/repos/dists/jammy/pool/deep/aa/hello_1_amd64.deb`],
    ['out of a public tree', '/repos/dists/jammy/../secret/InRelease'],
    ['out of it, encoded', '/repos/dists/jammy/%2e%2e/secret/InRelease'],
    ['out of it, encoded twice', '/repos/dists/jammy/%252e%252e/secret/InRelease'],
    ['an encoded slash', '/repos/dists/jammy%2f..%2fsecret/InRelease'],
    ['capitals', '/repos/dists/SECRET/InRelease'],
    ['the place encoded twice', '/repos/dists/%2573ecret/InRelease'],
    ['a generation', '/repos/dists/secret/r0-former/InRelease'],
    ['generations by their directory', '/.generations/deb/secret/r0-former/InRelease'],
    ['the facts', '/access/stamp'],
    ['a path with a NUL', '/repos/dists/secret%00/InRelease'],
    ['a parameter', '/repos/dists/secret;x/InRelease'],
  ])('%s gives nothing, with a right and without', async (_, path) => {
    for (const headers of [{}, GOOD] as Record<string, string>[]) {
      const answer = await server.get(path, headers)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.text).not.toMatch(/release|package|index/)
    }
  })

  test('a right to one place is none to another', async () => {
    expect((await server.get('/repos/dists/other/InRelease', GOOD)).status).toBe(401)
  })

  test('a public file needs no credential, and a wrong one does no harm', async () => {
    for (const headers of [{}, GOOD, basic('x:wrong'), { authorization: 'nonsense' }] as Record<string, string>[]) {
      expect((await server.get('/repos/dists/jammy/InRelease', headers)).text).toBe('release of jammy')
      expect((await server.get('/repos/gpg.key', headers)).text).toBe('PUBLIC KEY')
      expect((await server.get('/repos/dists/jammy/missing', headers)).status).toBe(404)
    }
  })

  test('shared caches keep public files only', async () => {
    const control = async (path: string) => (await server.get(path, GOOD)).headers['cache-control']
    expect(await control(`/repos/dists/secret/${DEB}`)).toMatch(/^private, max-age=/)
    expect(await control('/repos/dists/secret/InRelease')).toBe('private, no-cache')
    expect(await control(`/repos/dists/jammy/${DEB}`)).toMatch(/^public, max-age=/)
  })

  test('unknown and private names are answered alike', async () => {
    const shape = async (path: string, headers: Record<string, string>) => {
      const { status, text, headers: got } = await server.get(path, headers)
      return { status, text, headers: { ...got, date: '' } }
    }
    for (const headers of [{}, GOOD, basic('x:y'), basic(`machine:${tokenOf('b')}`)])
      for (const path of [
        '/repos/dists/NAME/InRelease',
        '/repos/NAME.sources',
        '/repos/dists/NAME/pool/x.deb',
        '/apk/NAME/x',
      ])
        expect(await shape(path.replace('NAME', 'other'), headers)).toEqual(
          await shape(path.replace('NAME', 'nothing'), headers),
        )
  })

  test('a distribution that is declared and not published yet is public', async () => {
    expect((await server.get('/repos/dists/unpublished/InRelease')).status).toBe(404)
  })

  test('the access log has the name of the credential, and never a secret', async () => {
    await server.get('/repos/dists/secret/InRelease', GOOD)
    await server.raw(
      `GET http://machine:${TOKEN}@host/repos/dists/secret/InRelease HTTP/1.1\r\nHost: host\r\nReferer: http://machine:${TOKEN}@host/\r\nConnection: close\r\n\r\n`,
    )
    await server.accessLog.flush()
    const text = readFileSync(server.accessPath, 'utf8')
    expect(text).toContain('127.0.0.1 - machine:m0 [')
    expect(text).not.toContain(TOKEN)
  })

  test('an address that guesses is slowed, and good credentials behind it are not', async () => {
    const from = { 'x-forwarded-for': '192.0.2.1' }
    const statuses = new Set<number>()
    for (let n = 0; n < 130; n++)
      statuses.add((await server.get('/repos/dists/secret/InRelease', { ...from, ...basic(`x:${n}`) })).status)
    expect([...statuses]).toEqual([401, 429])
    expect((await server.get('/repos/dists/secret/InRelease', { ...from, ...GOOD })).status).toBe(200)
    expect((await server.get('/repos/dists/secret/InRelease', from)).status).toBe(401)
    expect(
      (await server.get('/repos/dists/secret/InRelease', { ...basic('x:y'), 'x-forwarded-for': '192.0.2.2' })).status,
    ).toBe(401)
    expect((await server.get('/repos/dists/jammy/InRelease', { ...from, ...basic('x:y') })).status).toBe(200)
  })

  test('a proxy that sends files itself asks first', async () => {
    const ask = (uri: string, headers = {}) => server.get('/gatehouse/access', { 'x-original-uri': uri, ...headers })
    expect((await ask(`/repos/dists/jammy/${DEB}`)).status).toBe(204)
    const admitted = await ask(`/repos/dists/secret/${DEB}`, GOOD)
    expect([admitted.status, admitted.headers['x-gatehouse-reader']]).toEqual([204, 'machine:m0'])
    for (const uri of [`/repos/dists/secret/${DEB}`, '/repos/dists/former/InRelease', '/repos/dists/nothing/x'])
      expect((await ask(uri)).status).toBe(401)
    for (const uri of ['', '/repos/dists/jammy/../secret/InRelease', '/repos/dists/jammy%2f..%2fsecret/x'])
      expect((await ask(uri)).status).toBeGreaterThanOrEqual(400)
  })
})

test('a certificate that a trusted proxy names is a credential', async () => {
  files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] }, certificates: { 'cn=web-01': TOKEN } })
  await listen('x-client-certificate')
  const get = (value: string) => server.get('/repos/dists/secret/InRelease', { 'x-client-certificate': value })
  expect((await get('CN=web-01')).status).toBe(200)
  expect((await get('CN=web-02')).status).toBe(401)
  expect((await get('')).status).toBe(401)
  await listen(null)
  expect((await get('CN=web-01')).status).toBe(401)
})

describe('facts that are no longer true, or not to be trusted', () => {
  const status = async (path = '/repos/dists/secret/InRelease') => (await server.get(path, GOOD)).status

  test('rights and revocations count with the next facts', async () => {
    await listen()
    expect(await status()).toBe(200)
    files.write({ private: ['secret'], tokens: {} }, Date.now() + 1)
    await known.look()
    expect(await status()).toBe(401)
    files.write({ private: [], tokens: {} }, Date.now() + 2)
    await known.look()
    expect(await status()).toBe(200)
  })

  test('a token ends at its time', async () => {
    files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] }, ends: now + HOUR })
    await listen()
    expect(await status()).toBe(200)
    now += HOUR + 1
    expect(await status()).toBe(401)
  })

  test.each<[string, () => void]>([
    ['missing', () => rmSync(files.stampPath)],
    ['empty', () => writeFileSync(files.stampPath, '')],
    ['cut off', () => writeFileSync(files.stampPath, '{"version":1,')],
    ['not signed', () => writeFileSync(files.stampPath, '{"version":1,"at":1,"digest":"x"}\n\n')],
    [
      'signed by another',
      () => void files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] } }, now, newFactsKey()),
    ],
    ['from the future', () => void files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] } }, now + HOUR)],
    ['too old', () => void files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] } }, now - 25 * HOUR)],
    ['without their list', () => rmSync(files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] } }))],
    ['with another list', () => writeFileSync(files.write({ private: ['secret'] }), '{"version":1,"private":[]}')],
  ])('facts that are %s: private places answer 503, public ones go on', async (_, spoil) => {
    files.mark('secret')
    spoil()
    await listen()
    const answer = await server.get('/repos/dists/secret/InRelease', GOOD)
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '30'])
    expect(await status('/repos/dists/nothing/InRelease')).toBe(503)
    expect(await status('/repos/dists/jammy/InRelease')).toBe(200)
    expect(
      (await server.get('/gatehouse/access', { ...GOOD, 'x-original-uri': '/repos/dists/secret/InRelease' })).status,
    ).toBe(503)
    files.unmark('secret')
  })

  test('a listener goes on with its facts for a day, and nothing becomes public when they are lost', async () => {
    await listen()
    now += 23 * HOUR
    expect(await status()).toBe(200)
    now += 2 * HOUR
    expect(await status()).toBe(503)
    now = Date.now()
    rmSync(files.stampPath)
    await known.look()
    expect(await status()).toBe(503)
    expect((await server.get('/repos/dists/secret/InRelease')).status).toBe(503)
  })

  test('an older stamp of a slow replica changes nothing', async () => {
    files.write({ private: ['secret'], tokens: {} }, now)
    await listen()
    files.write({ private: ['secret'], tokens: { [TOKEN]: ['secret'] } }, now - 5000)
    await known.look()
    expect(await status()).toBe(401)
  })

  test('before anything was private nobody needs the files', async () => {
    rmSync(join(repository.dir, 'access'), { recursive: true })
    await listen()
    expect(await status()).toBe(200)
    expect(await status('/repos/dists/nothing/InRelease')).toBe(404)
  })
})
