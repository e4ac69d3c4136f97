import { createHash, createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import * as openpgp from 'openpgp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sampleSigners } from '../../../test/conformance.ts'
import { bin, buildRpm, strings, type SampleRpm } from '../../../test/samples/rpm.ts'
import type { Signers } from '../intake-format.ts'
import { readRpmLayout } from './open.ts'
import { rpmFormat } from './index.ts'
import { SIGNATURE_TAG } from './tags.ts'
import { verifySignature } from './verify.ts'

const AT = new Date('2026-11-02T00:00:00Z')

interface TestKey {
  signers: Signers
  publicKey: string
  revoked: string
  keyId: string
  key: openpgp.PrivateKey
}

async function makeKey(options: Partial<openpgp.KeyOptions>): Promise<TestKey> {
  const made = await openpgp.generateKey({
    userIDs: [{ name: 'test' }],
    date: new Date('2026-01-01T00:00:00Z'),
    subkeys: [],
    ...options,
    format: 'object',
  })
  const key = made.privateKey
  const revoked = await openpgp.revokeKey({
    key: made.publicKey,
    revocationCertificate: made.revocationCertificate,
    format: 'armored',
  })
  return {
    key,
    publicKey: made.publicKey.armor(),
    revoked: revoked.publicKey,
    keyId: key.getKeyID().toHex().toUpperCase(),
    signers: signersOf(async (content, at) => {
      const binary = content instanceof Uint8Array ? content : await buffer(content)
      const message = await openpgp.createMessage({ binary })
      return (await openpgp.sign({
        message,
        signingKeys: key,
        detached: true,
        date: at,
        format: 'binary',
      })) as Uint8Array
    }),
  }
}

function signersOf(detachBinary: Signers['openpgp']['detachBinary']): Signers {
  return { ...sampleSigners, openpgp: { ...sampleSigners.openpgp, detachBinary } }
}

describe('signatures inside an rpm', () => {
  let directory: string
  let rsa: TestKey
  let other: TestKey
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rpm-sign-'))
    rsa = await makeKey({ type: 'rsa', rsaBits: 2048 })
    other = await makeKey({ type: 'curve25519' })
  })
  afterAll(() => rm(directory, { recursive: true }))

  let count = 0
  const fresh = () => join(directory, String(count++))
  async function stored(bytes: Uint8Array): Promise<string> {
    const path = fresh()
    await writeFile(path, bytes)
    return path
  }
  async function signed(signers: Signers, sample: SampleRpm = {}): Promise<string> {
    const to = fresh()
    await rpmFormat.sign!(await stored(await buildRpm(sample)), to, signers, AT)
    return to
  }

  it('are verified with their key and unknown without it', async () => {
    const path = await signed(rsa.signers)
    expect(await verifySignature(path, [other.publicKey, rsa.publicKey])).toEqual({
      outcome: 'verified',
      keyId: rsa.keyId,
    })
    expect(await verifySignature(path, [other.publicKey])).toEqual({ outcome: 'unknown_key', keyId: rsa.keyId })
    expect(await verifySignature(path, [])).toEqual({ outcome: 'unknown_key', keyId: rsa.keyId })
  })

  it.each<[string, Partial<openpgp.KeyOptions>, number]>([
    ['RSA', { type: 'rsa', rsaBits: 2048 }, SIGNATURE_TAG.RSA],
    ['EdDSA of old', { type: 'ecc', curve: 'ed25519Legacy' }, SIGNATURE_TAG.DSA],
    ['Ed25519', { type: 'curve25519' }, SIGNATURE_TAG.DSA],
    ['ECDSA', { type: 'ecc', curve: 'nistP256' }, SIGNATURE_TAG.DSA],
    ['a subkey', { type: 'rsa', rsaBits: 2048, subkeys: [{ sign: true }] }, SIGNATURE_TAG.RSA],
  ])('may be made with %s', async (_, options, tag) => {
    const key = await makeKey(options)
    const path = await signed(key.signers)
    expect((await readRpmLayout(path)).signature.has(tag)).toBe(true)
    expect(await verifySignature(path, [key.publicKey])).toMatchObject({ outcome: 'verified' })
    const facts = await rpmFormat.read(path)
    expect(facts.signatures).toHaveLength(1)
    expect(facts.signatures[0]?.keyId).toMatch(/^[0-9A-F]{16}$/)
  })

  it('leave every byte after the signature header unchanged', async () => {
    for (let padding = 1; padding <= 8; padding++) {
      const original = await buildRpm({ signatureTags: { 1099: bin(Buffer.alloc(padding)) } })
      const path = await stored(original)
      const to = fresh()
      await rpmFormat.sign!(path, to, rsa.signers, AT)
      const [before, after] = [await readRpmLayout(path), await readRpmLayout(to)]
      expect(after.headerStart % 8).toBe(0)
      expect((await readFile(to)).subarray(after.headerStart)).toEqual(original.subarray(before.headerStart))
      expect(await verifySignature(to, [rsa.publicKey])).toMatchObject({ outcome: 'verified' })
    }
  })

  it('keep the other values of the signature header, 64-bit numbers too', async () => {
    const sample = await buildRpm()
    const size = (await readRpmLayout(await stored(sample))).sizeBytes
    const header = (await readRpmLayout(await stored(sample))).headerStart
    const long: SampleRpm = {
      signatureTags: {
        1000: null,
        270: { type: 'int64', values: [size - header] },
        271: { type: 'int64', values: [5_000_000_000] },
      },
    }
    const after = await readRpmLayout(await signed(rsa.signers, long))
    expect(after.signature.number(SIGNATURE_TAG.LONGSIZE)).toBe(size - header)
    expect(after.signature.number(SIGNATURE_TAG.LONGARCHIVESIZE)).toBe(5_000_000_000)
    expect(after.signature.has(SIGNATURE_TAG.RESERVEDSPACE)).toBe(false)
  })

  it('replace other signatures', async () => {
    const first = await signed(other.signers)
    const second = fresh()
    await rpmFormat.sign!(first, second, rsa.signers, AT)
    expect((await rpmFormat.read(second)).signatures).toEqual([{ keyId: rsa.keyId, algorithm: 'RSA' }])
    const third = fresh()
    await rpmFormat.sign!(second, third, rsa.signers, AT)
    expect((await readFile(third)).length).toBe((await readFile(second)).length)
  })

  it('are not written over an existing file', async () => {
    const path = await stored(await buildRpm())
    await expect(rpmFormat.sign!(path, path, rsa.signers, AT)).rejects.toThrow(/EEXIST/)
    expect(await readFile(path)).toEqual(await buildRpm())
  })

  it('are invalid after any byte is changed', async () => {
    const path = await signed(rsa.signers)
    const bytes = await readFile(path)
    const { headerStart, payloadStart, signature } = await readRpmLayout(path)
    const value = signature.entries.find(({ tag }) => tag === SIGNATURE_TAG.RSA)!
    for (const at of [headerStart + 20, payloadStart - 30, payloadStart, bytes.length - 1, 96 + value.end - 1]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      expect(await verifySignature(await stored(changed), [rsa.publicKey]), `byte ${at}`).toMatchObject({
        outcome: 'invalid',
      })
    }
  })

  it('are invalid on another package', async () => {
    const packet = (await readRpmLayout(await signed(rsa.signers))).signature.data(SIGNATURE_TAG.RSA)!
    const path = await stored(await buildRpm({ name: 'other', signatureTags: { 268: bin(packet) } }))
    expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'invalid', keyId: rsa.keyId })
  })

  /** As packages built by rpm before 4.14: the header says nothing of the payload. */
  const withoutDigest: SampleRpm = { tags: { 5092: null, 5093: null, 5097: null } }

  it.each<[string, Partial<openpgp.KeyOptions>, number[]]>([
    ['RSA', { type: 'rsa', rsaBits: 2048 }, [SIGNATURE_TAG.RSA, SIGNATURE_TAG.PGP]],
    ['Ed25519', { type: 'curve25519' }, [SIGNATURE_TAG.DSA, SIGNATURE_TAG.GPG]],
  ])(
    'are over header and payload too where the header does not state the digest of the payload (%s)',
    async (_, options, tags) => {
      const key = await makeKey(options)
      const path = await signed(key.signers, withoutDigest)
      const { signature, payloadStart } = await readRpmLayout(path)
      for (const tag of tags) expect(signature.has(tag)).toBe(true)
      expect(await verifySignature(path, [key.publicKey])).toEqual({ outcome: 'verified', keyId: key.keyId })
      expect((await rpmFormat.read(path)).signatures).toHaveLength(1)
      const bytes = await readFile(path)
      bytes[payloadStart + 5]! ^= 1
      expect(await verifySignature(await stored(bytes), [key.publicKey])).toMatchObject({ outcome: 'invalid' })
    },
  )

  it.each<[string, Partial<openpgp.KeyOptions>, number]>([
    ['RSA', { type: 'rsa', rsaBits: 2048 }, SIGNATURE_TAG.RSA],
    ['Ed25519', { type: 'curve25519' }, SIGNATURE_TAG.DSA],
  ])('are written for rpm 6 and for rpm 4 in packages of format 6 (%s)', async (_, options, tag) => {
    const key = await makeKey(options)
    const path = await signed(key.signers, { v6: true })
    const { signature } = await readRpmLayout(path)
    const [text, ...more] = signature.texts(SIGNATURE_TAG.OPENPGP, 16)
    expect(more).toEqual([])
    expect(Buffer.from(text!, 'base64')).toEqual(signature.data(tag))
    expect(signature.has(SIGNATURE_TAG.RESERVED)).toBe(false)
    expect(await verifySignature(path, [key.publicKey])).toEqual({ outcome: 'verified', keyId: key.keyId })
    const again = fresh()
    await rpmFormat.sign!(path, again, key.signers, AT)
    expect(await readFile(again)).toHaveLength((await readFile(path)).length)
  })

  it('are ignored when they do not cover the payload', async () => {
    const header = (await readRpmLayout(await stored(await buildRpm(withoutDigest)))).header.bytes
    const packet = await rsa.signers.openpgp.detachBinary(header, AT)
    const path = await stored(await buildRpm({ ...withoutDigest, signatureTags: { 268: bin(packet) } }))
    expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'unsigned' })
  })

  it('by a revoked key count as by an unknown key', async () => {
    expect(rsa.revoked).toContain('BEGIN PGP PUBLIC KEY BLOCK')
    const path = await signed(rsa.signers)
    expect(await verifySignature(path, [rsa.revoked])).toMatchObject({ outcome: 'unknown_key' })
  })

  it('are reported missing for an unsigned file', async () => {
    expect(await verifySignature(await stored(await buildRpm()), [rsa.publicKey])).toEqual({ outcome: 'unsigned' })
  })

  it('that cannot be parsed have no key', async () => {
    for (const junk of [
      Buffer.from('junk'),
      Buffer.of(0x89, 0, 3, 4, 0, 1),
      Buffer.of(0xc2, 0xff, 0xff, 0xff, 0xff, 0xff),
    ]) {
      const path = await stored(await buildRpm({ signatureTags: { 268: bin(junk) } }))
      expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'unknown_key', keyId: null })
      expect((await rpmFormat.read(path)).signatures).toEqual([{ keyId: null, algorithm: 'unknown' }])
    }
    const path = await stored(await buildRpm({ signatureTags: { 278: strings('bm90IGEgcGFja2V0') } }))
    expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'unknown_key', keyId: null })
  })

  it('are verified beside a key that cannot be parsed', async () => {
    expect(await verifySignature(await signed(rsa.signers), ['no key', rsa.publicKey])).toMatchObject({
      outcome: 'verified',
    })
  })

  describe('of version 3, as CentOS and Oracle make them', () => {
    const v3 = (hashName: string, hashNumber: number) => async (content: Uint8Array, at: Date) => {
      const time = Buffer.alloc(4)
      time.writeUInt32BE(at.getTime() / 1000)
      const hashed = Buffer.concat([Buffer.of(0), time])
      const fixed = sign(hashName, Buffer.concat([content, hashed]), nodeKeyOf(rsa.key))
      // An OpenPGP integer has no leading zeros; one RSA signature in 256 begins with one.
      const value = fixed.subarray(fixed.findIndex((byte) => byte !== 0))
      const digest = createHash(hashName).update(content).update(hashed).digest()
      const bits = Buffer.alloc(2)
      bits.writeUInt16BE(value.length * 8 - Math.clz32(value[0]!) + 24)
      const body = Buffer.concat([
        Buffer.of(3, 5),
        hashed,
        Buffer.from(rsa.keyId, 'hex'),
        Buffer.of(1, hashNumber),
        digest.subarray(0, 2),
        bits,
        value,
      ])
      const length = Buffer.alloc(2)
      length.writeUInt16BE(body.length)
      return Buffer.concat([Buffer.of(0x89), length, body])
    }

    it('are verified', async () => {
      const path = await signed(signersOf(v3('sha256', 8)))
      expect((await rpmFormat.read(path)).signatures).toEqual([{ keyId: rsa.keyId, algorithm: 'RSA' }])
      expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'verified', keyId: rsa.keyId })
    })

    it('are not trusted with SHA-1, which current clients refuse', async () => {
      const path = await signed(signersOf(v3('sha1', 2)))
      expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'unknown_key', keyId: rsa.keyId })
    })

    it('may be over header and payload together', async () => {
      const plain: SampleRpm = { tags: { 5092: null, 5093: null, 5097: null } }
      const bytes = await buildRpm(plain)
      const { headerStart } = await readRpmLayout(await stored(bytes))
      const packet = await v3('sha256', 8)(bytes.subarray(headerStart), AT)
      const path = await stored(await buildRpm({ ...plain, signatureTags: { 1002: bin(packet) } }))
      expect(await verifySignature(path, [rsa.publicKey])).toEqual({ outcome: 'verified', keyId: rsa.keyId })
    })
  })
})

/** The RSA key as node:crypto takes it. */
function nodeKeyOf(key: openpgp.PrivateKey): KeyObject {
  const { publicParams, privateParams } = key.keyPacket as unknown as {
    publicParams: Record<'n' | 'e', Uint8Array>
    privateParams: Record<'d' | 'p' | 'q' | 'u', Uint8Array>
  }
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const big = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  const { d, p: q, q: p, u: qi } = privateParams
  const reduced = (prime: Uint8Array) =>
    Buffer.from((big(d) % (big(prime) - 1n)).toString(16).padStart(prime.length * 2, '0'), 'hex')
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: text(publicParams.n),
      e: text(publicParams.e),
      d: text(d),
      p: text(p),
      q: text(q),
      dp: text(reduced(p)),
      dq: text(reduced(q)),
      qi: text(qi),
    },
  })
}
