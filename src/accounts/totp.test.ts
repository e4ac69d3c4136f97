import { inflateSync } from 'node:zlib'
import { Secret } from 'otpauth'
import { encode } from 'uqr'
import { expect, test } from 'vitest'
import { qrCodePng } from './qr-code.ts'
import { enrolmentUri, isAppCode, newRecoveryCodes, newSecret, recoveryHash, stepOf } from './totp.ts'

/** RFC 6238, appendix B, for SHA-1: the last six of the eight digits there. */
const RFC_SECRET = Secret.fromUTF8('12345678901234567890').base32
const RFC_CODES: [number, string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

test.each(RFC_CODES)('at %i s the code is %s, as in RFC 6238', (seconds, code) => {
  expect(stepOf(RFC_SECRET, code, new Date(seconds * 1000))).toBe(Math.floor(seconds / 30))
})

test.each([
  ['one step early', -30, 41_152_263],
  ['one step late', 30, 41_152_263],
  ['two steps early', -60, null],
  ['two steps late', 60, null],
])('a clock that is %s', (_what, seconds, step) => {
  expect(stepOf(RFC_SECRET, '005924', new Date((1_234_567_890 + seconds) * 1000))).toBe(step)
})

test.each([
  ['123456', true],
  ['12345', false],
  ['1234567', false],
  ['12345a', false],
  ['١٢٣٤٥٦', false],
  ['123456\n', false],
])('%j has the form of a code of an app: %s', (text, is) => {
  expect(isAppCode(text)).toBe(is)
})

test('the address for the app carries issuer, name and secret, with special characters escaped', () => {
  const secret = newSecret()
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  const uri = new URL(enrolmentUri(secret, 'a@b.example'))
  expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
    'otpauth:',
    'totp',
    '/Gatehouse:a@b.example',
  ])
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    issuer: 'Gatehouse',
    secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

test('recovery codes differ, and are the same however they are typed', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) expect(code).toMatch(/^([A-HJ-NP-Z2-9]{4}-){3}[A-HJ-NP-Z2-9]{4}$/)
  const [code = ''] = codes
  expect(recoveryHash(` ${code.toLowerCase().replaceAll('-', ' ')}\n`)).toBe(recoveryHash(code))
  expect(recoveryHash(code)).not.toContain(code.replaceAll('-', ''))
})

test('the image has the modules of the code, six pixels each', () => {
  const text = enrolmentUri(newSecret(), 'somebody-with-a-long-name@example.org')
  const png = qrCodePng(text)
  const { data, size } = encode(text, { ecc: 'M', border: 4 })
  expect(png.readUInt32BE(16)).toBe(size * 6)
  const pixels = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)))
  const bytesPerRow = 1 + Math.ceil((size * 6) / 8)
  const isBlack = (x: number, y: number) => ((pixels[y * bytesPerRow + 1 + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) === 0
  const drawn = data.map((row, y) => row.map((_, x) => isBlack(x * 6, y * 6) && isBlack(x * 6 + 5, y * 6 + 5)))
  expect(drawn).toEqual(data)
})
