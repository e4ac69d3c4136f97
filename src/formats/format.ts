// The plug-in interface: all a package ecosystem must say of itself. Pure: no database, clock, setting or socket.
import type { Advisory, AffectedPackage } from '../domain/advisory.ts'
import type {
  ComparisonOperator,
  Digests,
  Distribution,
  FormatId,
  PackageFacts,
  StoredPackage,
} from '../domain/package.ts'

/** A file found inside a package, decompressed. Its content must be consumed, or skipped by the next step of the loop. */
export interface Member {
  name: string
  sizeBytes: number
  content: AsyncIterable<Uint8Array>
}

export interface VersionScheme {
  /** the grammar of the format's own policy */
  isValid(version: string): boolean
  /** total order, as the format's own tools order; negative, zero, positive */
  compare(a: string, b: string): number
  /**
   * Whether an offered version (null: the offer states none) meets a bound, where the format's rule is more than its
   * order: rpm takes an offer without version for any, and leaves out a release that the bound does not give.
   */
  meets?(offered: string | null, op: ComparisonOperator, wanted: string): boolean
}

/** One text that grows with the number of packages: `Packages`, `primary.xml`, `APKINDEX`. */
export interface StreamSpec {
  key: string
  /** the denser second form beside gzip */
  xz: boolean
  /** whether the index lists the digest of the uncompressed text: each publish computes it, so the text stays in memory */
  plainDigest: boolean
}

/** A compressed or plain rendering of a stream: the bytes in pieces, to be written one after another. */
export interface Rendering {
  sizeBytes: number
  sha256: string
  parts: readonly Uint8Array[]
}

export interface ComposedStream {
  /** the uncompressed text, which nothing writes; its digest is computed when it is asked for */
  plain: Pick<Rendering, 'sizeBytes' | 'sha256'>
  gz: Rendering
  xz: Rendering | null
}

/** Signing as formats need it; keys never leave `signing/`. */
export interface Signers {
  openpgp: {
    fingerprint: string
    publicKeyArmored: string
    /** RFC 9580 section 7, cleartext signature framework */
    clearsign(text: string, at: Date): Promise<string>
    /** ASCII-armored detached signature */
    detach(content: Uint8Array, at: Date): Promise<string>
    /** binary v4 signature packet over `content`, as rpm headers carry it */
    detachBinary(content: Uint8Array, at: Date): Promise<Uint8Array>
  }
  apk: {
    /** the file name clients know the key by, `svc.rsa.pub` */
    keyName: string
    publicKeyPem: string
    /** RSASSA-PKCS1-v1_5 with SHA-256 */
    sign(content: Uint8Array): Promise<Uint8Array>
  }
}

/** One file of a generation. */
export interface IndexFile {
  /** below the generation's directory */
  path: string
  content: Uint8Array | readonly Uint8Array[]
  /** hex digest, where the file is also to be found under `by-hash` beside it */
  byHash?: string
}

export interface IndexInput {
  distribution: Distribution
  revision: number
  /** the Release date: strictly later than that of the generation before */
  date: Date
  /** number of packages offered */
  count: number
  /** joins a stream's blocks between a head and a tail of the format's choice */
  compose(stream: string, head: Uint8Array, tail: Uint8Array): Promise<ComposedStream>
  signers: Signers
  /** files made off the critical path (Contents), present when a background run has made them */
  extras: readonly ExtraFile[]
}

/** A file that lags behind the packages and is described in the index as it is. */
export interface ExtraFile {
  path: string
  sizeBytes: number
  sha256: string
  /** what it unpacks to: apt never fetches a `Contents-amd64.gz` whose `Contents-amd64` Release does not list too */
  plain?: { sizeBytes: number; sha256: string }
}

/** Where a distribution's files lie, relative to `REPOS_DIR`. */
export interface TreeLayout {
  /** the name clients use: a symbolic link, replaced by one `rename` */
  link: string
  /** what the link points at, below the generation; empty for the generation itself */
  linkTarget: string
  /** directory of package files, shared by all generations; null: below `.generations`, linked in as `packagesName` */
  packages: string | null
  /** name of the shared package directory inside a generation */
  packagesName: string
  /** directories inside a generation that hold a `by-hash` link */
  byHashIn: readonly string[]
}

export interface SignatureVerdict {
  /** `unknown_key`: signed, but by no key given; `invalid`: a known key's signature is over other bytes */
  outcome: 'verified' | 'unknown_key' | 'invalid' | 'unsigned'
  keyId?: string | null
}

export interface PackageFormat<Rec = unknown> {
  readonly id: FormatId
  readonly label: string
  readonly suffixes: readonly string[]
  readonly mediaType: string
  /** the type in a package URL: `pkg:deb/…` */
  readonly purlType: string
  /** architectures that fit every distribution of the format: `all`, `noarch` */
  readonly neutralArchs: readonly string[]
  readonly distributions: readonly Distribution[]
  readonly versions: VersionScheme
  readonly streams: readonly StreamSpec[]

  /** by magic bytes, never by suffix; `head` is the first 4 KiB of the file, or all of it */
  recognizes(head: Uint8Array): boolean
  /** Throws Problem('invalid_package'); bounded in memory and time whatever the file holds. */
  read(path: string): Promise<PackageFacts<Rec>>
  /** Every regular file inside, control files and scripts too, for scanners; same bounds, same Problem. */
  members(path: string): AsyncIterable<Member>
  /** the name clients download, made from facts alone */
  filename(facts: PackageFacts<Rec>): string

  layout(distribution: Distribution): TreeLayout
  /** path of a package file below the shared package directory */
  packagePath(file: { filename: string; sha256: string }): string
  /** the package's index entry, one piece for each stream; rendered once and stored */
  entry(pkg: StoredPackage<Rec>, distribution: Distribution): Record<string, Uint8Array>
  /** the files of a generation, the last one being what clients read first */
  index(input: IndexInput): Promise<IndexFile[]>

  /** What a signature inside the file is worth, given the armored public keys that are trusted, where the format has one (rpm). */
  verifySignature?(path: string, keys: readonly string[]): Promise<SignatureVerdict>
  /** Gives the file a signature of ours inside it, where the format has one (rpm); writes a new file at `to`. */
  sign?(path: string, to: string, signers: Signers, at: Date): Promise<void>
  /** Lists of files by package (deb `Contents`), made in the background from stored file lists. */
  extra?: {
    path(distribution: Distribution): string
    /** one package's lines, unsorted: `path\tqualified name` */
    lines(facts: PackageFacts<Rec>): Iterable<string>
  }
  /** The list of advisories that offered packages mend (rpm `updateinfo`), made in the background. */
  advisories?: {
    path(sha256: string): string
    /** null: nothing offered mends anything known */
    render(known: readonly KnownAdvisory[], offered: readonly OfferedFile[], distribution: Distribution): string | null
  }
}

/** A distribution with the format of its packages. */
export interface Offered {
  format: PackageFormat
  distribution: Distribution
}

/** What an advisory says of the packages of one distribution. */
export interface KnownAdvisory {
  advisory: Advisory
  affected: readonly AffectedPackage[]
}

/** A package as clients are offered it. */
export interface OfferedFile {
  facts: Pick<PackageFacts, 'name' | 'version' | 'arch'>
  filename: string
}

export type { Digests }
