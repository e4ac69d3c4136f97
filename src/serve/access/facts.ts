// What listeners know about who may read private places: two files, which the service writes and listeners read without a database.
//
// The *facts* are named by their digest and change with rights. The *stamp* names the facts in force, and is signed anew every
// few seconds: it shows how old the knowledge is. Tokens are in them as SHA-256 digests only, which is enough for 256 random bits.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto'
import Type from 'typebox'
import Value from 'typebox/value'
import { sha256Hex } from '../../kernel/crypto.ts'

export const STAMP_FILE = 'stamp'
/** Directory of markers, one for each private place: what is private is known without the facts, too. */
export const MARKERS = 'private'
export const factsName = (digest: string) => `facts-${digest.slice(0, 32)}.json`
export const isFactsName = (name: string) => /^facts-[0-9a-f]{32}\.json$/.test(name)
/** A key like `npm/team` is one file name. */
export const markerOf = (place: string) => encodeURIComponent(place)
export const placeOfMarker = (name: string): string | null => {
  try {
    return decodeURIComponent(name)
  } catch {
    return null
  }
}

/** 100,000 machines are 10 MB. */
export const MOST_FACTS_BYTES = 64 * 1024 * 1024
const MOST_STAMP_BYTES = 4096

export interface Facts {
  /** another form has another number, which older listeners refuse */
  version: 1
  /** keys of private places */
  private: string[]
  /** sets of places, as their numbers in `private`; each is named by many credentials */
  rights: number[][]
  /** digest of the stored form of a token, number of its rights, name for logs, end in ms since 1970 (0: none) */
  credentials: [digest: string, rights: number, name: string, ends: number][]
  /** client certificates: their spelling by `certificateKey`, and the number of the credential that they stand for */
  certificates: [certificate: string, credential: number][]
}

export interface Stamp {
  version: 1
  /** when the database was asked, in ms since 1970 */
  at: number
  /** SHA-256 of the facts */
  digest: string
}

const StampSchema = Type.Object({
  version: Type.Literal(1),
  at: Type.Integer({ minimum: 0 }),
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
})

/** A new signing key, PEM. */
export const newFactsKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })

export const publicFactsKey = (privatePem: string): string =>
  createPublicKey(privatePem).export({ type: 'spki', format: 'pem' })

/** Keeps the stamp from being taken for something else that the key might sign one day. */
const CONTEXT = 'gatehouse access stamp\n'

/** @returns the content of the stamp's file */
export function signStamp(stamp: Stamp, privatePem: string): string {
  const text = JSON.stringify(stamp)
  const signature = sign(null, Buffer.from(CONTEXT + text), createPrivateKey(privatePem))
  return `${text}\n${signature.toString('base64')}\n`
}

/** @returns null for a text that is damaged, or not signed with this key */
export function readStamp(content: string, key: KeyObject): Stamp | null {
  if (content.length > MOST_STAMP_BYTES) return null
  const [text = '', signature = ''] = content.split('\n')
  if (!verify(null, Buffer.from(CONTEXT + text), key, Buffer.from(signature, 'base64'))) return null
  const stamp = parsed(text)
  return Value.Check(StampSchema, stamp) ? stamp : null
}

/** @returns null for bytes that are not those that the stamp names */
export function readFacts(bytes: Uint8Array, { digest }: Stamp): Facts | null {
  if (sha256Hex(bytes) !== digest) return null
  // Their form needs no check: the service wrote them, because it signed their digest.
  const facts = parsed(Buffer.from(bytes).toString('utf8')) as Facts | null
  return facts?.version === 1 ? facts : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

/**
 * One spelling for a subject or a fingerprint of a certificate: servers write fingerprints with and without colons, and names in
 * any case. Empty for text that names nobody.
 */
export function certificateKey(text: string): string {
  const plain = text.trim()
  const digest = plain.replaceAll(':', '').toLowerCase()
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(digest) ? digest : plain.toLowerCase()
}
