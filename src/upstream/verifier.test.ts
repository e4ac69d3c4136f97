import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realReaders, scriptedReaders } from '../formats/readers/fixture.ts'
import type { ReaderPool } from '../formats/readers/pool.ts'
import { createKey, NOW, problemOf, type TestKey } from './fixture.ts'
import { createVerifier } from './verifier.ts'

let key: TestKey
let foreign: TestKey
let readers: ReaderPool
beforeAll(async () => {
  readers = realReaders('/nowhere', { mostReaders: 1 })
  key = await createKey()
  foreign = await createKey()
})
afterAll(() => readers.close())

describe('the reader that verifies signatures', () => {
  test('answers each of several requests at the same time', async () => {
    const own = createVerifier(readers).withKeys([key.publicKey], NOW)
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

  test('refuses what takes too long', async () => {
    const document = Buffer.from(await key.cleartext('text'))
    const stuck = scriptedReaders('await new Promise(() => {})')
    const slow = createVerifier(stuck, 50).withKeys([key.publicKey], NOW)
    expect(await problemOf(slow.cleartext(document, 'one'))).toMatchObject({
      code: 'upstream_error',
      detail: expect.stringContaining('within the limits of time and memory'),
      extra: { reason: 'signature' },
    })
    await stuck.close()
  })

  test('refuses a key that cannot be read', async () => {
    const broken = key.publicKey.replace(/[A-Za-z0-9+/]{20}/, 'AAAAAAAAAAAAAAAAAAAA')
    for (const text of [broken, 'no key', '']) {
      const own = createVerifier(readers).withKeys([text], NOW)
      const document = Buffer.from(await key.cleartext('text'))
      expect(await problemOf(own.cleartext(document, 'one'))).toMatchObject({ extra: { reason: 'signature' } })
    }
  })
})
