import { describe, expect, test } from 'vitest'
import * as bcrypt from '@node-rs/bcrypt'
import { isProblem } from '../domain/problem.ts'
import { createPasswords, isImportedHash, requireStrong } from './passwords.ts'

describe('the password policy', () => {
  test.each([
    ['Abcdefg1', true],
    ['Abcdefg!', true],
    ['Abcdefg ', true],
    ['Éclairs7', true],
    ['A1'.padEnd(128, 'x'), true],
    ['A1'.padEnd(128, '😀'), true],
    ['Abcdef1', false],
    ['A1😀😀😀', false],
    ['abcdefg1', false],
    ['Abcdefgh', false],
    ['Abcdefgé', false],
    ['A1'.padEnd(129, 'x'), false],
    ['', false],
  ])('%j acceptable: %s', (password, acceptable) => {
    let code = 'ok'
    try {
      requireStrong(password)
    } catch (error) {
      code = isProblem(error) ? error.code : 'bug'
    }
    expect(code).toBe(acceptable ? 'ok' : 'weak_password')
  })
})

describe('checking', () => {
  const passwords = createPasswords()

  test('accepts an argon2id hash for its password only', async () => {
    const [first, second] = await Promise.all([passwords.hash('Secret-1'), passwords.hash('Secret-1')])
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(first).not.toBe(second)
    expect(await passwords.check('Secret-1', first, null)).toEqual({ ok: true, stale: false })
    expect(await passwords.check('Secret-2', first, null)).toEqual({ ok: false, stale: false })
    expect(await passwords.check('secret-1', first, 4)).toEqual({ ok: false, stale: false })
  })

  test.each(['2a', '2b', '2y'] as const)(
    'an imported $%s$ hash is right for its password and asks to be renewed',
    async (version) => {
      const hash = (await bcrypt.hash('Secret-1', 5)).replace('$2b$', () => `$${version}$`)
      expect(hash.slice(0, 4)).toBe(`$${version}$`)
      expect(await passwords.check('Secret-1', hash, 5)).toEqual({ ok: true, stale: true })
      expect(await passwords.check('Secret-2', hash, 5)).toEqual({ ok: false, stale: false })
    },
  )

  test('reports a hash with weaker parameters as stale', async () => {
    const weak = '$argon2id$v=19$m=8192,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$'
    const { hash } = await import('@node-rs/argon2')
    const old = await hash('Secret-1', { memoryCost: 8192, timeCost: 1, parallelism: 1 })
    expect(old.slice(0, 29)).toBe(weak.slice(0, 29))
    expect(await passwords.check('Secret-1', old, null)).toEqual({ ok: true, stale: true })
  })

  test('accepts no password where none is stored', async () => {
    for (const cost of [null, 4]) {
      for (const guess of ['', 'A', 'Secret-1', '\0']) expect((await passwords.check(guess, null, cost)).ok).toBe(false)
    }
  })

  test.each([
    ['$2b$12$' + 'a'.repeat(53), true],
    ['$2y$04$' + '/'.repeat(53), true],
    ['$2x$12$' + 'a'.repeat(53), false],
    ['$2b$16$' + 'a'.repeat(53), false],
    ['$2b$03$' + 'a'.repeat(53), false],
    ['$2b$12$' + 'a'.repeat(52), false],
    ['$2b$12$' + 'a'.repeat(53) + '\n', false],
    ['Secret-1', false],
  ])('%j taken as an imported hash: %s', (text, imported) => expect(isImportedHash(text)).toBe(imported))

  test('refuses more work than the limit immediately, and accepts it again afterwards', async () => {
    const busy = createPasswords({ maxWaiting: 3 })
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => busy.hash('Secret-1')))
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'])
    const refused = results[4]
    expect(
      refused?.status === 'rejected' && isProblem(refused.reason, 'rate_limited') && refused.reason.retryAfterSeconds,
    ).toBe(2)
    await busy.hash('Secret-1')
  })
})
