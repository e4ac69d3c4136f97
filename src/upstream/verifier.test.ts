import { beforeAll, describe, expect, test } from 'vitest'
import { createKey, NOW, problemOf, type TestKey } from './fixture.ts'
import { createVerifier } from './verifier.ts'

let key: TestKey
let foreign: TestKey
beforeAll(async () => {
  key = await createKey()
  foreign = await createKey()
})

describe('the thread that verifies signatures', () => {
  test('answers each of several requests at the same time', async () => {
    const verifier = createVerifier()
    const own = verifier.withKeys([key.publicKey], NOW)
    const content = Buffer.from('content')
    const [cleartext, detached, refused] = await Promise.all([
      own.cleartext(Buffer.from(await key.cleartext('text')), 'one'),
      own.detached(content, Buffer.from(await key.detached(content)), 'two'),
      problemOf(own.detached(content, Buffer.from(await foreign.detached(content)), 'three')),
    ])
    expect(cleartext).toEqual({ text: 'text', signedBy: [key.fingerprint] })
    expect(detached).toEqual([key.fingerprint])
    expect(refused).toMatchObject({ code: 'upstream_error', extra: { reason: 'signature' } })
    expect(refused.detail).toContain('three')
  })

  test('is started again after it has ended', async () => {
    const own = createVerifier({ idleMs: 0, replyMs: 60_000 }).withKeys([key.publicKey], NOW)
    const document = Buffer.from(await key.cleartext('text'))
    for (let round = 0; round < 4; round++) expect((await own.cleartext(document, 'one')).text).toBe('text')
  })

  test('refuses what takes too long', async () => {
    const own = createVerifier({ idleMs: 0, replyMs: 0 }).withKeys([key.publicKey], NOW)
    const problem = await problemOf(own.cleartext(Buffer.from(await key.cleartext('text')), 'one'))
    expect(problem).toMatchObject({ code: 'upstream_error', extra: { reason: 'signature' } })
  })

  test('refuses a key that cannot be read', async () => {
    const broken = key.publicKey.replace(/[A-Za-z0-9+/]{20}/, 'AAAAAAAAAAAAAAAAAAAA')
    for (const text of [broken, 'no key', '']) {
      const own = createVerifier().withKeys([text], NOW)
      const document = Buffer.from(await key.cleartext('text'))
      expect(await problemOf(own.cleartext(document, 'one'))).toMatchObject({ extra: { reason: 'signature' } })
    }
  })
})
