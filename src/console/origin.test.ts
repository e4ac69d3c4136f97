import { expect, test } from 'vitest'
import { isOwnOrigin } from './origin.ts'

const OWN = ['https://console.example.org', 'http://10.0.0.5:3003/']

test.each([
  ['https://console.example.org', true],
  ['HTTPS://CONSOLE.EXAMPLE.ORG', true],
  ['http://10.0.0.5:3003', true],
  ['http://console.example.org', false],
  ['https://console.example.org:8443', false],
  ['https://console.example.org.evil.test', false],
  ['https://evil.test', false],
  ['null', false],
  ['', false],
  [undefined, false],
])('origin %j: %j', (origin, expected) => {
  expect(isOwnOrigin(origin === undefined ? {} : { origin }, OWN)).toBe(expected)
})

test('an address that is none matches nothing', () => {
  expect(isOwnOrigin({ origin: 'null' }, ['not an address', ''])).toBe(false)
})
