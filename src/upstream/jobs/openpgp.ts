// Verifies OpenPGP signatures of an upstream against the keys of its source.
import * as openpgp from 'openpgp'
import { refused } from '../../formats/catalog.ts'

/** Clocks of upstreams may be ahead. */
const SKEW_MS = 5 * 60_000

/** Debian's InRelease has 1,500. */
const MOST_LINES = 10_000
/** Debian's InRelease has three. */
const MOST_SIGNATURES = 16

const ARMORED_KEYS = /-----BEGIN PGP PUBLIC KEY BLOCK-----[^]*?-----END PGP PUBLIC KEY BLOCK-----/g

/**
 * As in apt, one good signature is enough, but one of a known key over other bytes refuses the document. Signatures by
 * keys that are expired or revoked now do not count.
 */
export interface OpenpgpVerifier {
  /** @returns only the signed text, and the fingerprints of the keys that signed it @throws Problem('upstream_error') */
  cleartext(document: Uint8Array, name: string): Promise<{ text: string; signedBy: string[] }>
  /** @param signature armored or binary @returns the fingerprints @throws Problem('upstream_error') */
  detached(content: Uint8Array, signature: Uint8Array, name: string): Promise<string[]>
}

type Signature = Pick<Awaited<ReturnType<typeof openpgp.verify>>['signatures'][number], 'keyID' | 'verified'>

/** @param armored public keys, one or several in each text */
export function createOpenpgpVerifier(armored: readonly string[], now: Date): OpenpgpVerifier {
  const date = new Date(now.getTime() + SKEW_MS)
  let read: Promise<openpgp.Key[]> | undefined
  const keys = () => (read ??= readKeys(armored))

  async function signers(name: string, signatures: readonly Signature[]): Promise<string[]> {
    const known = await keys()
    const good: string[] = []
    const reasons: string[] = []
    for (const { keyID, verified } of signatures) {
      const error = await verified.then(
        () => null,
        (thrown: unknown) => thrown as Error,
      )
      const key = known.find((one) => one.getKeys(keyID).length > 0)
      if (!key) {
        reasons.push(`the key ${keyID.toHex().toUpperCase()} is not one of the source's`)
        continue
      }
      const stale =
        error ??
        (await key.getSigningKey(keyID, date).then(
          () => null,
          (thrown: unknown) => thrown as Error,
        ))
      if (!stale) good.push(key.getFingerprint().toUpperCase())
      else if (error && !/expired|revoked|not (?:yet )?valid|future/i.test(error.message))
        throw refused('signature', `${name} has a wrong signature: ${lowerFirst(error.message)}`, error)
      else reasons.push(lowerFirst(stale.message))
    }
    if (good.length === 0)
      throw refused('signature', `${name} has no valid signature: ${reasons.join('; ') || 'it is not signed'}`)
    return [...new Set(good)]
  }

  return {
    async cleartext(document, name) {
      try {
        const cleartextMessage = Buffer.from(document).toString('utf8')
        checkLines(cleartextMessage, name)
        const message = await openpgp.readCleartextMessage({ cleartextMessage }).catch((error: unknown) => {
          throw refused('signature', `${name} is not a signed text`, error)
        })
        checkCount(message.getSigningKeyIDs().length, name)
        const result = await openpgp.verify({ message, verificationKeys: await keys(), date })
        return { text: message.getText(), signedBy: await signers(name, result.signatures) }
      } catch (error) {
        throw asRefusal(error, name)
      }
    },
    async detached(content, bytes, name) {
      try {
        const isArmored = Buffer.from(bytes.subarray(0, 15)).toString('latin1') === '-----BEGIN PGP '
        const signature = await (
          isArmored
            ? openpgp.readSignature({ armoredSignature: Buffer.from(bytes).toString('latin1') })
            : openpgp.readSignature({ binarySignature: bytes })
        ).catch((error: unknown) => {
          throw refused('signature', `the signature of ${name} cannot be read`, error)
        })
        checkCount(signature.getSigningKeyIDs().length, name)
        const message = await openpgp.createMessage({ binary: content })
        const result = await openpgp.verify({ message, signature, verificationKeys: await keys(), date })
        return await signers(name, result.signatures)
      } catch (error) {
        throw asRefusal(error, name)
      }
    },
  }
}

/** OpenPGP.js reads a text line by line: 900,000 empty lines blocked the event loop for 1.7 s. */
function checkLines(text: string, name: string): void {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1 && lines <= MOST_LINES; at = text.indexOf('\n', at + 1)) lines++
  if (lines > MOST_LINES) throw refused('too_large', `${name} has more than ${MOST_LINES} lines`)
}

/** Each signature costs a digest of the whole text: 1,000 took 1.7 s. */
function checkCount(count: number, name: string): void {
  if (count > MOST_SIGNATURES)
    throw refused('signature', `${name} has ${count} signatures; at most ${MOST_SIGNATURES} are read`)
}

async function readKeys(armored: readonly string[]): Promise<openpgp.Key[]> {
  const blocks = armored.flatMap((text) => text.match(ARMORED_KEYS) ?? [])
  if (blocks.length === 0) throw refused('signature', 'the source has no OpenPGP key that can be read')
  const keys = await Promise.all(
    blocks.map((armoredKeys) =>
      openpgp.readKeys({ armoredKeys }).catch((error: unknown) => {
        throw refused('signature', 'a key of the source cannot be read', error)
      }),
    ),
  )
  return keys.flat()
}

function asRefusal(error: unknown, name: string): unknown {
  if (error instanceof Error && error.name === 'Problem') return error
  return refused('signature', `the signature of ${name} cannot be verified`, error)
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1)
