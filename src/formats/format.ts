// What a package format adds to an ecosystem: distributions, index files and signatures. Pure, like the ecosystem.
import type { Advisory, AffectedPackage } from '../domain/advisory.ts'
import type { Distribution, PackageFacts } from '../domain/package.ts'
import type { CatalogReader } from './catalog.ts'
import type { Canary } from './ecosystem.ts'
import type { IntakeFormat, Placed, Signers } from './intake-format.ts'
import type { Serving } from './serving.ts'

/** One text that grows with the number of packages: `Packages`, `primary.xml`, `APKINDEX`. */
export interface StreamSpec {
  key: string
  /** whether the text is also written as xz, beside gzip */
  xz: boolean
  /** whether the index lists the digest of the uncompressed text; each publish computes it, so the text stays in memory */
  plainDigest: boolean
}

/** A compressed or plain rendering of a stream: the bytes in pieces, to be written one after another. */
export interface Rendering {
  sizeBytes: number
  sha256: string
  parts: readonly Uint8Array[]
}

export interface ComposedStream {
  /** the uncompressed text, which is never written; the digest is computed when it is read */
  plain: Pick<Rendering, 'sizeBytes' | 'sha256'>
  gz: Rendering
  xz: Rendering | null
}

/** One file of a generation. */
export interface IndexFile {
  /** below the generation's directory */
  path: string
  content: Uint8Array | readonly Uint8Array[]
  /** hex digest, if the file is also linked under `by-hash` beside it */
  byHash?: string
}

export interface IndexInput {
  distribution: Distribution
  /** those to render: all of them, or with `independentArchitectures` those that changed */
  architectures: readonly string[]
  revision: number
  /** the Release date: strictly later than that of the previous generation */
  date: Date
  /** number of packages offered for an architecture */
  count(arch: string): number
  /** joins the blocks of a stream of one architecture between a head and a tail of the format's choice */
  compose(stream: string, arch: string, head: Uint8Array, tail: Uint8Array): Promise<ComposedStream>
  signers: Signers
  /** those that a background run has finished */
  backgroundIndexes: readonly BackgroundIndex[]
}

/** A file made in the background. It may be older than the packages; the index describes the one that exists. */
export interface BackgroundIndex {
  path: string
  sizeBytes: number
  sha256: string
  /** its unpacked form: apt fetches `Contents-amd64.gz` only if Release lists `Contents-amd64` too */
  plain?: { sizeBytes: number; sha256: string }
}

/** Where a distribution's files are, relative to `REPOS_DIR`. */
export interface TreeLayout {
  /** the link to the live generation, replaced by one `rename`: the path clients use, or the target of links in `standing` */
  link: string
  /** links that no publish replaces: the paths clients use, and their targets below `link` */
  standing: readonly { path: string; target: string }[]
  /** directory of package files, shared by all generations; null: `packagesName` beside the generations */
  packages: string | null
  packagesName: string
  /** places inside a generation that link to the package directory */
  packagesIn: readonly string[]
  /** directories inside a generation that have a `by-hash` link */
  byHashIn: readonly string[]
  /** further names of directories inside a generation, for clients with another name for an architecture (rpm) */
  aliases?: readonly { path: string; target: string }[]
}

/** Checks signatures made with our keys. */
export interface OwnSignatures {
  openpgpArmored: string
  /** @returns the signed text; null when the document is not signed by our key */
  cleartext(document: Uint8Array): Promise<string | null>
  detached(content: Uint8Array, signature: Uint8Array): Promise<boolean>
  apk: { keyName: string; verify(content: Uint8Array, signature: Uint8Array): boolean }
}

/** What the index of a generation states about its own files. */
export interface IndexClaims {
  /** the files that describe or sign others, each with its fault; null: none */
  roots: { path: string; fault: 'missing' | 'wrong_content' | null }[]
  /** the files that they list; `byHash` is the name below `by-hash`, if the file has one */
  listed: { path: string; sizeBytes: number; sha256: string; byHash: string | null }[]
}

export interface PackageFormat<Rec = unknown> extends IntakeFormat<Rec> {
  /** those offered by default: the specification's list */
  readonly distributions: readonly Distribution[]
  /** more that a deployment may name in SVC_DISTRIBUTIONS */
  readonly presets: readonly Distribution[]
  /** Debian's name of each architecture, with the format's own */
  readonly architectures: Readonly<Record<string, string>>
  /** the component of a distribution that declares none; null if repositories have no components */
  readonly component: string | null
  /** whether repositories state who made them, and may have further names besides the codename (deb) */
  readonly hasReleaseFields: boolean
  /** programs that install from such a repository; the first one unless a distribution names another */
  readonly packageManagers: readonly string[]
  readonly streams: readonly StreamSpec[]
  readonly canary: Canary
  readonly serving: Serving

  layout(distribution: Distribution): TreeLayout
  /** The entry of a package for all architectures in the index of one, if it differs there (apk). */
  entryIn?(entry: Uint8Array, arch: string): Uint8Array
  /** each architecture's index is in a directory of its own and does not mention the others */
  readonly independentArchitectures: boolean
  /** the files of a generation; the last one is what clients read first */
  index(input: IndexInput): Promise<IndexFile[]>

  /**
   * Checks the signatures of a generation that was published, and reads which files it lists.
   * @param read returns a file of the generation, or null when it does not exist
   */
  readClaims(
    distribution: Distribution,
    read: (path: string) => Promise<Buffer | null>,
    signatures: OwnSignatures,
  ): Promise<IndexClaims>

  /** Reads upstream repositories. */
  readonly catalog: CatalogReader

  /** Background index of files by package (deb `Contents`). */
  contents?: {
    path(distribution: Distribution, arch: string): string
    /** one package's lines, unsorted: `path\tqualified name` */
    lines(facts: PackageFacts<Rec>): Iterable<string>
  }
  /** Background index of the advisories that offered packages fix (rpm `updateinfo`). */
  updateinfo?: {
    path(sha256: string, arch: string): string
    /** null: no offered package fixes a known advisory */
    render(known: readonly UpdateAdvisory[], offered: readonly OfferedFile[], distribution: Distribution): string | null
  }
}

/** A distribution with its whole format. */
export type Offered = Placed<PackageFormat>

/** What an advisory states about the packages of one distribution. */
export interface UpdateAdvisory {
  advisory: Advisory
  affected: readonly AffectedPackage[]
}

/** A package as it is offered to clients. */
export interface OfferedFile {
  facts: Pick<PackageFacts, 'name' | 'version' | 'arch'>
  filename: string
}
