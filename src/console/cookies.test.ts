import { describe, expect, test } from 'vitest'
import { cookie, readCookie } from './cookies.ts'

describe('reading a cookie', () => {
  test.each([
    ['the plain name over HTTP', 'gatehouse_session=a.b-c_d', false, 'a.b-c_d'],
    ['among others', 'x=1; gatehouse_session=abc; y=2', false, 'abc'],
    ['the __Host- name over TLS', '__Host-gatehouse_session=abc', true, 'abc'],
    ['not the plain name over TLS, which another host of the site can set', 'gatehouse_session=abc', true, null],
    ['not the __Host- name over HTTP', '__Host-gatehouse_session=abc', false, null],
    ['not one that was sent twice', 'gatehouse_session=abc; gatehouse_session=def', false, null],
    ['not a name that only ends like it', 'xgatehouse_session=abc', false, null],
    ['not text that no JWT has', 'gatehouse_session=a b"', false, null],
    ['nothing without cookies', undefined, false, null],
  ])('%s', (_, header, secure, expected) => {
    expect(readCookie(header === undefined ? {} : { cookie: header }, 'session', secure)).toBe(expected)
  })
})

describe('setting a cookie', () => {
  test('over TLS it is bound to this host and to TLS', () => {
    expect(cookie('session', 'abc', { secure: true, seconds: 60 })).toBe(
      '__Host-gatehouse_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure',
    )
  })

  test('over plain HTTP it has no attribute that makes a browser drop it', () => {
    expect(cookie('session', 'abc', { secure: false, seconds: 60 })).toBe(
      'gatehouse_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict',
    )
  })

  test('null removes it', () => {
    expect(cookie('mfa', null, { secure: false, seconds: 300 })).toContain('gatehouse_mfa=; Path=/; Max-Age=0')
  })
})
