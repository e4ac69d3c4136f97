// What a proxy shows of a name: the files that its upstream lists, judged by its rules, and those that are here already. Pure.
import {
  curateAll,
  sentenceOf,
  type Curation,
  type CurationVerdict,
  type CuratedVersion,
  type KnownFinding,
} from '../../domain/curation.ts'
import type { VersionNote } from '../../domain/repositories.ts'
import { unpackListing } from '../../formats/packed-listing.ts'
import type {
  HeldFile,
  ListedFile,
  Listing,
  RegistryFormat,
  UpstreamFile,
  UpstreamListing,
} from '../../formats/registry-format.ts'

/** What the documents of a name in a proxy depend on besides its records. */
export interface UpstreamState {
  /** as `packListing` made it */
  packed: Uint8Array
  findings: Readonly<Record<string, KnownFinding[]>>
  curation: Curation
}

/** Larger ones are read in a reader: 64 KiB compressed hold the loop for 20 ms, and leave as much to collect. */
export const isSmall = ({ packed }: Pick<UpstreamState, 'packed'>): boolean => packed.byteLength <= 16 * 1024

/** Of a list of 7 MB and more: its documents take a reader 30 MB and more. */
export const isLarge = ({ packed }: Pick<UpstreamState, 'packed'>): boolean => packed.byteLength > 256 * 1024

/** The verdict on each file that an upstream lists, in its order: files of a version that arrived together have one. */
export function judged(
  { files }: UpstreamListing,
  { findings, curation }: Pick<UpstreamState, 'findings' | 'curation'>,
  now: Date,
): { file: UpstreamFile; verdict: CurationVerdict }[] {
  const together = arrivals(files)
  const curated = together.map((some) => curatedOf(some, findings))
  const verdicts = new Map<UpstreamFile, CurationVerdict>()
  for (const [at, verdict] of curateAll(curated, curation, now).entries())
    for (const file of together[at]!) verdicts.set(file, verdict)
  return files.map((file) => ({ file, verdict: verdicts.get(file)! }))
}

/** A file that comes later than this after the first of its version is judged alone: it does not take from clients what they have. */
const TOGETHER_MS = 24 * 3600_000

function arrivals(files: readonly UpstreamFile[]): UpstreamFile[][] {
  const versions = new Map<string, UpstreamFile[]>()
  for (const file of files) {
    const known = versions.get(file.version)
    if (known) known.push(file)
    else versions.set(file.version, [file])
  }
  return [...versions.values()].flatMap((all) => {
    const first = all.reduce((least, { publishedAt }) => Math.min(least, publishedAt ?? Infinity), Infinity)
    const isLate = ({ publishedAt }: UpstreamFile) => publishedAt !== null && publishedAt > first + TOGETHER_MS
    return [all.filter((file) => !isLate(file)), ...all.filter(isLate).map((file) => [file])]
  })
}

/** Clients choose among the files of a version: it has a script only if each has one, and provenance only if none lacks it. */
function curatedOf(files: readonly UpstreamFile[], findings: UpstreamState['findings']): CuratedVersion {
  const { version } = files[0]!
  const times = files.flatMap(({ publishedAt }) => publishedAt ?? [])
  return {
    version,
    publishedAt: times.length === 0 ? null : new Date(Math.max(...times)),
    license: files.find(({ facts }) => facts.license !== null)?.facts.license ?? null,
    hasInstallScript: files.every(({ hasInstallScript }) => hasInstallScript),
    hasProvenance: files.every(({ attestedAt }) => attestedAt !== undefined),
    findings: Object.hasOwn(findings, version) ? findings[version]! : [],
  }
}

export interface Merged {
  listing: Listing
  /** when a rule of time ends; null when none does */
  nextChangeAt: Date | null
}

/** A file that is here has the verdict of its record; any other has that of the rules. */
export function mergeListing(
  format: Pick<RegistryFormat, 'versions' | 'upstream'>,
  local: Listing,
  state: UpstreamState,
  now: Date,
): Merged {
  const upstream = unpackListing(state.packed)
  const keyOf = ({ version, arch }: { version: string; arch: string }) => `${version}\0${arch}`
  const here = new Map(local.files.map((file) => [keyOf(file), file]))
  let nextChangeAt: Date | null = null
  const files: ListedFile[] = []
  for (const { file, verdict } of judged(upstream, state, now)) {
    if (verdict.until && (!nextChangeAt || verdict.until < nextChangeAt)) nextChangeAt = verdict.until
    const known = here.get(keyOf(file))
    here.delete(keyOf(file))
    const addedAt = new Date(file.publishedAt ?? 0)
    const { signatures } = file
    files.push(
      known ? { ...known, addedAt, signatures, held: heldBy(verdict, known) } : shownOf(file, verdict, addedAt),
    )
  }
  // The upstream may have removed what clients here rely on.
  files.push(...here.values())
  const { compare } = format.versions
  files.sort((a, b) => compare(a.version, b.version) || (a.arch < b.arch ? -1 : 1))
  const tags = tagsOf(format, upstream.tags, files)
  return { listing: { ...local, files, tags, notes: notesOf(upstream.notes, local.notes) }, nextChangeAt }
}

/** What is known here, such as attestations, does not replace what the upstream says of the same version. */
function notesOf(theirs: Listing['notes'], own: Listing['notes']): Record<string, VersionNote> {
  const said = Object.entries(own).map(([version, note]): [string, VersionNote] => [
    version,
    { ...theirs[version], ...note },
  ])
  return { ...theirs, ...Object.fromEntries(said) }
}

/** One that waits for a review keeps the reason that clients read before it was here, if that does not end by itself. */
function heldBy({ reasons }: CurationVerdict, { held }: ListedFile): HeldFile | null {
  const lasting = reasons.filter(({ until }) => until === null)
  return held?.isListed && lasting.length > 0 ? { ...held, reason: `${sentenceOf(lasting)}; ${held.reason}` } : held
}

function shownOf(file: UpstreamFile, { effect, reasons }: CurationVerdict, addedAt: Date): ListedFile {
  const { version, arch, filename, sizeBytes, digests, facts, url, signatures } = file
  const held = effect === 'list' ? null : { reason: sentenceOf(reasons), isListed: effect === 'explain' }
  return { version, arch, filename, sizeBytes, digests, facts, addedAt, held, url, signatures }
}

/** `latest` is the newest stable version that clients get, up to the one that the upstream calls so. */
function tagsOf(
  { versions, upstream }: Pick<RegistryFormat, 'versions' | 'upstream'>,
  tags: Readonly<Record<string, string>>,
  files: readonly ListedFile[],
): Record<string, string> {
  const { latest } = tags
  const offered = files.filter(({ held }) => held === null).map(({ version }) => version)
  if (latest === undefined || offered.includes(latest)) return { ...tags }
  const older = offered.filter((version) => versions.compare(version, latest) < 0)
  const instead = older.findLast((version) => upstream?.isStable(version)) ?? older.at(-1)
  return { ...tags, ...(instead === undefined ? {} : { latest: instead }) }
}
