import { describe, expect, test } from 'vitest'
import { canonicalAddress, createClientAddress, createTrust, limitKey, socketAddress } from './client-address.ts'

describe('the canonical spelling', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    [' 1.2.3.4 ', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.256', null],
    ['::FFFF:0102:0304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['01.2.3.4', null],
    ['1.2.3', null],
    ['16909060', null],
    ['example.com', null],
    ['1.2.3.4:80', null],
    ['1.2.3.4\0', null],
    ['', null],
  ])('of %j is %j', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical)
  })
})

test.each([
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['fe80::1%eth0', 'fe80::1'],
  [undefined, 'unknown'],
])('the address of a socket %j is %j', (text, address) => {
  expect(socketAddress(text)).toBe(address)
})

test.each([
  ['10.255.0.1', true],
  ['11.0.0.1', false],
  ['::1', true],
  ['::2', false],
  ['unknown', false],
])('whether %s is trusted: %s', (address, isTrusted) => {
  expect(createTrust(['10.0.0.0/8', '::1'])(address)).toBe(isTrusted)
})

describe('the key of limits', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('of %j is %j', (address, key) => {
    expect(limitKey(address)).toBe(key)
  })
})

describe('the client of a request', () => {
  const clientAddress = createClientAddress(['127.0.0.1', '10.0.0.0/8', '2001:db8:ffff::/48'])

  test.each([
    ['a direct client', '203.0.113.9', undefined, '203.0.113.9'],
    ['a direct client that claims another address', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a client behind one proxy', '127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['a client behind a proxy that listens on IPv6', '::ffff:127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['a client behind an IPv6 proxy', '2001:db8:ffff::1', '203.0.113.9', '203.0.113.9'],
    ['a client behind two proxies', '127.0.0.1', '203.0.113.9, 10.0.0.7', '203.0.113.9'],
    ['a client that forges the left end', '127.0.0.1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['a client whose address has two spellings', '127.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['an address with a port', '127.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 address with a port', '127.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['garbage', '127.0.0.1', 'garbage-17', '127.0.0.1'],
    ['garbage behind a trusted hop', '127.0.0.1', 'garbage-17, 10.0.0.7', '127.0.0.1'],
    ['garbage left of the client', '127.0.0.1', 'garbage-17, 203.0.113.9', '203.0.113.9'],
    ['an empty header', '127.0.0.1', '', '127.0.0.1'],
    ['only proxies', '127.0.0.1', '10.0.0.8', '10.0.0.8'],
    ['a repeated header', '127.0.0.1', ['198.51.100.1', '203.0.113.9'], '203.0.113.9'],
    ['a Unix socket', undefined, '203.0.113.9', 'unknown'],
  ])('is found for %s', (_what, peer, forwardedFor, expected) => {
    expect(clientAddress(peer, forwardedFor)).toBe(expected)
  })
})
