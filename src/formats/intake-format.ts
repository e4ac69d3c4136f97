// What the way in asks of a package format: to judge a package, to keep its record, to render its entry. It knows no index and no tree.
import type { Distribution, PackageFacts, StoredPackage } from '../domain/package.ts'
import type { PackedFacts } from '../domain/packed-facts.ts'
import type { Ecosystem } from './ecosystem.ts'
import type { InstallationRules } from './installation-rules.ts'

/** Signing as formats need it; keys never leave `publish/signing/`. */
export interface Signers {
  openpgp: {
    fingerprint: string
    publicKeyArmored: string
    /** RFC 9580 section 7, cleartext signature framework */
    clearsign(text: string, at: Date): Promise<string>
    /** ASCII-armored detached signature */
    detach(content: Uint8Array, at: Date): Promise<string>
    /** binary v4 signature packet over `content`, as rpm headers carry it; content in pieces is never in memory as a whole */
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

/** A stored file as its row has it: readers parse the facts themselves. */
export type PackedPackage = Omit<StoredPackage, 'facts'> & PackedFacts

/** Which architectures fit which. */
export interface Archs {
  /** architectures that fit every distribution of the format: `all`, `noarch` */
  readonly neutralArchs: readonly string[]
  /** those of older machines whose packages the index of an architecture takes too (rpm); `formats/architectures` asks */
  readonly olderArchs?: Readonly<Record<string, readonly string[]>>
}

/** What tells whether an offer meets a requirement. */
export type Matching = Archs & Pick<Ecosystem, 'versions'>

export interface IntakeFormat<Rec = unknown> extends Ecosystem<Rec>, Archs {
  /** the word of REPO_FORMAT that switches the format on; sources and catalogs call it so */
  readonly repoFormat: string

  /** Why clients of the distribution cannot use a package that is otherwise sound; null when they can. */
  refusal?(facts: PackageFacts<Rec>, distribution: Distribution): string | null

  /** What the catalog of a source already tells of such a refusal: mirrors leave the package out. */
  refusalListed?(listed: Pick<PackageFacts, 'name' | 'version'>, distribution: Distribution): string | null

  /** paths of a package file below the shared package directory: one, or one for each architecture that has it */
  packagePaths(file: { filename: string; sha256: string; arch: string }, distribution: Distribution): string[]
  /** the package's index entry, one piece for each stream; rendered once and stored */
  entry(pkg: StoredPackage<Rec>, distribution: Distribution): Record<string, Uint8Array>
  /** `entry` in a reader, for packages whose rendering would hold the event loop; absent where the format runs in place */
  entryInReader?(pkg: PackedPackage, distribution: Distribution): Promise<Record<string, Uint8Array>>

  /** Which packages can be installed together. */
  readonly installation: InstallationRules

  /** Checks a signature inside the file against armored public keys, where the format has signatures (rpm). */
  verifySignature?(path: string, keys: readonly string[]): Promise<SignatureVerdict>
  /** Writes a copy of the file that carries our signature to `to`, where the format has signatures (rpm). */
  sign?(path: string, to: string, signers: Signers, at: Date): Promise<void>

  /**
   * Whether what is signed in the file is all of it, so that clients can verify it, where the format has signatures (rpm).
   * @param content is read up to the payload
   * @throws Problem('invalid_package')
   */
  isSignedWhole?(content: AsyncIterable<Uint8Array>): Promise<boolean>
}

/** A distribution with what is asked of the format of its packages. */
export interface Placed<Format = IntakeFormat> {
  format: Format
  distribution: Distribution
}
