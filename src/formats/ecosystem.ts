// What every package ecosystem implements, with or without an index of its own. Pure: no database, clock or setting.
import type { ComparisonOperator, FormatId, PackageFacts } from '../domain/package.ts'

/** A file inside a package, decompressed. Read its content before the next step of the loop, which skips the rest. */
export interface Member {
  name: string
  sizeBytes: number
  content: AsyncIterable<Uint8Array>
}

export interface VersionScheme {
  /** whether the format's policy allows the version */
  isValid(version: string): boolean
  /** total order, the same as that of the format's own tools; negative, zero or positive */
  compare(a: string, b: string): number
  /**
   * Whether an offered version (null: the offer states none) satisfies a bound, if the order alone does not decide: an rpm
   * offer without a version satisfies any bound, and a bound without a release ignores the offer's release.
   */
  meets?(offered: string | null, op: ComparisonOperator, wanted: string): boolean
}

export interface ReadOptions {
  /** total of all archives in the package; default 4 GiB */
  maxUnpackedBytes?: number
}

/** How package URLs of the ecosystem are written (https://github.com/package-url/purl-spec, "types"). */
export interface PurlRules {
  type: string
  /** names are compared, and written, in lower case */
  lowerCaseNames: boolean
  /** the epoch of a version is the qualifier `epoch`, not part of the version */
  epochQualifier: boolean
  /** vendor and os-release(5) id of systems, if their scanner id differs */
  systems?: Readonly<Record<string, { vendor: string; id: string }>>
}

/** The data for the self-tests of the scanners. */
export interface Canary {
  /** sorts before every released version, so every advisory applies to it */
  lowestVersion: string
  /** a package named `canary` with the EICAR test file inside, compressed so that this source does not show it; base64 */
  infectedPackage: string
}

export interface Ecosystem<Rec = unknown> {
  readonly id: FormatId
  readonly label: string
  readonly suffixes: readonly string[]
  readonly mediaType: string
  readonly purl: PurlRules
  readonly versions: VersionScheme

  /** Decides by magic bytes, never by suffix; `head` is the first 4 KiB of the file, or all of it. */
  recognizes(head: Uint8Array): boolean
  /** Reads the facts of the file. Bounded in memory and time. @throws Problem('invalid_package') */
  read(path: string, options?: ReadOptions): Promise<PackageFacts<Rec>>
  /** Every regular file inside, control files and scripts too, for scanners. Bounded, and throws, as `read` does. */
  members(path: string, options?: ReadOptions): AsyncIterable<Member>
  /** the file name that clients download, made only from facts */
  filename(facts: PackageFacts<Rec>): string
}
