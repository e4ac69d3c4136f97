// Reading a format's repositories: what an upstream offers, before any package is fetched. Types, and the refusal.
import type { NotCarried } from '../domain/not-carried.ts'
import type { PackageFacts } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'

/** A digest of a whole file; weaker ones are not accepted. */
export interface FileDigest {
  algorithm: 'sha256' | 'sha384' | 'sha512'
  hex: string
}

/** How an index identifies a package. apk's index has the SHA-1 of the control segment, which states the SHA-256 of the data. */
export type PackageDigest = FileDigest | { algorithm: 'control-sha1'; hex: string }

/** What an index states about one package: facts as the file would state them, and where the file is. */
export interface CatalogEntry extends Omit<PackageFacts, 'signatures' | 'record'> {
  /**
   * relative to the repository, as in the index, without `./`; with `mayBeElsewhere` also a whole address, or a path that
   * begins with `../`
   */
  path: string
  sizeBytes: number
  digest: PackageDigest
}

/** A well-formed entry with content that this service would refuse in a package too. */
export interface UnreadableEntry {
  name: string | null
  /** one sentence, lower case, no full stop */
  unreadable: string
}

export type CatalogItem = CatalogEntry | UnreadableEntry

/**
 * Stored with everything that is remembered of an index. Raise it when readers take different facts from the same index, so
 * that the next sync reads everything again.
 */
export const READER_REVISION = 3

/** The part of an index that describes one package. */
export interface CatalogRecord {
  /** Records with equal content give equal items, even in another index. */
  content: string | Uint8Array
  /** @throws Problem('upstream_error') for an ambiguous or damaged record */
  read(): CatalogItem
}

/** Why an upstream is refused. */
export type RefusalReason =
  | 'unsigned'
  | 'signature'
  | 'expired'
  | 'not_yet_valid'
  | 'rollback'
  | 'missing'
  | 'malformed'
  | 'too_large'
  | 'path'
  | 'unreachable'
  | 'timeout'
  | 'status'

/**
 * The refusal of a source, as `upstream_error` with `reason`.
 * @param sentence lower case, no full stop; names the file
 */
export function refused(reason: RefusalReason, sentence: string, cause?: unknown): Problem {
  return new Problem('upstream_error', sentence, { reason }, { cause })
}

/** A key of a source. */
export interface SourceKey {
  /** apk: the file name clients know it by; null accepts its signatures under any name */
  name: string | null
  /** armored OpenPGP public key or keys; apk: SubjectPublicKeyInfo in PEM */
  text: string
}

export interface RepositoryRequest {
  /** apt: the directory below `dists/`; one that ends in `/` has neither components nor architectures */
  suite: string | null
  components: readonly string[]
  architectures: readonly string[]
  /** rpm: what a metalink states about repomd.xml; one of these must match */
  expected: readonly { sizeBytes: number | null; digest: FileDigest }[] | null
}

/** A file that was fetched to the disk. */
export interface StagedFile {
  path: string
  sizeBytes: number
  /** hex */
  sha256: string
}

/** What readers need from the room that connects, fetches and verifies. */
export interface RepositoryIo {
  /**
   * Fetches the roots, on condition that they changed since the last check. They are on disk while `describe` runs.
   * @returns `unchanged` when none has changed since; null for a missing file
   */
  roots(paths: readonly string[], mostBytes: number): Promise<'unchanged' | (StagedFile | null)[]>
  /** A small file that belongs to a changed root; null when it is missing. */
  small(path: string, mostBytes: number): Promise<Buffer | null>
  /** As `small`, for a file that is only counted: null also when it cannot be fetched. */
  optional(path: string, mostBytes: number): Promise<Buffer | null>
  /** whether the source must be signed: it has keys, or may not be unsigned */
  signed: boolean
  /** whether a source with keys may leave its index unsigned because its packages are signed (rpm) */
  mayBeUnsigned: boolean
  keys: readonly SourceKey[]
  /** @returns only the signed text, and the fingerprints @throws Problem('upstream_error') */
  verifyCleartext(document: Uint8Array, name: string): Promise<{ text: string; signedBy: string[] }>
  /** @returns the fingerprints @throws Problem('upstream_error') */
  verifyDetached(content: Uint8Array, signature: Uint8Array, name: string): Promise<string[]>
}

/** One file that lists packages, perhaps in several compressions. */
export interface RepositoryIndex {
  /** for sentences */
  name: string
  arch: string | null
  /** forms of the same content in order of preference, each with the paths to try */
  from: readonly {
    paths: readonly string[]
    sizeBytes: number
    /** clients of the format do not compare the size, only the digest (rpm) */
    isSizeGuess?: true
    digest: FileDigest
  }[]
  /** unpacked size, if it is listed */
  openSizeBytes: number | null
}

/** The contents of a repository's signed description, once its signature is verified. */
export interface RepositoryDescription {
  /** when upstream wrote it; null if the format does not have it (apk) */
  date: Date | null
  validUntil: Date | null
  /** fingerprints or key names; empty for an unsigned source */
  signedBy: string[]
  indexes: RepositoryIndex[]
  /** what else the repository has */
  notCarried: NotCarried[]
}

/** Addresses of one repository, from a metalink or a mirror list. */
export interface MirrorList {
  /** base URLs, best first */
  bases: string[]
  expected: RepositoryRequest['expected']
}

/** How clients of a format interpret the paths of packages. */
export interface PathRules {
  /** they fetch packages that an index names outside its repository (rpm: `xml:base`, `../`) */
  readonly mayBeElsewhere?: true
  /** they use a path as part of an address, with `%5E` already in it; apt requests the name as written */
  readonly pathsAreEncoded?: true
}

export interface CatalogReader extends PathRules {
  /** @throws Problem('upstream_error') */
  describe(request: RepositoryRequest, io: RepositoryIo): Promise<RepositoryDescription | 'unchanged'>
  /**
   * The records of one index, whose digest or signature was verified. Bounded in memory; yields to the event loop. They are
   * split but not parsed if the format allows it, because most of them are known from the last sync.
   * @throws Problem('upstream_error') for an ambiguous or damaged index
   */
  records(file: StagedFile, index: RepositoryIndex): AsyncGenerator<CatalogRecord, void, undefined>
  /** Computes a digest, in hex, that does not cover the whole file. @throws Problem('invalid_package') */
  packageDigest?(path: string): Promise<string>
  /** The digest that `packageDigest` computes, from the `record` of a package's facts. */
  recordDigest?(record: unknown): string
  /** @throws Problem('upstream_error') */
  readMirrors?(kind: 'metalink' | 'mirrorlist', document: string): MirrorList
}
