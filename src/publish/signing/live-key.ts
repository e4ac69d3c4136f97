// The current OpenPGP key: a process that signs notices when this process or another replica replaced the file.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as openpgp from 'openpgp'
import type { Signers } from '../../formats/intake-format.ts'
import { ifMissing, replaceFile } from '../../kernel/files.ts'
import { StartError } from '../../kernel/start-error.ts'
import { createSignatureCheck, readPublicKeys, type SignatureCheck } from './audit-keys.ts'
import { FORMER_KEYS_FILE, OPENPGP_FILE } from './key-names.ts'

type Signer = Signers['openpgp']

export interface LiveKey {
  signer: Signer
  firstFingerprint: string
  current(): Promise<openpgp.PrivateKey>
  isSigned: SignatureCheck
  formerArmored(): string
  /** @param armored a private key. The public part of the present key is stored first, so that its signatures stay verifiable. */
  replace(armored: string): Promise<void>
}

interface Loaded {
  version: string
  key: openpgp.PrivateKey
  signer: Signer
  former: string
  isSigned: SignatureCheck
}

/** @throws StartError with the file's name when the key cannot be read or cannot sign */
export async function openLiveKey(directory: string, signerOf: (key: openpgp.PrivateKey) => Signer): Promise<LiveKey> {
  const path = join(directory, OPENPGP_FILE)
  const formerPath = join(directory, FORMER_KEYS_FILE)

  const readFormer = () => readFile(formerPath, 'utf8').catch(ifMissing(''))

  async function load(): Promise<Loaded> {
    const version = await versionOf(path)
    const key = await readPrivate(path)
    const [own, ...others] = await readPublicKeys(path, formerPath)
    const isSigned = createSignatureCheck([own!, ...others])
    return { version, key, signer: signerOf(key), former: await readFormer(), isSigned }
  }

  let loaded = await load()
  const oldest = (await readPublicKeys(path, formerPath)).at(1)

  /** Keeps the loaded key when the file is gone, damaged, or has a key without a replacement: the drift scan reports this. */
  async function fresh(): Promise<Loaded> {
    const version = await versionOf(path).catch(() => loaded.version)
    if (version === loaded.version) return loaded
    const found = await load().catch(() => null)
    const isSame = found?.signer.fingerprint === loaded.signer.fingerprint
    if (found && (isSame || found.former.includes(loaded.signer.publicKeyArmored.trim()))) loaded = found
    return loaded
  }

  return {
    signer: {
      get fingerprint() {
        return loaded.signer.fingerprint
      },
      get publicKeyArmored() {
        return loaded.signer.publicKeyArmored
      },
      clearsign: async (text, at) => (await fresh()).signer.clearsign(text, at),
      detach: async (content, at) => (await fresh()).signer.detach(content, at),
      detachBinary: async (content, at) => (await fresh()).signer.detachBinary(content, at),
    },
    firstFingerprint: (oldest ?? loaded.key).getFingerprint().toUpperCase(),
    current: async () => (await fresh()).key,
    isSigned: async (text, signature) => (await fresh()).isSigned(text, signature),
    formerArmored: () => loaded.former,
    async replace(armored) {
      await openpgp.readPrivateKey({ armoredKey: armored })
      const own = (await fresh()).signer.publicKeyArmored.trim()
      const former = await readFormer()
      // After a crash between the two writes, the present key is already among the former ones.
      if (!former.includes(own)) await replaceFile(formerPath, `${former}${own}\n`, 0o600)
      await replaceFile(path, armored, 0o600)
      loaded = await load()
    },
  }
}

async function readPrivate(path: string): Promise<openpgp.PrivateKey> {
  try {
    const key = await openpgp.readPrivateKey({ armoredKey: await readFile(path, 'utf8') })
    if (!key.isDecrypted()) throw new Error('it is protected by a passphrase')
    return key
  } catch (error) {
    throw new StartError(`the signing key ${OPENPGP_FILE} cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Changes with each replacement of the file by a rename. */
async function versionOf(path: string): Promise<string> {
  const { ino, mtimeMs, size } = await stat(path)
  return `${ino} ${mtimeMs} ${size}`
}
