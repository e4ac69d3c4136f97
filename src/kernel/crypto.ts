// Small cryptographic tools over node:crypto: sealing stored secrets, comparison, token hashes.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

export function hmacSha256Hex(key: string, data: string | Uint8Array): string {
  return createHmac('sha256', key).update(data).digest('hex')
}

/** Compares two strings in constant time: the time does not depend on their content or on where they differ. */
export function equalSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** URL-safe random text of `bytes` bytes of entropy. */
export function randomToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

export interface SecretBox {
  seal(plain: string): string
  /** @throws when the text was sealed with another key or was altered */
  open(sealed: string): string
}

const SEALED = 'sealed:v1:'

export function isSealed(text: string): boolean {
  return text.startsWith(SEALED)
}

/** AES-256-GCM with a random 96-bit nonce (NIST SP 800-38D); the key is derived by HKDF-SHA256 from the passphrase. */
export function createSecretBox(passphrase: string): SecretBox {
  const key = Buffer.from(hkdfSync('sha256', passphrase, '', 'gatehouse settings', 32))
  return {
    seal(plain) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
    },
    open(sealed) {
      if (!isSealed(sealed)) throw new Error('not a sealed secret')
      const raw = Buffer.from(sealed.slice(SEALED.length), 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, raw.subarray(0, 12), { authTagLength: 16 })
      decipher.setAuthTag(raw.subarray(12, 28))
      return Buffer.concat([decipher.update(raw.subarray(28)), decipher.final()]).toString('utf8')
    },
  }
}
