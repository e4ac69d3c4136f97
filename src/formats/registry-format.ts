// What a library format (npm, PyPI) adds to the way in: the documents that its clients read about a name. Pure.
import type { Digests, PackageFacts } from '../domain/package.ts'
import type { RegistrySignature } from '../domain/provenance.ts'
import type { VersionNote } from '../domain/repositories.ts'
import type { IntakeFormat } from './intake-format.ts'

/** A file of a name as its repository lists it. */
export interface ListedFile<Rec = unknown> {
  version: string
  /** tells the files of one version apart: `any`, `sdist`, or the tags of a wheel */
  arch: string
  filename: string
  /** null when an upstream does not say */
  sizeBytes: number | null
  /** all of them, unless it is an upstream's */
  digests: Partial<Digests>
  /** without the list of its files */
  facts: PackageFacts<Rec>
  /** the beginning of 1970 for a file of an upstream that does not say */
  addedAt: Date
  /** why clients cannot have it; null when they can */
  held: HeldFile | null
  /** where an upstream has it; absent once it is here */
  url?: string
  /** those that an upstream lists */
  signatures?: readonly RegistrySignature[]
}

export interface HeldFile {
  /** for the people who asked for it: `it waits for a review` */
  reason: string
  /** whether documents may show the file with the reason; a refused one is in none */
  isListed: boolean
}

/** Everything that a repository has of one name. */
export interface Listing<Rec = unknown> {
  name: string
  /** by version, oldest first, then by `arch` */
  files: readonly ListedFile<Rec>[]
  /** npm's dist-tags: version by tag */
  tags: Readonly<Record<string, string>>
  /** by version */
  notes: Readonly<Record<string, VersionNote>>
  modifiedAt: Date
}

/** A file as an upstream lists it. */
export interface UpstreamFile<Rec = unknown> {
  version: string
  arch: string
  /** as it is called here */
  filename: string
  /** whole */
  url: string
  sizeBytes: number | null
  digests: Partial<Digests>
  /** ms since 1970; null when the upstream does not say */
  publishedAt: number | null
  hasInstallScript: boolean
  /** as the list states them, without what only the file has */
  facts: PackageFacts<Rec>
  /** a text beside the file that clients may read in its place */
  described?: { url: string; sha256: string }
  /** of its registry */
  signatures?: RegistrySignature[]
  /** where its attestations are, whole; absent when it has none */
  attestedAt?: string
}

/** What an upstream lists about a name, reduced to what is shown and judged here. */
export interface UpstreamListing<Rec = unknown> {
  /** by version, oldest first, then by `arch` */
  files: UpstreamFile<Rec>[]
  tags: Record<string, string>
  notes: Record<string, VersionNote>
}

/** How the repositories of others are read. */
export interface UpstreamReading<Rec = unknown> {
  /** the list of a name, below the address of the repository, and what to ask for it with */
  request(name: string): { path: string; accept: string }
  /**
   * Reads a list, inside a reader.
   * @param url that it came from
   * @throws Problem('upstream_error')
   */
  parse(path: string, name: string, url: string): Promise<UpstreamListing<Rec>>
  /** What a file says otherwise than its list did, in words for reviewers; empty when they agree. */
  differences(listed: PackageFacts<Rec>, own: PackageFacts<Rec>): string[]
  isStable(version: string): boolean
  /** how long clients wait for a file at least, in milliseconds */
  readonly patienceMs: number
  /** below the address of the repository: the keys that it signs files with */
  readonly keysPath?: string
}

/** A file that is attested, as it is called and known here. */
export type AttestedFile = Pick<UpstreamFile, 'version' | 'filename'> & { name: string; digests: Digests }

/** One attestation as it came. */
export interface Attested {
  /** in the form of Sigstore (https://docs.sigstore.dev/about/bundle/); nothing of it is checked */
  bundle: unknown
  /** as clients get it */
  kept: unknown
}

/** What a statement is about. */
export interface Subject {
  name: string
  /** hex by algorithm */
  digest: Readonly<Record<string, unknown>>
}

/** How files of the format are attested, in its own documents. Runs inside a reader. */
export interface AttestationReading<Rec = unknown> {
  /** @param document parsed JSON @returns null for one of another form */
  list(document: unknown): Attested[] | null
  /** whether the name is that of the file */
  isNamed(subject: Subject, file: AttestedFile): boolean
  /** the algorithm of the digest that a subject must have */
  readonly digest: 'sha256' | 'sha512'
  /** the text that the registry signs */
  signedText?(file: AttestedFile): string
  /** the address of the repository that a package says it is made from; null for none that can be compared */
  repositoryOf?(facts: PackageFacts<Rec>): string | null
}

/** Stands for the address of the repository, with no slash at its end, in the text of a document. */
export const BASE = '\u0001base\u0001'
/** The same inside of JSON. */
export const BASE_IN_JSON = JSON.stringify(BASE).slice(1, -1)

/** One form of what clients read about a name. */
export interface ListingDocument {
  /** tells the forms apart: `full`, `short` */
  form: string
  media: string
  /** with `BASE`, or `BASE_IN_JSON`, in front of paths */
  text: string
}

/** What a person gives a client so that it uses a repository. */
export interface ClientSnippet {
  /** name of the program */
  client: string
  /** where the text goes: a file, or `sh` for commands */
  into: string
  text: string
}

export interface RegistryFormat<Rec = unknown> extends IntakeFormat<Rec> {
  readonly isLibrary: true
  /** the OSV ecosystem of its advisories */
  readonly advisories: 'npm' | 'PyPI'
  /** The one way to write a name; null for a text that no package may be called. */
  canonicalName(name: string): string | null
  /** The file that clients mean by a path below the address of a repository, decoded; null for a path of no file. */
  fileAt(path: string): { name: string; filename: string } | null
  /**
   * The documents of a name; none if it has nothing to show. Held files are in them if clients can show the reason. Large ones are made
   * one after the other, as they are taken.
   */
  documents(listing: Listing<Rec>): Iterable<ListingDocument>
  readonly attestations: AttestationReading<Rec>
  /** of the formats that proxies exist for */
  readonly upstream?: UpstreamReading<Rec>
  /**
   * How clients are set up, the one that most people have first.
   * @param address of the repository, with a slash at its end
   * @param isPublic whether it is read without a credential; snippets otherwise say where the token goes
   */
  setup(address: string, isPublic: boolean): ClientSnippet[]
}
