// Lines of access logs: our own, nginx's, extended formats, and forged lines.
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { within } from '../../../test/within.ts'
import { createLog } from '../../kernel/log.ts'
import { createAccessLog } from '../../serve/access-log.ts'
import { clientTypeOf } from './client-type.ts'
import { gaveFile, parseLine } from './log-line.ts'

const AT = Date.parse('2026-11-23T08:47:08Z') / 1000
const DEB = '/repos/dists/jammy/pool/9f/0123456789abcdef/hello_1.0_amd64.deb'
const APT = 'Debian APT-HTTP/1.3 (2.6.1)'
const line = (
  more: Partial<Record<'address' | 'user' | 'time' | 'request' | 'status' | 'bytes' | 'agent' | 'after', string>> = {},
) => {
  const one = {
    ...{ address: '192.0.2.7', user: '-', time: '23/Nov/2026:08:47:08 +0000', request: `GET ${DEB} HTTP/1.1` },
    ...{ status: '200', bytes: '5120', agent: APT, after: '' },
    ...more,
  }
  return `${one.address} - ${one.user} [${one.time}] "${one.request}" ${one.status} ${one.bytes} "-" "${one.agent}"${one.after}`
}
const plain = {
  address: '192.0.2.7',
  reader: null,
  at: AT,
  method: 'GET',
  target: DEB,
  status: 200,
  bytes: 5120,
  agent: APT,
}

test.each<[string, string, object | null]>([
  ['combined', line(), plain],
  ['IPv6', line({ address: '2001:db8::7' }), { ...plain, address: '2001:db8::7' }],
  ['another zone', line({ time: '23/Nov/2026:10:17:08 +0130' }), plain],
  ['a zone west of Greenwich', line({ time: '22/Nov/2026:23:47:08 -0900' }), plain],
  ['with upstream times after it', line({ after: ' "203.0.113.9" rt=0.004 uct="0.000" urt="0.004"' }), plain],
  ['with the name of the virtual host before it', `packages.example.org:80 ${line()}`, plain],
  ['of a user with a name', line({ user: 'ci [bot]' }), plain],
  ['of a machine', line({ user: 'machine:web-01' }), { ...plain, reader: 'machine:web-01' }],
  ['of somebody who claims a name with Basic', line({ user: 'machine' }), plain],
  ['of an address that is none', line({ address: '999.1.2.3' }), null],
  ['of a socket', line({ address: 'unix:' }), null],
  ['of a month that is none', line({ time: '23/Foo/2026:08:47:08 +0000' }), null],
  ['a request that is none', line({ request: '\\x16\\x03\\x01' }), { ...plain, method: '', target: '' }],
  ['an empty request', line({ request: '' }), { ...plain, method: '', target: '' }],
  ['cut off', line().slice(0, -10), null],
  ['empty', '', null],
  ['JSON', '{"remote_addr":"192.0.2.7","status":200}', null],
  ['binary', '\u0000\u00ff'.repeat(1000), null],
])('a line that is %s', (_, text, expected) => {
  expect(parseLine(text)).toEqual(expected)
})

test('a user agent is cut after 200 characters', () => {
  expect(parseLine(line({ agent: 'x'.repeat(5000) }))?.agent).toHaveLength(200)
})

test('text from a client cannot end its field or begin a line of its own in our log', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'access-'))
  const path = join(directory, 'access-apt.log')
  const clock = { now: () => new Date(AT * 1000) }
  const forged = `x" 200 1 "-" "${APT}"\n${line({ address: '203.0.113.1' })}`
  try {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 60 }), fc.string({ maxLength: 60 }), async (agent, target) => {
        const log = createAccessLog({ path, clock, mostBytes: 1e9, log: createLog('silent') })
        const latin1 = (text: string) => Buffer.from(text).toString('latin1')
        const access = { address: '192.0.2.7', status: 404, bytes: 3, referer: forged }
        log.record({ ...access, request: `GET /${latin1(target)} HTTP/1.1`, userAgent: latin1(agent) + forged })
        await log.close()
        const text = (await readFile(path, 'latin1')).trimEnd()
        rmSync(path)
        expect(text).not.toContain('\n')
        expect(parseLine(text)).toMatchObject({ address: '192.0.2.7', status: 404, bytes: 3, at: AT })
      }),
      { numRuns: 100 },
    )
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('lines made to be slow to match are refused in time', async () => {
  const slow = [
    `192.0.2.7 - ${'['.repeat(150_000)}`,
    `192.0.2.7 - ${'[23/Nov/2026:08:47:08 +0000] '.repeat(5000)}`,
    line({ request: 'G '.repeat(75_000) }),
    line({ agent: '\\'.repeat(150_000), after: '"' }),
    '1.'.repeat(75_000),
    'a:'.repeat(75_000),
  ]
  await within(2000, () => {
    for (const text of slow) parseLine(text)
  })
})

test.each<[string, number, boolean]>([
  ['GET', 200, true],
  ['GET', 206, true],
  ['GET', 302, true],
  ['GET', 304, false],
  ['GET', 404, false],
  ['GET', 416, false],
  ['GET', 499, false],
  ['HEAD', 200, false],
  ['POST', 200, false],
])('%s answered with %i: given %s', (method, status, given) => {
  expect(gaveFile({ ...plain, method, status })).toBe(given)
})

test.each([
  [APT, 'apt'],
  ['Ubuntu APT-HTTP/1.3 (2.4.13)', 'apt'],
  ['Debian APT-CURL/1.0 (1.9)', 'apt'],
  ['libdnf (Fedora Linux 40; server; Linux.x86_64)', 'dnf'],
  ['libdnf5/5.2 (AlmaLinux 10)', 'dnf'],
  ['dnf/4.14.0', 'dnf'],
  ['urlgrabber/3.10 yum/3.4.3', 'dnf'],
  ['ZYpp 17.31.2 (curl 7.74.0) openSUSE-Leap-15.5-x86_64', 'zypper'],
  ['apk-tools/2.14.10', 'apk'],
  ['libfetch/2.0', 'apk'],
  ['fetch libfetch/2.0', 'other'],
  ['curl/7.88.1', 'curl'],
  ['Wget/1.21.3', 'wget'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'other'],
  ['-', 'other'],
])('%s is %s', (agent, type) => {
  expect(clientTypeOf(agent)).toBe(type)
})
