// Tables of addresses that no request may reach.
import { expect, test } from 'vitest'
import { isForbidden, isForbiddenHost } from './forbidden-addresses.ts'

const METADATA = ['169.254.169.254', '169.254.0.23', '100.100.100.200', '168.63.129.16', '192.0.0.192']

/** IPv6 forms that contain an IPv4 address or lead to one; `a.b.c.d` is the address, `ab:cd` its two halves. */
const FORMS: [string, (dotted: string, halves: string) => string][] = [
  ['IPv4-mapped', (dotted) => `::ffff:${dotted}`],
  ['IPv4-translated', (dotted) => `::ffff:0:${dotted}`],
  ['IPv4-compatible', (dotted) => `::${dotted}`],
  ['NAT64', (dotted) => `64:ff9b::${dotted}`],
  ['NAT64 of a site', (dotted) => `64:ff9b:1::${dotted}`],
  ['6to4', (_, halves) => `2002:${halves}::1`],
]

function halvesOf(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number)
  return [a * 256 + b, c * 256 + d].map((half) => half.toString(16)).join(':')
}

test.each([
  ...METADATA,
  ...FORMS.flatMap(([, form]) => METADATA.map((address) => form(address, halvesOf(address)))),
  ...['fe80::1', 'fe80::a9fe:a9fe', 'fd00:ec2::254', 'fd20:ce::254', 'fd20:00ce:0::0254', 'fd00:42::42'],
  // Teredo: the client's address is in the last bits, inverted.
  '2001::5601:5601',
])('%s is refused whatever is allowed', (address) => {
  expect([isForbidden(address, true), isForbidden(address, false)]).toEqual([true, true])
})

test.each([
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.88.99.1'],
  ...['192.168.1.1', '198.18.0.1', '198.19.255.255', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::127.0.0.1', '::ffff:10.0.0.1', 'fc00::1', 'fd20:ce::1', 'fd00:42::1', 'fec0::1', 'ff02::1'],
])('%s is refused unless private addresses are allowed', (address) => {
  expect([isForbidden(address, true), isForbidden(address, false)]).toEqual([false, true])
})

test.each([
  ...['1.1.1.1', '9.9.9.9', '100.63.255.255', '100.128.0.1', '172.32.0.1', '192.88.98.1', '192.88.100.1', '198.20.0.1'],
  ...['223.255.255.255', '2606:4700::1111', '2a01:4f8::1', '2001:4860::8888', '64:ff9c::1', '::ffff:1.1.1.1'],
])('%s is a public address', (address) => {
  expect(isForbidden(address, false)).toBe(false)
})

test.each([
  ['169.254.169.254', true],
  ['[::ffff:a9fe:a9fe]', true],
  ['metadata.google.internal', true],
  ['METADATA.google.internal.', true],
  ['metadata', true],
  ['127.0.0.1', false],
  ['localhost', false],
  ['repo.localhost.', false],
  ['[::1]', false],
])('the host %s is refused by itself; whatever is allowed: %s', (host, always) => {
  expect([isForbiddenHost(host, true), isForbiddenHost(host, false)]).toEqual([always, true])
})

test.each(['deb.debian.org', 'metadata.example.org', 'localhost.example.org', '1.1.1.1', '[2606:4700::1111]'])(
  'the host %s is not refused by itself',
  (host) => expect(isForbiddenHost(host, false)).toBe(false),
)
