// The set-up files of every distribution are complete, and the address that a client sends cannot change their content.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formats } from '../formats/index.ts'
import { createClientSetups, createSetupAnswer } from './client-setups.ts'
import { createRepository, startListener, type Repository, type TestListener } from './listener.fixture.ts'

const ARMORED = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n=BBBB\n-----END PGP PUBLIC KEY BLOCK-----\n'
const PEM = '-----BEGIN PUBLIC KEY-----\nCCCC\n-----END PUBLIC KEY-----\n'
const all = formats.flatMap((format) => format.distributions.map((distribution) => ({ format, distribution })))
const setups = createClientSetups(all, () => ({ openpgpArmored: ARMORED, apk: { name: 'svc.rsa.pub', pem: PEM } }))
const URL = 'https://packages.example.org'

describe('the file for', () => {
  test('apt has the key inside', () => {
    expect(setups.find('apt', '/repos/jammy.sources', URL))
      .toBe(`# Gatehouse packages for Ubuntu 22.04 LTS (Jammy Jellyfish)
Types: deb
URIs: ${URL}/repos
Suites: jammy
Components: main
Architectures: amd64
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 AAAA
 =BBBB
 -----END PGP PUBLIC KEY BLOCK-----
`)
  })

  test('apt of a distribution with several architectures leaves them to apt', () => {
    const several = all.map(({ format, distribution }) => ({
      format,
      distribution: { ...distribution, architectures: ['amd64', 'arm64'] },
    }))
    const keys = { openpgpArmored: ARMORED, apk: { name: 'svc.rsa.pub', pem: PEM } }
    const file = createClientSetups(several, () => keys).find('apt', '/repos/jammy.sources', URL)
    expect(file).toContain('Components: main\nSigned-By:')
  })

  test('an apt that cannot read a key inside names a key file', () => {
    expect(setups.find('apt', '/repos/focal.sources', URL)).toContain('Signed-By: /etc/apt/keyrings/gatehouse.asc\n')
    expect(setups.find('apt', '/repos/focal.sh', URL)).toContain(`> /etc/apt/keyrings/gatehouse.asc <<'GATEHOUSE'`)
  })

  test('dnf and zypper demands signed packages and metadata', () => {
    expect(setups.find('rpm', '/repos/opensuse-leap-15.6.repo', URL)).toBe(`[gatehouse-opensuse-leap-15.6]
name=Gatehouse packages for openSUSE Leap 15.6
baseurl=${URL}/repos/opensuse-leap-15.6/x86_64/
enabled=1
autorefresh=1
type=rpm-md
gpgcheck=1
repo_gpgcheck=1
gpgkey=${URL}/repos/gpg.key
`)
  })

  test('apk is one line', () => {
    expect(setups.find('apt', '/repos/alpine3.20.list', URL)).toBe(`${URL}/apk/alpine3.20/main\n`)
  })
})

describe.each(all)('$distribution.codename', ({ format, distribution: { codename } }) => {
  const { listener } = format.serving

  test('has a file and a script on its listener only', () => {
    const { file } = format.serving.setup({
      distribution: format.distributions[0]!,
      url: URL,
      keys: { openpgpArmored: ARMORED, apk: { name: 'k', pem: PEM } },
    })
    const other = listener === 'apt' ? 'rpm' : 'apt'
    for (const suffix of [file.suffix, '.sh']) {
      expect(setups.find(listener, `/repos/${codename}${suffix}`, URL)).toContain(URL)
      expect(setups.find(other, `/repos/${codename}${suffix}`, URL)).toBe(null)
    }
    expect(setups.find(listener, `/repos/${codename}.exe`, URL)).toBe(null)
    expect(setups.find(listener, `/repos/${codename}`, URL)).toBe(null)
  })

  test('has a command that fetches its script', () => {
    const { command } = setups.of(codename, { apt: 'http://a', rpm: 'http://b:8080' })!
    expect(command).toContain(` ${listener === 'apt' ? 'http://a' : 'http://b:8080'}/repos/${codename}.sh | `)
  })
})

describe('on a listener', () => {
  let repository: Repository
  let server: TestListener
  beforeEach(async () => {
    repository = createRepository()
    server = await startListener(repository.dir, {
      setup: createSetupAnswer(
        'apt',
        setups,
        () => null,
        () => false,
      ),
    })
  })
  afterEach(async () => {
    await server.close(1000)
    repository.remove()
  })

  test('names the address the client used, and is never cached', async () => {
    const { status, text, headers } = await server.get('/repos/jammy.sources?x=1', { host: 'repo.example:8081' })
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'no-store',
    ])
    expect(headers.vary).toContain('Host')
    expect(text).toContain('URIs: http://repo.example:8081/repos\n')
    const head = await server.head('/repos/jammy.sources', { host: 'repo.example:8081' })
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': String(text.length) } })
  })

  test.each(["x';reboot;'", '$(reboot)', 'a\tb', 'x`id`', 'user@host', 'a"b'])(
    'a Host of %j never reaches a script',
    async (host) => {
      const { text } = await server.get('/repos/jammy.sh', { host, 'x-forwarded-host': host })
      expect(text).toContain(`URIs: http://127.0.0.1:${server.port}/repos\n`)
      expect(text).not.toContain(host)
    },
  )

  test('a distribution that does not exist is missing', async () => {
    expect((await server.get('/repos/nowhere.sources')).status).toBe(404)
    expect((await server.get('/repos/almalinux9.repo')).status).toBe(404)
  })

  test('is logged like any answer', async () => {
    const { text } = await server.get('/repos/jammy.sources')
    await server.accessLog.flush()
    expect(readFileSync(server.accessPath, 'utf8')).toContain(`"GET /repos/jammy.sources HTTP/1.1" 200 ${text.length} `)
  })
})
