// Request targets: which of them name a published file, and which are refused.
import { describe, expect, test } from 'vitest'
import { within } from '../../test/within.ts'
import { APT_MOUNTS, RPM_MOUNTS } from './listener.fixture.ts'
import { locate } from './request-path.ts'

const apt = (target: string) => {
  const located = locate(target, APT_MOUNTS)
  return typeof located === 'string' ? located : located.path
}
const rpm = (target: string) => {
  const located = locate(target, RPM_MOUNTS)
  return typeof located === 'string' ? located : located.path
}

describe('a target that clients send', () => {
  test.each([
    ['/repos/dists/jammy/InRelease', 'dists/jammy/InRelease'],
    ['/repos/gpg.key', 'keys/gpg.key'],
    ['/apk/svc.rsa.pub', 'keys/svc.rsa.pub'],
    ['/apk/alpine3.20/main/x86_64/APKINDEX.tar.gz', 'apk/alpine3.20/main/x86_64/APKINDEX.tar.gz'],
    ['/repos/dists/jammy/pool/g++_1%3a2.0%7erc1%2bb1_amd64.deb', 'dists/jammy/pool/g++_1:2.0~rc1+b1_amd64.deb'],
    ['/repos/dists/jammy/pool/g++_1:2.0~rc1+b1_amd64.deb', 'dists/jammy/pool/g++_1:2.0~rc1+b1_amd64.deb'],
    ['/repos/dists/jammy/pool/g%2B%2B_1%3A2.deb', 'dists/jammy/pool/g++_1:2.deb'],
    // a name that contains an escape itself, as Debian pools write epochs
    ['/repos/dists/jammy/pool/a_1%253a2.deb', 'dists/jammy/pool/a_1%3a2.deb'],
    ['/repos/dists/jammy/pool/caf%C3%A9.deb', 'dists/jammy/pool/café.deb'],
    ['/repos/dists/jammy/InRelease?x=1', 'dists/jammy/InRelease'],
    ['//repos///dists/jammy//InRelease', 'dists/jammy/InRelease'],
    ['http://repo.example/repos/dists/jammy/InRelease', 'dists/jammy/InRelease'],
    ['HTTPS://repo.example:80/repos/gpg.key?x', 'keys/gpg.key'],
  ])('%s', (target, path) => {
    expect(apt(target)).toBe(path)
  })

  test('the key on the rpm port is not read as a distribution', () => {
    expect(rpm('/repos/gpg.key')).toBe('keys/packages.key')
    expect(rpm('/repos/almalinux9/x86_64/repodata/repomd.xml')).toBe('rpm/almalinux9/x86_64/repodata/repomd.xml')
    expect(rpm('/repos/dists/jammy/InRelease')).toBe('rpm/dists/jammy/InRelease')
    expect(rpm('/apk/svc.rsa.pub')).toBe('not_found')
  })
})

describe('a target that names no published file', () => {
  test.each([
    '/',
    '/repos',
    '/repos/',
    '/repos/dists',
    '/repos/dists/',
    '/repos/dists/jammy/',
    '/apk/',
    '/apk',
    '/repos/gpg.key/',
    '/repos/gpg.key/x',
    '/repos/gpg.keyx',
    '/repos/GPG.key',
    '/REPOS/dists/jammy/InRelease',
    '/settings.json',
    '/pool/x',
    '*',
    '/repos/dists/../settings.json',
    '/repos/dists/jammy/../../../settings.json',
    '/../repos/gpg.key',
    '/repos/./gpg.key',
    '/repos/dists/%2e%2e/settings.json',
    '/repos/dists/%2E%2e/%2e%2E/settings.json',
    '/repos/dists/.%2e/settings.json',
    '/repos/dists/..%2fsettings.json',
    '/repos/dists/..%2Fsettings.json',
    '/repos/dists/jammy%2fInRelease',
    '/repos%2fgpg.key',
    '/repos/dists/jammy/..%5c..%5csettings.json',
    '/repos/dists/..\\settings.json',
    '/repos\\gpg.key',
    '/repos/dists/jammy\\InRelease',
    '/repos/dists/jammy/InRelease%00',
    '/repos/dists/jammy/InRelease%00.gz',
    '/repos/gpg.key%00',
    '/repos/dists/jammy/%0aInRelease',
    '/repos/dists/jammy/%7f',
    '/repos/dists/jammy/.hidden',
    '/repos/dists/.jammy/InRelease',
    '/repos/dists/jammy/%2ehidden',
    '/repos/dists/jammy/...',
    '/repos/dists/jammy/..;/x',
    '/apk/../keys/gpg.key',
    '/apk/%2e%2e/keys/gpg.key',
    '/repos/dists/jammy/.',
    '/repos/dists//..//settings.json',
    `/repos/dists/jammy/%61${'a'.repeat(255)}`,
    'http://repo.example',
    'http://repo.example/',
    'http://repo.example/repos/dists/%2e%2e/x',
    '/repos/dists/jammy/../jammy/InRelease',
  ])('%s', (target) => {
    const located = locate(target, APT_MOUNTS)
    expect(['not_found', 'malformed']).toContain(located)
  })

  test.each([
    '/%',
    '/%4',
    '/%zz',
    '/repos/dists/%c0%ae%c0%ae/x',
    '/repos/dists/%ff',
    '/%u002e',
    'repos/gpg.key',
    '/repos/dists/a\u00e9',
    '/a b',
    '/a\u0000',
    '',
  ])('malformed: %j', (target) => {
    expect(apt(target)).toBe('malformed')
  })

  test('a doubly encoded path stays one odd name below its prefix', () => {
    expect(apt('/repos/dists/%252e%252e/settings.json')).toBe('dists/%2e%2e/settings.json')
    expect(apt('/repos/dists/%252e%252e%252fsettings.json')).toBe('dists/%2e%2e%2fsettings.json')
    expect(apt('/repos%252fgpg.key')).toBe('not_found')
  })

  test('a target longer than any index path is refused before parsing', () => {
    expect(apt(`/repos/dists/${'a/'.repeat(1100)}b`)).toBe('too_long')
  })

  test('the check of an ordinary path takes no more than linear time', async () => {
    await within(10_000, () => {
      for (let i = 0; i < 200; i++) locate(`/${'a.'.repeat(1000)}%`, APT_MOUNTS)
    })
  })
})
