// What a library format (npm, PyPI) adds to the way in: the documents that its clients read about a name. Pure.
import type { Digests, PackageFacts } from '../domain/package.ts'
import type { VersionNote } from '../domain/repositories.ts'
import type { IntakeFormat } from './intake-format.ts'

/** A file of a name as its repository lists it. */
export interface ListedFile<Rec = unknown> {
  version: string
  /** tells the files of one version apart: `any`, `sdist`, or the tags of a wheel */
  arch: string
  filename: string
  sizeBytes: number
  digests: Digests
  /** without the list of its files */
  facts: PackageFacts<Rec>
  addedAt: Date
  /** why clients cannot have it; null when they can */
  held: HeldFile | null
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
  /** The documents of a name; none if it has nothing to show. Held files are in them if clients can show the reason. */
  documents(listing: Listing<Rec>): ListingDocument[]
  /**
   * How clients are set up, the one that most people have first.
   * @param address of the repository, with a slash at its end
   * @param isPublic whether it is read without a credential; snippets otherwise say where the token goes
   */
  setup(address: string, isPublic: boolean): ClientSnippet[]
}
