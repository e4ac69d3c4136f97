// The part of a package format for the way in: judging a package, storing its record, rendering its entry. No index, no tree.
import type { Distribution, PackageFacts, StoredPackage } from '../domain/package.ts'
import type { PackedFacts } from '../domain/packed-facts.ts'
import type { Ecosystem } from './ecosystem.ts'
import type { InstallationRules } from './installation-rules.ts'

/** Signing for formats; keys never leave `publish/signing/`. */
export interface Signers {
  openpgp: {
    fingerprint: string
    publicKeyArmored: string
    /** RFC 9580 section 7, cleartext signature framework */
    clearsign(text: string, at: Date): Promise<string>
    /** ASCII-armored detached signature */
    detach(content: Uint8Array, at: Date): Promise<string>
    /** binary v4 signature packet over `content`, as in rpm headers; content in pieces is never completely in memory */
    detachBinary(content: Uint8Array | AsyncIterable<Uint8Array>, at: Date): Promise<Uint8Array>
  }
  apk: {
    /** the file name of the key on clients, `svc.rsa.pub` */
    keyName: string
    publicKeyPem: string
    /** RSASSA-PKCS1-v1_5 with SHA-256 */
    sign(content: Uint8Array): Promise<Uint8Array>
  }
}

export interface SignatureVerdict {
  /** `unknown_key`: signed, but by none of the given keys; `invalid`: a known key's signature is over other bytes */
  outcome: 'verified' | 'unknown_key' | 'invalid' | 'unsigned'
  keyId?: string | null
}

/** A stored file in the form of its row: readers parse the facts themselves. */
export type PackedPackage = Omit<StoredPackage, 'facts'> & PackedFacts

/** Which architectures fit which. */
export interface Archs {
  /** architectures that fit every distribution of the format: `all`, `noarch` */
  readonly neutralArchs: readonly string[]
  /** older architectures whose packages an architecture's index takes too (rpm); used by `formats/architectures` */
  readonly olderArchs?: Readonly<Record<string, readonly string[]>>
}

/** What is needed to decide whether an offer meets a requirement. */
export type Matching = Archs & Pick<Ecosystem, 'versions'>

export interface IntakeFormat<Rec = unknown> extends Ecosystem<Rec>, Archs {
  /** libraries are in repositories, not in distributions: no architecture, signature or requirement of theirs is checked */
  readonly isLibrary?: boolean
  /** the word of REPO_FORMAT that enables the format; sources and catalogs use it as their type */
  readonly repoFormat: string

  /** Why clients of the distribution cannot use an otherwise valid package; null when they can. */
  refusal?(facts: PackageFacts<Rec>, distribution: Distribution): string | null

  /** The same from the catalog of a source, so that mirrors leave the package out. */
  refusalListed?(listed: Pick<PackageFacts, 'name' | 'version'>, distribution: Distribution): string | null

  /** paths of a package file below the shared package directory: one, or one for each architecture that has it */
  packagePaths(file: { filename: string; sha256: string; arch: string }, distribution: Distribution): string[]
  /** the package's index entry, one piece for each stream; rendered once and stored */
  entry(pkg: StoredPackage<Rec>, distribution: Distribution): Record<string, Uint8Array>
  /** `entry` in a reader, for packages whose rendering would block the event loop; absent if the format runs in this process */
  entryInReader?(pkg: PackedPackage, distribution: Distribution): Promise<Record<string, Uint8Array>>

  /** Which packages can be installed together. */
  readonly installation: InstallationRules

  /** Checks a signature inside the file against armored public keys, if the format has signatures (rpm). */
  verifySignature?(path: string, keys: readonly string[]): Promise<SignatureVerdict>
  /** Writes a copy of the file with our signature to `to`, if the format has signatures (rpm). */
  sign?(path: string, to: string, signers: Signers, at: Date): Promise<void>

  /**
   * Whether the signature covers the whole file, so that clients can verify it, if the format has signatures (rpm).
   * @param content is read up to the payload
   * @throws Problem('invalid_package')
   */
  isSignedWhole?(content: AsyncIterable<Uint8Array>): Promise<boolean>
}

/** A distribution with the needed part of its format. */
export interface Placed<Format = IntakeFormat> {
  format: Format
  distribution: Distribution
}
