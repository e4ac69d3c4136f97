// The shared types of packages: formats, the facts a file states, distributions.

/** The id of a package format. Only `formats/index` lists the formats. */
export type FormatId = string

/** A codename that packages are published under: one format, and one unit of publication whatever its architectures. */
export interface Distribution {
  codename: string
  format: FormatId
  /** as the format names them; packages for all of them (`all`, `noarch`) are in the index of each */
  architectures: readonly string[]
  component: string | null
  /** the distribution as scanners name it; without it they find nothing and report "clean" */
  scannerDistro: string
  /** OS family, release, and display names */
  os: string
  osVersion: string
  name: string
  fullName: string
  packageManager: string
  /** major version of its package manager, if a package may be too new for it (apk) */
  packageManagerMajor?: number
  /** the newest version of the package format that its systems install, if they are too old for the newest one (rpm) */
  packageFormatMajor?: number
  /** fields of its Release file, if they are declared (deb) */
  release?: ReleaseFields
  /** further names under which clients find it, besides the codename (deb) */
  aliases?: readonly string[]
}

/** Fields of a Release file, which clients pin packages by: https://wiki.debian.org/DebianRepository/Format */
export interface ReleaseFields {
  origin?: string
  label?: string
  suite?: string
  description?: string
  /** installed from only on request, unless a pin says otherwise */
  notAutomatic?: boolean
  /** but packages installed from it are kept up to date */
  butAutomaticUpgrades?: boolean
}

export type ComparisonOperator = '<' | '<=' | '=' | '>=' | '>'

/** A package or capability name with an optional version bound. */
export interface Relation {
  name: string
  op?: ComparisonOperator
  version?: string
  /** `any` or an architecture, as in `foo:any` and `foo:amd64` (deb) */
  arch?: string
}

/** One requirement. Any of its alternatives satisfies it. */
export interface Requirement {
  /** depends, pre-depends, recommends, suggests, requires, supplements …: as the format names it */
  kind: string
  /** false for weak relations, which never count as missing */
  strong: boolean
  anyOf: Relation[]
  /** as the package states it */
  text: string
  /** the boolean dependency that this is a clause of (rpm); all its clauses together may require less than it does */
  whole?: string
}

/** What a package offers to others besides its own name. */
export interface Capability {
  name: string
  version?: string
}

/** A signature found inside the file; whether its key is known is checked elsewhere. */
export interface EmbeddedSignature {
  keyId: string | null
  algorithm: string
}

/** What the file states about itself, read by its format. Never changed afterwards. */
export interface PackageFacts<Rec = unknown> {
  format: FormatId
  name: string
  version: string
  /** as the format names it, `all` and `noarch` included */
  arch: string
  section: string | null
  description: string | null
  maintainer: string | null
  license: string | null
  url: string | null
  sourcePackage: string | null
  /** version of the source package where it differs from the binary's, else null */
  sourceVersion: string | null
  installedSizeKb: number | null
  requirements: Requirement[]
  provides: Capability[]
  /** whether it serves packages of other architectures: Debian's field Multi-Arch */
  multiArch?: 'foreign' | 'allowed' | 'same'
  /** absolute paths without leading slash, in archive order; directories excluded */
  files: string[]
  signatures: EmbeddedSignature[]
  /** what the format needs to render the index entry again; plain JSON */
  record: Rec
}

/** Facts reduced to the fields that are matched with advisories. */
export function factsToMatch(
  known: Pick<PackageFacts, 'format' | 'name' | 'version' | 'arch' | 'sourcePackage' | 'sourceVersion'>,
): PackageFacts {
  const { format, name, version, arch, sourcePackage, sourceVersion } = known
  return {
    format,
    name,
    version,
    arch,
    sourcePackage,
    sourceVersion,
    section: null,
    description: null,
    maintainer: null,
    license: null,
    url: null,
    installedSizeKb: null,
    requirements: [],
    provides: [],
    files: [],
    signatures: [],
    record: null,
  }
}

/** The digests of every stored file, hex. */
export interface Digests {
  sha256: string
  sha512: string
  sha1: string
  md5: string
}

/** A stored file with its facts: the input of a format's `entry`. */
export interface StoredPackage<Rec = unknown> {
  facts: PackageFacts<Rec>
  /** file name under which clients download it, made from the facts by the format's `filename` */
  filename: string
  sizeBytes: number
  digests: Digests
  /** seconds since 1970, when it entered the repository (rpm `time file`) */
  addedAt: number
}
