// The address in set-up texts: a header that any client can send must never exceed the grammar of a host.
import { describe, expect, test } from 'vitest'
import { createTrust } from '../kernel/client-address.ts'
import { addressOf, parseHost } from './public-address.ts'

describe('parseHost', () => {
  test.each<[string, string, number | null]>([
    ['packages.example.org', 'packages.example.org', null],
    ['Packages.Example.org:8080', 'packages.example.org', 8080],
    ['10.0.0.1:80', '10.0.0.1', 80],
    ['[2001:DB8::1]:8080', '[2001:db8::1]', 8080],
    ['[::1]', '[::1]', null],
    ['my_host', 'my_host', null],
  ])('reads %j', (text, host, port) => expect(parseHost(text)).toEqual({ host, port }))

  test.each([
    undefined,
    '',
    ':80',
    'a:',
    'a:0',
    'a:65536',
    'a:123456',
    'a:8a',
    'a b',
    'a/b',
    'user@host',
    "a';reboot;'",
    'a$(reboot)',
    'a`id`',
    'a\nb',
    'a\n',
    'a"b',
    'a<b>',
    'a%41',
    'a&b',
    '-a',
    'a-',
    'a..b',
    '[::1',
    '::1',
    '[1.2.3.4]',
    '[::1%eth0]',
    '[zz]',
    'ä.example',
    'x'.repeat(64),
    `${'a.'.repeat(127)}a`,
  ])('refuses %j', (text) => expect(parseHost(text)).toBe(null))
})

describe('addressOf', () => {
  const peer = { remoteAddress: '203.0.113.7', localAddress: '192.0.2.1', localPort: 8080 }
  const trusts = createTrust(['10.0.0.0/8', '::1'])
  const behindProxy = { ...peer, remoteAddress: '10.1.2.3' }

  test.each<[string, Record<string, string>, typeof peer, string]>([
    ['the Host header', { host: 'a.example:8080' }, peer, 'http://a.example:8080'],
    ['the default port left out', { host: 'a.example:80' }, peer, 'http://a.example'],
    ['its own address for a bad Host', { host: "a';reboot" }, peer, 'http://192.0.2.1:8080'],
    ['its own address without a Host', {}, { ...peer, localAddress: '::1' }, 'http://[::1]:8080'],
    [
      'no forwarding header of a stranger',
      { host: 'a', 'x-forwarded-host': 'evil', 'x-forwarded-proto': 'https' },
      peer,
      'http://a',
    ],
    [
      'the forwarding headers of a trusted proxy',
      { host: 'inner', 'x-forwarded-host': 'outer', 'x-forwarded-proto': 'https' },
      behindProxy,
      'https://outer',
    ],
    [
      'the value the proxy appended',
      { host: 'inner', 'x-forwarded-host': 'evil, outer:443', 'x-forwarded-proto': 'http, https' },
      behindProxy,
      'https://outer',
    ],
    [
      'Host for a bad forwarded host',
      { host: 'inner', 'x-forwarded-host': '$(id)', 'x-forwarded-proto': 'gopher' },
      behindProxy,
      'http://inner',
    ],
  ])('uses %s', (_, headers, from, address) => expect(addressOf(headers, from, null, trusts)).toBe(address))

  test('uses the configured address whatever the headers name', () => {
    const headers = { host: 'evil', 'x-forwarded-host': 'evil' }
    expect(addressOf(headers, behindProxy, 'https://packages.example.org', trusts)).toBe('https://packages.example.org')
  })
})
