// How package clients get a format's published tree over HTTP. Types only.
import type { Distribution } from '../domain/package.ts'

/** The repository listeners: `APT_PORT` and `RPM_REPO_PORT`. */
export type ListenerId = 'apt' | 'rpm'

/** One published place: a directory when `prefix` ends in `/`, otherwise a single file. */
export interface ServedPlace {
  /** URL path on the listener */
  prefix: string
  /** what the prefix names, relative to `REPOS_DIR`, without a slash at the end */
  path: string
  /**
   * Directories or files below `REPOS_DIR` that may be read after all links are resolved. A link that leads elsewhere is
   * answered like a missing file.
   */
  roots: readonly string[]
}

/** Three files of one directory that clients read as one: a signed index, its detached signature and the key. */
export interface SignedPair {
  index: string
  signature: string
  key: string
}

/** Another path whose content is sent for a missing file. */
export interface Substitute {
  path: string
  /** the content is sent decompressed */
  gunzip: boolean
}

export interface Serving {
  listener: ListenerId
  /** the public key that clients of this format verify with; served even while the format is switched off */
  key: ServedPlace
  tree: ServedPlace
  /** index files without a suffix that are plain text */
  textFiles?: RegExp
  /** true if the path of a package always has the same bytes, so that caches may keep it without revalidation */
  immutablePackages: boolean
  signedPair?: SignedPair
  /** Where to look for a file that the live generation does not have. */
  substitute?(path: string): Substitute | null
  /** The set-up of a client machine for a distribution of this format. */
  setup(input: SetupInput): ClientSetup
}

export interface SetupInput {
  distribution: Distribution
  /** address of the listener without a slash at the end: `https://packages.example.org` */
  url: string
  keys: SetupKeys
  /** whether clients must sign in: files then have `TOKEN_MARK` where their token belongs */
  signsIn?: boolean
}

export interface SetupKeys {
  openpgpArmored: string
  apk: { name: string; pem: string }
}

export interface ClientSetup {
  /** the client's own configuration file */
  file: {
    /** appended to the codename in the URL: `.sources` */
    suffix: string
    /** where the file belongs on the client */
    installAs: string
    content: string
  }
  /** the file with the token, where it is another one; null when the client needs none, or has it in `file` */
  credentials: { installAs: string; content: string } | null
  /** a POSIX shell script, run as root, that does the whole set-up; with sign-in it takes the token from GATEHOUSE_TOKEN */
  script: string
  /** a command that installs packages, to be followed by their names */
  install: string
  /** a command that downloads and runs a script from an address */
  run(scriptUrl: string): string
}

/** The set-up of a client machine for a distribution: the texts that the listeners serve, and their addresses. */
export interface DistributionSetup {
  /** of the listener */
  url: string
  keyUrl: string
  file: { url: string; installAs: string; content: string }
  credentials: ClientSetup['credentials']
  script: { url: string; content: string }
  /** runs the script that sets the machine up */
  command: string
  /** installs packages, followed by their names */
  install: string
}
