// The key that audit entries are authenticated with, and the check of signatures that checkpoints carry.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as openpgp from 'openpgp'
import { randomToken } from '../kernel/crypto.ts'
import { ensurePrivateDirectory } from '../kernel/files.ts'
import { StartError } from '../kernel/start-error.ts'
import { readOrCreate } from './key-file.ts'

const AUDIT_KEY_FILE = 'audit.key'
/** 256 random bits. */
const KEY_FORM = /^[A-Za-z0-9_-]{43}\n$/

/**
 * Loads the key from `gnupg/`, creating it at the first start.
 * @throws when the file does not hold one
 */
export async function openAuditKey(directory: string): Promise<string> {
  await ensurePrivateDirectory(directory)
  await readOrCreate(join(directory, AUDIT_KEY_FILE), async () => `${randomToken(32)}\n`)
  return readAuditKey(directory)
}

/** @throws ENOENT when there is none, an Error naming the file when it does not hold one */
export async function readAuditKey(directory: string): Promise<string> {
  const text = await readFile(join(directory, AUDIT_KEY_FILE), 'utf8')
  if (!KEY_FORM.test(text)) throw new StartError(`${AUDIT_KEY_FILE} does not hold an audit key`)
  return text.trim()
}

/** The public part of an armored key file, private or public. */
export async function readPublicKey(path: string): Promise<openpgp.PublicKey> {
  const key = await openpgp.readKey({ armoredKey: await readFile(path, 'utf8') })
  return key.isPrivate() ? key.toPublic() : key
}

/** @returns whether a binary signature of this key covers a text */
export function createSignatureCheck(
  publicKey: openpgp.PublicKey,
): (text: string, signature: Uint8Array) => Promise<boolean> {
  return async (text, signature) => {
    try {
      const { signatures } = await openpgp.verify({
        message: await openpgp.createMessage({ binary: Buffer.from(text) }),
        signature: await openpgp.readSignature({ binarySignature: signature }),
        verificationKeys: publicKey,
      })
      return signatures.length > 0 && (await Promise.all(signatures.map(({ verified }) => verified))).every(Boolean)
    } catch {
      return false
    }
  }
}
