import { expect, test } from 'vitest'
import { readBuild, representation } from './assets.ts'

const asset = {
  type: 'text/javascript',
  bytes: Buffer.from('plain'),
  encoded: [
    { name: 'br', bytes: Buffer.from('brotli') },
    { name: 'gzip', bytes: Buffer.from('gzip') },
  ],
}

test.each([
  [undefined, 'plain'],
  ['', 'plain'],
  ['identity', 'plain'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'brotli'],
  ['gzip;q=1.0, br;q=0', 'gzip'],
  ['br;q=0.000, gzip;q=0.5', 'gzip'],
  ['BR', 'brotli'],
])('a client that accepts %j gets %s', (accepted, expected) => {
  expect(representation(asset, accepted).bytes.toString()).toBe(expected)
})

test('there is no build where there is none', () => {
  expect(readBuild('/nonexistent')).toBeNull()
})
