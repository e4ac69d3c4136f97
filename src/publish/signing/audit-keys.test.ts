import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as openpgp from 'openpgp'
import { beforeEach, describe, expect, test } from 'vitest'
import { createSignatureCheck, openAuditKey, readAuditKey, readPublicKeys } from './audit-keys.ts'
import { openKeys } from './keys.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  return () => rm(directory, { recursive: true })
})

describe('the audit key', () => {
  test('is created once, for its owner only, also by several processes at the same time', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => openAuditKey(directory)))
    expect(new Set(keys).size).toBe(1)
    expect(keys[0]).toMatch(/^[\w-]{43}$/)
    expect(await readAuditKey(directory)).toBe(keys[0])
    expect((await stat(join(directory, 'audit.key'))).mode & 0o777).toBe(0o600)
  })

  test.each(['', 'short\n', `${'a'.repeat(43)} \n`])('is refused as %j', async (content) => {
    await writeFile(join(directory, 'audit.key'), content)
    await chmod(directory, 0o700)
    await expect(openAuditKey(directory)).rejects.toThrow('audit.key does not hold an audit key')
  })
})

test('a signature of the repository key is accepted for its text and no other', async () => {
  const { privateKey } = await openpgp.generateKey({
    type: 'rsa',
    rsaBits: 2048,
    userIDs: [{ name: 'test' }],
    date: new Date('2026-01-01T00:00:00Z'),
    subkeys: [],
  })
  const path = join(directory, 'signing-key.asc')
  await writeFile(path, privateKey)
  const keys = await openKeys(directory, new Date('2026-01-02T00:00:00Z'))
  const signature = await keys.openpgp.detachBinary(Buffer.from('a checkpoint'), new Date('2026-01-02T00:00:00Z'))
  const isSigned = createSignatureCheck(await readPublicKeys(path))
  expect(await isSigned('a checkpoint', signature)).toBe(true)
  expect(await isSigned('another checkpoint', signature)).toBe(false)
  expect(await isSigned('a checkpoint', signature.subarray(1))).toBe(false)
  expect(await isSigned('a checkpoint', new Uint8Array())).toBe(false)

  const other = await openpgp.generateKey({ type: 'ecc', userIDs: [{ name: 'test' }] })
  await writeFile(path, other.publicKey)
  expect(await createSignatureCheck(await readPublicKeys(path))('a checkpoint', signature)).toBe(false)
  expect(await readFile(path, 'utf8')).toContain('PUBLIC KEY')
})
