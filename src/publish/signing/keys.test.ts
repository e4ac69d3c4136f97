import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVerify } from 'node:crypto'
import { chmod, mkdtemp, rm, stat, writeFile, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import * as openpgp from 'openpgp'
import { openKeys, type Keys } from './keys.ts'

let directory: string
let keys: Keys
const AT = new Date('2026-03-01T12:00:00Z')
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  keys = await openKeys(directory, new Date('2026-01-01T00:00:00Z'))
})
afterAll(() => rm(directory, { recursive: true }))

const publicKey = () => openpgp.readKey({ armoredKey: keys.openpgp.publicKeyArmored })

test('private key files are readable by their owner only', async () => {
  expect((await stat(directory)).mode & 0o777).toBe(0o700)
  expect((await stat(join(directory, 'signing-key.asc'))).mode & 0o777).toBe(0o600)
  expect((await stat(join(directory, 'svc.rsa'))).mode & 0o777).toBe(0o600)
})

test.each(['Origin: x\nDate: now\n', 'trailing blanks  \n- dash\n\n\nend', ''])(
  'another implementation verifies the clear signature of %j',
  async (text) => {
    const message = await openpgp.readCleartextMessage({ cleartextMessage: await keys.openpgp.clearsign(text, AT) })
    const result = await openpgp.verify({ message, verificationKeys: await publicKey(), date: AT })
    await expect(result.signatures[0]?.verified).resolves.toBe(true)
  },
)

test('a detached signature verifies, and fails over other bytes', async () => {
  const content = Buffer.from('some bytes \r\n\0')
  const signature = await openpgp.readSignature({ armoredSignature: await keys.openpgp.detach(content, AT) })
  const check = async (binary: Uint8Array) =>
    (
      await openpgp.verify({
        message: await openpgp.createMessage({ binary }),
        signature,
        verificationKeys: await publicKey(),
        date: AT,
      })
    ).signatures[0]?.verified
  await expect(check(content)).resolves.toBe(true)
  await expect(check(Buffer.from('some bytes \r\n\x01'))).rejects.toThrow()
})

test('a signature is a minute older than what it signs, for clients whose clocks run behind, and never older than its key', async () => {
  const createdOf = async (at: Date) =>
    (await openpgp.readSignature({ armoredSignature: await keys.openpgp.detach(Buffer.from('a'), at) })).packets[0]
      ?.created
  expect(await createdOf(AT)).toEqual(new Date(AT.getTime() - 60_000))
  const born = (await publicKey()).getCreationTime()
  expect(born < new Date('2026-01-01T00:00:00Z')).toBe(true)
  expect(await createdOf(born)).toEqual(born)
})

test('the same content and time give the same signature', async () => {
  expect(await keys.openpgp.detach(Buffer.from('a'), AT)).toBe(await keys.openpgp.detach(Buffer.from('a'), AT))
})

test.each(['rsa', 'curve25519'] as const)(
  'content that comes in pieces is signed like the whole, and is not kept (%s)',
  async (type) => {
    const home = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
    const { privateKey } = await openpgp.generateKey({
      ...(type === 'rsa' ? { type, rsaBits: 2048 } : { type }),
      userIDs: [{ name: 'x' }],
      format: 'armored',
      date: new Date('2026-01-01T00:00:00Z'),
    })
    await writeFile(join(home, 'signing-key.asc'), privateKey)
    await writeFile(join(home, 'svc.rsa'), await readFile(join(directory, 'svc.rsa')))
    const { openpgp: signer } = await openKeys(home, AT)
    await rm(home, { recursive: true })
    const verified = async (pieces: Uint8Array[], binarySignature: Uint8Array) => {
      const result = await openpgp.verify({
        message: await openpgp.createMessage({ binary: Buffer.concat(pieces) }),
        signature: await openpgp.readSignature({ binarySignature }),
        verificationKeys: await openpgp.readKey({ armoredKey: signer.publicKeyArmored }),
        date: AT,
      })
      return result.signatures[0]?.verified
    }
    const pieces = [Buffer.from('some '), Buffer.from('bytes \r\n\0')]
    const signature = await signer.detachBinary(Readable.from(pieces), AT)
    await expect(verified(pieces, signature)).resolves.toBe(true)
    await expect(verified([...pieces, Buffer.from('x')], signature)).rejects.toThrow()

    const before = process.memoryUsage().arrayBuffers
    let most = 0
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 400; count++) {
        yield Buffer.allocUnsafeSlow(1024 * 1024)
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      }
    }
    await signer.detachBinary(large(), AT)
    expect(most).toBeLessThan(200 * 1024 * 1024)
  },
)

test('the apk key signs with RSA and SHA-256', async () => {
  const signature = await keys.apk.sign(Buffer.from('index'))
  expect(createVerify('RSA-SHA256').update('index').verify(keys.apk.publicKeyPem, signature)).toBe(true)
})

test('a private key that was placed there open to others is closed to them', async () => {
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  for (const name of ['signing-key.asc', 'svc.rsa']) {
    await writeFile(join(home, name), await readFile(join(directory, name)))
    await chmod(join(home, name), 0o644)
  }
  await openKeys(home, AT)
  for (const name of ['signing-key.asc', 'svc.rsa'])
    expect([name, (await stat(join(home, name))).mode & 0o777]).toEqual([name, 0o600])
  await rm(home, { recursive: true })
})

test('an imported key of another kind signs too, and an unreadable one is named', async () => {
  const other = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  const { privateKey } = await openpgp.generateKey({
    type: 'curve25519',
    userIDs: [{ name: 'x' }],
    format: 'armored',
    date: new Date('2026-01-01T00:00:00Z'),
  })
  await writeFile(join(other, 'signing-key.asc'), privateKey)
  await writeFile(join(other, 'svc.rsa'), await readFile(join(directory, 'svc.rsa')))
  const imported = await openKeys(other, AT)
  const message = await openpgp.readCleartextMessage({ cleartextMessage: await imported.openpgp.clearsign('a\n', AT) })
  const result = await openpgp.verify({
    message,
    verificationKeys: await openpgp.readKey({ armoredKey: imported.openpgp.publicKeyArmored }),
    date: AT,
  })
  await expect(result.signatures[0]?.verified).resolves.toBe(true)
  await writeFile(join(other, 'signing-key.asc'), 'nonsense')
  await expect(openKeys(other, AT)).rejects.toThrow(/signing-key\.asc cannot be used/)
  await rm(other, { recursive: true })
})

test('a replaced key signs in every process that has it open, and what the old one signed still holds', async () => {
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
  const { privateKey } = await openpgp.generateKey({
    type: 'rsa',
    rsaBits: 2048,
    userIDs: [{ name: 'x' }],
    subkeys: [],
  })
  await writeFile(join(home, 'signing-key.asc'), privateKey)
  await writeFile(join(home, 'svc.rsa'), await readFile(join(directory, 'svc.rsa')))
  const now = new Date()
  const one = await openKeys(home, now)
  const other = await openKeys(home, now)
  const old = one.openpgp.fingerprint
  const before = await one.openpgp.detachBinary(Buffer.from('a checkpoint'), now)

  await one.replaceOpenpgp(now)
  const after = await other.openpgp.detachBinary(Buffer.from('a checkpoint'), now)
  expect(one.openpgp.fingerprint).not.toBe(old)
  expect(other.openpgp.fingerprint).toBe(one.openpgp.fingerprint)
  const again = await openKeys(home, now)
  for (const keys of [one, other, again]) {
    expect(await keys.isSigned('a checkpoint', before)).toBe(true)
    expect(await keys.isSigned('a checkpoint', after)).toBe(true)
    expect(await keys.isSigned('another', after)).toBe(false)
    expect(keys.firstFingerprint).toBe(old)
  }
  // A key that was not announced is not used: the drift scan reports it.
  await writeFile(join(home, 'signing-key.asc'), privateKey)
  expect(await one.openpgp.detachBinary(Buffer.from('a checkpoint'), now)).toEqual(after)
  await rm(home, { recursive: true })
})
