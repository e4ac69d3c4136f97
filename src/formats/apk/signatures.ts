// RSA signatures of the control segment in an .apk (apk-v2(5), "THE SIGNATURES").
import { createVerify } from 'node:crypto'
import { readAll } from '../archive/entry-content.ts'
import { fileRange } from '../archive/file-range.ts'
import type { EmbeddedSignature } from '../../domain/package.ts'
import { apkSegments } from './open.ts'

/** A key of clients; signatures refer to it by its file name under `/etc/apk/keys`. */
export interface ApkKey {
  name: string
  /** SubjectPublicKeyInfo in PEM */
  pem: string
}

/** `unverified`: signed, but by no known key; `invalid`: names a known key, but the signature is wrong. */
export interface SignatureVerdict {
  verdict: 'signed' | 'unsigned' | 'unverified' | 'invalid'
  /** the signature that decided, else the first one */
  signature: EmbeddedSignature | null
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  RSA: 'RSA-SHA1',
  RSA256: 'RSA-SHA256',
  RSA512: 'RSA-SHA512',
  DSA: 'DSA-SHA1',
}
// The limit of apk-tools 3.
const MOST_SIGNATURE_BYTES = 64 * 1024

/** @param name of a file in the signature segment: `.SIGN.<algorithm>.<key>` */
export function describeSignature(name: string): EmbeddedSignature {
  const [, algorithm = '', key = ''] = /^\.SIGN\.([A-Z0-9]+)\.(.+)$/s.exec(name) ?? []
  return { keyId: key || null, algorithm: ALGORITHMS[algorithm] ?? 'unknown' }
}

/**
 * Checks the signatures as apk does: the first one that names a known key decides.
 * @throws Problem('invalid_package') if the file is not a package
 */
export async function verifySignature(path: string, keys: readonly ApkKey[]): Promise<SignatureVerdict> {
  let first: EmbeddedSignature | null = null
  let deciding: { described: EmbeddedSignature; bytes: Buffer; pem: string } | null = null
  for await (const segment of apkSegments(path)) {
    if (segment.kind === 'signatures') {
      for await (const entry of segment.entries) {
        const described = describeSignature(entry.name)
        first ??= described
        const key = keys.find(({ name }) => name === described.keyId)
        if (deciding || !key || !described.algorithm.startsWith('RSA-')) continue
        deciding = { described, bytes: await readAll(entry.content, MOST_SIGNATURE_BYTES, 'signature'), pem: key.pem }
      }
      continue
    }
    if (!deciding) break
    for await (const _ of segment.entries);
    const verify = createVerify(deciding.described.algorithm)
    for await (const piece of fileRange(path, segment.start, segment.end)) verify.update(piece)
    const verdict = verify.verify(deciding.pem, deciding.bytes) ? 'signed' : 'invalid'
    return { verdict, signature: deciding.described }
  }
  return { verdict: first ? 'unverified' : 'unsigned', signature: first }
}
