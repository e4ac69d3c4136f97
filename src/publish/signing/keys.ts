// The repository's two keys: OpenPGP for apt, dnf and zypper, plain RSA for apk. Private keys leave the service only in backups.
import { createPrivateKey, createPublicKey, generateKeyPair, sign, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import * as openpgp from 'openpgp'
import type { Signers } from '../../formats/intake-format.ts'
import { ensurePrivateDirectory } from '../../kernel/files.ts'
import { readOrCreate } from './key-file.ts'
import type { SignatureCheck } from './audit-keys.ts'
import { factsOf, type KeyFacts } from './key-facts.ts'
import { APK_KEY_NAME, OPENPGP_FILE } from './key-names.ts'
import { openLiveKey } from './live-key.ts'
import { armor, cleartext, SIGNATURE_BINARY, SIGNATURE_TEXT, signaturePacket } from './openpgp-packets.ts'

const APK_FILE = 'svc.rsa'

const generate = promisify(generateKeyPair)
const signBytes = promisify<string, Uint8Array, KeyObject, Buffer>(sign)

export interface Keys extends Signers {
  /** fingerprint of the first key of this repository; a replacement of the key does not change it */
  firstFingerprint: string
  /** the parts of the OpenPGP key, the primary first */
  facts(): Promise<KeyFacts[]>
  /** whether a binary signature of the key, or of an earlier one, covers a text */
  isSigned: SignatureCheck
  /** earlier public keys: their signatures can still be verified */
  formerArmored(): string
  /** Creates a new OpenPGP key and signs with it from now on. Other processes use it from their next signature on. */
  replaceOpenpgp(now: Date): Promise<void>
}

/**
 * Loads the keys from `gnupg/` and creates missing ones (RSA 4096, 3 s). An existing key file is used unchanged; it must
 * be an armored private key without passphrase.
 * @throws with the file's name when a key cannot be read or cannot sign
 */
export async function openKeys(directory: string, now: Date): Promise<Keys> {
  await ensurePrivateDirectory(directory)
  await readOrCreate(join(directory, OPENPGP_FILE), () => generateOpenpgp(now))
  const key = await openLiveKey(directory, openpgpSigner)
  const apkKey = createPrivateKey(await readOrCreate(join(directory, APK_FILE), generateApk))
  return {
    openpgp: key.signer,
    apk: {
      keyName: APK_KEY_NAME,
      publicKeyPem: createPublicKey(apkKey).export({ type: 'spki', format: 'pem' }),
      sign: (content) => signBytes('RSA-SHA256', content, apkKey),
    },
    firstFingerprint: key.firstFingerprint,
    facts: async () => factsOf(await key.current()),
    isSigned: key.isSigned,
    formerArmored: key.formerArmored,
    replaceOpenpgp: async (at) => key.replace(await generateOpenpgp(at)),
  }
}

async function generateOpenpgp(now: Date): Promise<string> {
  const { privateKey } = await openpgp.generateKey({
    type: 'rsa',
    rsaBits: 4096,
    userIDs: [{ name: 'Gatehouse repository signing key' }],
    // Backdated, so that clients whose clocks run behind accept it immediately.
    date: new Date(now.getTime() - 24 * 60 * 60 * 1000),
    format: 'armored',
    // The primary key itself signs: rpm and old gpgv need not look for a subkey.
    subkeys: [],
  })
  return privateKey
}

async function generateApk(): Promise<string> {
  const { privateKey } = await generate('rsa', { modulusLength: 4096 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

/**
 * apt 3 (sqv `--not-after`) and rpm on Sequoia refuse a signature that is newer than their own time: the date of an index may be
 * some seconds ahead, and clocks of clients may be behind.
 */
const BACKDATED_MS = 60_000

function openpgpSigner(key: openpgp.PrivateKey): Signers['openpgp'] {
  const rsa = rsaKeyOf(key)
  const created = key.getCreationTime().getTime()
  /** No signature is older than its key. */
  const dated = (at: Date) => new Date(Math.max(created, at.getTime() - BACKDATED_MS))
  const fingerprint = Buffer.from(key.getFingerprint(), 'hex')
  const common = { fingerprint: key.getFingerprint().toUpperCase(), publicKeyArmored: key.toPublic().armor() }
  if (!rsa) {
    return {
      ...common,
      clearsign: async (text, at) =>
        openpgp.sign({ message: await openpgp.createCleartextMessage({ text }), signingKeys: key, date: dated(at) }),
      detach: async (content, at) =>
        openpgp.sign({
          message: await openpgp.createMessage({ binary: content }),
          signingKeys: key,
          detached: true,
          date: dated(at),
        }) as Promise<string>,
      detachBinary: async (content, at) =>
        collected(
          await openpgp.sign({
            message: await messageOf(content),
            signingKeys: key,
            detached: true,
            date: dated(at),
            format: 'binary',
          }),
        ),
    }
  }
  const binary: Signers['openpgp']['detachBinary'] = (content, at) =>
    signaturePacket(rsa, fingerprint, SIGNATURE_BINARY, content, dated(at))
  return {
    ...common,
    async clearsign(text, at) {
      const { signed, shown } = cleartext(text)
      const packet = await signaturePacket(rsa, fingerprint, SIGNATURE_TEXT, signed, dated(at))
      return `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n${shown}\n${armor('SIGNATURE', packet)}`
    },
    detach: async (content, at) => armor('SIGNATURE', await binary(content, at)),
    detachBinary: binary,
  }
}

async function messageOf(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<openpgp.Message<Uint8Array>> {
  if (content instanceof Uint8Array) return openpgp.createMessage({ binary: content })
  const stream = ReadableStream.from(content) as unknown as Uint8Array
  const message = await openpgp.createMessage({ binary: stream })
  // Signing takes one copy of the stream and leaves the other to its caller. Unread, that copy would fill the memory.
  Object.assign(message.packets[0] as object, { getBytes: () => stream })
  return message
}

/** The bytes of a signature; openpgp.js returns a stream if it was given one. */
async function collected(signature: unknown): Promise<Uint8Array> {
  if (signature instanceof Uint8Array) return signature
  return buffer(signature as AsyncIterable<Uint8Array>)
}

/** The primary key for node:crypto, when it is an RSA key of version 4; null for all others. */
function rsaKeyOf(key: openpgp.PrivateKey): KeyObject | null {
  const packet = key.keyPacket as unknown as {
    version: number
    algorithm: number
    publicParams: { n: Uint8Array; e: Uint8Array }
    privateParams: { d: Uint8Array; p: Uint8Array; q: Uint8Array; u: Uint8Array }
  }
  if (packet.version !== 4 || (packet.algorithm !== 1 && packet.algorithm !== 3)) return null
  const { n, e } = packet.publicParams
  // RFC 9580 stores u = p^-1 mod q, JWK stores qi = q^-1 mod p: so the two primes are swapped.
  const { d, p: q, q: p, u: qi } = packet.privateParams
  const big = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const reduced = (prime: Uint8Array) => {
    const hex = (big(d) % (big(prime) - 1n)).toString(16)
    return Buffer.from(hex.padStart(prime.length * 2, '0'), 'hex')
  }
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: text(n),
      e: text(e),
      d: text(d),
      p: text(p),
      q: text(q),
      dp: text(reduced(p)),
      dq: text(reduced(q)),
      qi: text(qi),
    },
  })
}
