// Verifies OpenPGP signatures in a reader, because openpgp.js works synchronously: up to 100 ms for one description.
import { createOpenpgpVerifier } from './openpgp.ts'

export interface VerifyArgument {
  /** armored public keys, one or several in each text */
  keys: readonly string[]
  now: Date
  document: Uint8Array
  /** null: the document is clear-signed */
  signature: Uint8Array | null
  name: string
}

/** @throws Problem('upstream_error') */
export async function verify({
  keys,
  now,
  document,
  signature,
  name,
}: VerifyArgument): Promise<{ text: string; signedBy: string[] }> {
  const verifier = createOpenpgpVerifier(keys, now)
  if (!signature) return verifier.cleartext(document, name)
  return { text: '', signedBy: await verifier.detached(document, signature, name) }
}
