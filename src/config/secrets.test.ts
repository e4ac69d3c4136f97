import { describe, expect, test } from 'vitest'
import { within } from '../../test/within.ts'
import { estimatedBits, ONLINE_SECRET, SIGNING_SECRET, weakness } from './secrets.ts'

describe('a signing secret is refused when it is', () => {
  test.each([
    ['missing', '', 'is not set'],
    ['short', 'n7Qd0sR4vYx2LkPz8mWc5tJb1hGf6uE', 'is shorter than 32 characters'],
    ['a default', 'change-me-to-a-long-random-string-0123456789', 'is a well-known default'],
    ['one character', 'a'.repeat(32), 'is too easy to guess'],
    ['one character, very long', 'a'.repeat(100_000), 'is too easy to guess'],
    ['two characters in turn', 'ab'.repeat(32), 'is too easy to guess'],
    ['two runs', 'a'.repeat(32) + 'B'.repeat(32), 'is too easy to guess'],
    ['a short text repeated', 'x9Kq'.repeat(16), 'is too easy to guess'],
    ['a short text repeated in another case', 'x9kqX9KQ'.repeat(8), 'is too easy to guess'],
    ['digits in order', '0123456789'.repeat(4), 'is too easy to guess'],
    ['digits in reverse order', '9876543210'.repeat(4), 'is too easy to guess'],
    ['the alphabet', 'abcdefghijklmnopqrstuvwxyz0123456789', 'is too easy to guess'],
    ['the alphabet reversed', 'zyxwvutsrqponmlkjihgfedcba9876543210', 'is too easy to guess'],
    ['rows of a keyboard', 'qwertyuiopasdfghjklzxcvbnm1234567890', 'is too easy to guess'],
    ['default words one after another', 'secret-password-admin-token-default-test', 'is too easy to guess'],
    ['few characters mixed', 'abaabbabaabaabbbabaabbaabababbaa', 'is too easy to guess'],
  ])('%s', (_what, secret, fault) => {
    expect(weakness(secret, SIGNING_SECRET)).toContain(fault)
  })
})

test.each([
  ['base64', 'n7Qd0sR4vYx2LkPz8mWc5tJb1hGf6uEa'],
  ['32 hexadecimal digits', '9f86d081884c7d659a2feaa0c55ad015'],
  ['64 hexadecimal digits', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  ['a UUID with a second one', '3f2504e0-4f89-41d3-9a0c-0305e82c3301-7b1c'],
  ['words', 'correct horse battery staple wanders home'],
  ['a random text repeated', 'n7Qd0sR4vYx2LkPz8mWc5tJb1hGf6uEa'.repeat(2)],
  ['a random text behind a run', `${'a'.repeat(40)}n7Qd0sR4vYx2LkPz8mWc5tJb1hGf6uEa`],
])('a signing secret of %s is accepted', (_what, secret) => {
  expect(weakness(secret, SIGNING_SECRET)).toBeNull()
})

test.each([
  ['u8Zr3Kq9', null],
  ['vendor-81723', null],
  ['aaaaaaaaaaaa', 'is too easy to guess'],
  ['12345678', 'is too easy to guess'],
  ['abcdabcdabcd', 'is too easy to guess'],
])('%s as a secret that is guessed online: %s', (secret, fault) => {
  if (fault === null) expect(weakness(secret, ONLINE_SECRET)).toBeNull()
  else expect(weakness(secret, ONLINE_SECRET)).toContain(fault)
})

test('the fault never holds the secret', () => {
  expect(weakness('x9Kq'.repeat(16), SIGNING_SECRET)).not.toContain('x9Kq')
})

test('estimating a very long secret takes little time', async () => {
  await within(10_000, () => estimatedBits('ab1'.repeat(400_000)))
})
