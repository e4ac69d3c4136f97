// What `doctor` says about clock and proxy.
import { expect, test } from 'vitest'
import { clockText, proxyFor } from './diagnosis.ts'

const THERE = 'Thu, 26 Nov 2026 07:00:00 GMT'
const AT = Date.parse(THERE)

test.each([
  [0, 100, 'as at the service', false],
  [900, 950, 'as at the service', false],
  [-5_000, -4_900, '5 s behind the service', false],
  [5_000, 5_100, '4 s ahead of the service', false],
  [-600_000, -599_900, '600 s behind the service', true],
  [600_000, 600_100, '599 s ahead of the service', true],
])('a request from %i to %i ms after the time of the service: %s', (began, ended, text, isFar) => {
  expect(clockText(THERE, AT + began, AT + ended)).toEqual({ text, isFar })
})

test('a service that states no time', () => {
  expect(clockText(null, 0, 1)).toEqual({ text: 'the service states no time', isFar: false })
})

const HTTPS = new URL('https://repo.example.org')
const HTTP = new URL('http://repo.example.org')

test.each([
  [HTTPS, {}, null],
  [HTTPS, { HTTPS_PROXY: 'http://me:secret@proxy:3128' }, 'HTTPS_PROXY is http://proxy:3128'],
  [HTTPS, { http_proxy: 'http://proxy:1' }, 'http_proxy is http://proxy:1'],
  [HTTP, { HTTPS_PROXY: 'http://proxy:1' }, null],
  [HTTP, { HTTP_PROXY: 'http://proxy:1', NO_PROXY: 'a,b' }, 'HTTP_PROXY is http://proxy:1, and not used for a,b'],
])('%s with %j: %s', (url, env, text) => {
  expect(proxyFor(url, env)).toBe(text)
})
