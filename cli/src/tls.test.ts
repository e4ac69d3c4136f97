// The sentences for TLS mistakes.
import { expect, test } from 'vitest'
import { tlsMistake } from './tls.ts'

const AT = new URL('https://repo.example.org/api/v1/auth/me')
const NOW = new Date('2026-11-26T00:00:00Z')

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is self-signed: if it is yours, give it with --ca-file FILE'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'an authority that this machine does not know'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'an authority that this machine does not know'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'an authority that this machine does not know'],
  ['CERT_HAS_EXPIRED', 'has expired'],
  ['CERT_NOT_YET_VALID', 'the clock of this machine (2026-11-26T00:00:00.000Z)'],
  ['CERT_REVOKED', 'is refused: revoked (CERT_REVOKED)'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'speaks plain HTTP at this port: write http://repo.example.org'],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'speaks plain HTTP at this port'],
])('%s: %s', (code, text) => {
  expect(tlsMistake({ code, message: 'revoked' }, AT, NOW)).toContain(text)
})

test('a certificate for other names is named with them', () => {
  const cert = { subjectaltname: 'DNS:a.example.org, IP Address:192.0.2.1' }
  expect(tlsMistake({ code: 'ERR_TLS_CERT_ALTNAME_INVALID', cert }, AT, NOW)).toContain(
    'not for repo.example.org, but for a.example.org, 192.0.2.1',
  )
})

test.each([
  ['ECONNREFUSED', AT],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', new URL('http://repo.example.org')],
])('%s at %s is no such mistake', (code, url) => {
  expect(tlsMistake({ code }, url, NOW)).toBeNull()
})
