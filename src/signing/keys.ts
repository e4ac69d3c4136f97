// The repository's two keys: OpenPGP for apt, dnf and zypper, plain RSA for apk. Private keys leave the service only inside backups.
import { createPrivateKey, createPublicKey, generateKeyPair, sign, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as openpgp from 'openpgp'
import type { Signers } from '../formats/format.ts'
import { ensurePrivateDirectory } from '../kernel/files.ts'
import { StartError } from '../kernel/start-error.ts'
import { readOrCreate } from './key-file.ts'
import { APK_KEY_NAME } from './key-names.ts'
import { armor, cleartext, SIGNATURE_BINARY, SIGNATURE_TEXT, signaturePacket } from './openpgp-packets.ts'

const OPENPGP_FILE = 'signing-key.asc'
const APK_FILE = 'svc.rsa'

const generate = promisify(generateKeyPair)
const signBytes = promisify<string, Uint8Array, KeyObject, Buffer>(sign)

export interface Keys extends Signers {
  createdAt: Date
  algorithm: string
  uids: string[]
}

/**
 * Loads the keys from `gnupg/` and creates missing ones (RSA 4096, 3 s). An existing key file is used unchanged; it must
 * be an armored private key without passphrase.
 * @throws with the file's name when a key cannot be read or cannot sign
 */
export async function openKeys(directory: string, now: Date): Promise<Keys> {
  await ensurePrivateDirectory(directory)
  const path = join(directory, OPENPGP_FILE)
  const armored = await readOrCreate(path, () => generateOpenpgp(now))
  let key: openpgp.PrivateKey
  try {
    key = await openpgp.readPrivateKey({ armoredKey: armored })
    if (!key.isDecrypted()) throw new Error('it is protected by a passphrase')
  } catch (error) {
    throw new StartError(`the signing key ${OPENPGP_FILE} cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  }
  const apkKey = createPrivateKey(await readOrCreate(join(directory, APK_FILE), generateApk))
  return {
    openpgp: openpgpSigner(key),
    apk: {
      keyName: APK_KEY_NAME,
      publicKeyPem: createPublicKey(apkKey).export({ type: 'spki', format: 'pem' }) as string,
      sign: (content) => signBytes('RSA-SHA256', content, apkKey),
    },
    createdAt: key.getCreationTime(),
    algorithm: `${key.getAlgorithmInfo().algorithm}${key.getAlgorithmInfo().bits ?? ''}`,
    uids: key.getUserIDs(),
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
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

/**
 * apt 3 (sqv `--not-after`) and rpm on Sequoia refuse a signature made after their own time: the date of an index may be
 * some seconds ahead, and clocks of clients run behind.
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
        (await openpgp.sign({
          message: await openpgp.createMessage({ binary: content }),
          signingKeys: key,
          detached: true,
          date: dated(at),
          format: 'binary',
        })) as Uint8Array,
    }
  }
  const binary = (content: Uint8Array, at: Date) =>
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

/** The primary key as node:crypto knows it, when it is RSA of version 4; null for everything else. */
function rsaKeyOf(key: openpgp.PrivateKey): KeyObject | null {
  const packet = key.keyPacket as unknown as {
    version: number
    algorithm: number
    publicParams: { n: Uint8Array; e: Uint8Array }
    privateParams: { d: Uint8Array; p: Uint8Array; q: Uint8Array; u: Uint8Array }
  }
  if (packet.version !== 4 || (packet.algorithm !== 1 && packet.algorithm !== 3)) return null
  const { n, e } = packet.publicParams
  // RFC 9580 keeps u = p^-1 mod q, JWK wants qi = q^-1 mod p: the two primes change places.
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
