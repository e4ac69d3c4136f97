// The key that authenticates audit entries, and the check of the signatures on checkpoints.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as openpgp from 'openpgp'
import { randomToken } from '../../kernel/crypto.ts'
import { ensurePrivateDirectory, ifMissing } from '../../kernel/files.ts'
import { StartError } from '../../kernel/start-error.ts'
import { readOrCreate } from './key-file.ts'

const AUDIT_KEY_FILE = 'audit.key'
/** 256 random bits. */
const KEY_FORM = /^[A-Za-z0-9_-]{43}\n$/

/**
 * Loads the key from `gnupg/`, and creates it at the first start.
 * @throws when the file does not contain a key
 */
export async function openAuditKey(directory: string): Promise<string> {
  await ensurePrivateDirectory(directory)
  await readOrCreate(join(directory, AUDIT_KEY_FILE), async () => `${randomToken(32)}\n`)
  return readAuditKey(directory)
}

/** @throws ENOENT when there is no file, an Error naming the file when it does not contain a key */
export async function readAuditKey(directory: string): Promise<string> {
  const text = await readFile(join(directory, AUDIT_KEY_FILE), 'utf8')
  if (!KEY_FORM.test(text)) throw new StartError(`${AUDIT_KEY_FILE} does not hold an audit key`)
  return text.trim()
}

const PUBLIC_BLOCK = /-----BEGIN PGP PUBLIC KEY BLOCK-----[^]*?-----END PGP PUBLIC KEY BLOCK-----/g

/** The public parts of armored key files: a private key, or several public ones. @throws when the first file has none */
export async function readPublicKeys(path: string, ...more: string[]): Promise<openpgp.PublicKey[]> {
  const text = await readFile(path, 'utf8')
  const others = await Promise.all(more.map((one) => readFile(one, 'utf8').catch(ifMissing(''))))
  const first = text.match(PUBLIC_BLOCK) ?? [text]
  const keys = await Promise.all(
    [...first, ...others.flatMap((one) => one.match(PUBLIC_BLOCK) ?? [])].map((armoredKey) =>
      openpgp.readKey({ armoredKey }),
    ),
  )
  return keys.map((key) => (key.isPrivate() ? key.toPublic() : key))
}

export type SignatureCheck = (text: string, signature: Uint8Array) => Promise<boolean>

/** @returns a function that tells whether a binary signature of one of these keys covers a text */
export function createSignatureCheck(publicKeys: openpgp.PublicKey[]): SignatureCheck {
  return async (text, signature) => {
    try {
      const { signatures } = await openpgp.verify({
        message: await openpgp.createMessage({ binary: Buffer.from(text) }),
        signature: await openpgp.readSignature({ binarySignature: signature }),
        verificationKeys: publicKeys,
      })
      return signatures.length > 0 && (await Promise.all(signatures.map(({ verified }) => verified))).every(Boolean)
    } catch {
      return false
    }
  }
}
