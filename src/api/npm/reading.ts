// What clients of npm read: packuments, single versions, tarballs, dist-tags.
import { Problem } from '../../domain/problem.ts'
import { SHORT_MEDIA } from '../../formats/npm/documents.ts'
import { pickJson, type Wanted } from '../../kernel/pick-json.ts'
import type { Proxies } from '../../proxies/proxies.ts'
import type { Repositories } from '../../registries/repositories.ts'
import { plainOf, type RegistryReader, type SentDocument } from '../../serve/registries/registry-reader.ts'
import { isStored, type ListingHead } from '../../store/files/listing-files.ts'
import { handle, type Call, type Route } from '../http/route.ts'
import { readable, requireOwner, type Asking } from '../registries/access.ts'
import { sendDocument, type SendFile } from '../registries/answers.ts'
import { getPackage, getTags, getTarball } from './npm.contract.ts'
import { readRequested, requireName } from './protocol.ts'

export interface ReadingDeps {
  repositories: Repositories
  reader: RegistryReader
  sendFile: SendFile
  reach: Proxies['reach']
  /** the address under which a client reached the API, with no slash at its end */
  reachedAt(request: Call<unknown, unknown, unknown>['raw']): string
}

/** A name that the caller may read, in the repository that has it. */
interface Found {
  owner: string
  name: string
  listing: ListingHead
}

/** @throws Problem as `readable`, or 'not_found' */
export async function findName(
  { repositories, reader }: Pick<ReadingDeps, 'repositories' | 'reader'>,
  repo: string,
  name: string,
  asking: Asking,
): Promise<Found> {
  const repository = await readable(repositories, { format: 'npm', name: repo }, asking)
  const owner = await requireOwner(repositories, repository, name, asking)
  const listing = await reader.listing(owner, name)
  if (!listing) throw new Problem('not_found', `${repository.key} has no ${name}`)
  return { owner, name, listing }
}

export function readingRoutes(deps: ReadingDeps): Route[] {
  const { reader } = deps

  async function documentOf({ owner, name }: Found, form: 'full' | 'short', base: string): Promise<SentDocument> {
    const document = await reader.document(owner, name, form, base)
    if (!document) throw new Problem('not_found', `${owner} has no ${name} that clients can have`)
    return document
  }

  return [
    handle(getPackage, async (call) => {
      const { params, raw, reply } = call
      const { name, wanted } = readRequested(params.package)
      const found = await findName(deps, params.repo, name, call)
      const base = `${deps.reachedAt(raw)}/npm/${params.repo}`
      const isShort = wanted === null && prefersShort(raw.headers.accept)
      const document = await documentOf(found, isShort ? 'short' : 'full', base)
      if (wanted === null) return sendDocument(call, document)
      return reply.type('application/json').send(await versionIn(document, found.listing, wanted))
    }),
    handle(getTarball, async (call) => {
      const { params, caller } = call
      const { listing, owner } = await findName(deps, params.repo, requireName(params.package), call)
      const by = { name: caller?.name ?? 'anonymous', origin: call.origin }
      const file = await deps.reach({ owner, name: listing.name, filename: params.file }, by)
      if (file.held !== null) throw held(listing.name, file.version, file.held)
      if (!isStored(file)) throw new Problem('not_found', `${owner} has no file ${params.file} of ${listing.name}`)
      const id = { format: listing.format, sha256: file.sha256, filename: params.file }
      return deps.sendFile(call, id, file)
    }),
    handle(getTags, async (call) => {
      const { params, reply } = call
      const found = await findName(deps, params.repo, requireName(params.package), call)
      const document = await documentOf(found, 'short', '')
      for await (const tags of valuesIn(document, ([first]) => (first === 'dist-tags' ? 'whole' : 'nothing')))
        return reply.type('application/json').send(JSON.stringify(tags))
      throw new Problem('not_found', `${found.name} has no dist-tags`)
    }),
  ]
}

/** In the phrase of npm's own message, which names package and version. */
export const held = (name: string, version: string, reason: string) =>
  new Problem('policy_hold', `${name}@${version} is held: ${reason}`)

/** RFC 9110, section 12.5.1: the abbreviated form for clients that name it and want it no less than the full one. */
export function prefersShort(accept: string | undefined): boolean {
  const weights = new Map(
    (accept ?? '').split(',').map((offer) => {
      const [media = '', ...parameters] = offer
        .toLowerCase()
        .split(';')
        .map((part) => part.trim())
      const weight = parameters.find((one) => one.startsWith('q='))
      return [media, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
    }),
  )
  const short = weights.get(SHORT_MEDIA) ?? 0
  return short > 0 && short >= (weights.get('application/json') ?? 0)
}

/** One version of a packument, by its number or a tag. @throws Problem('not_found' or 'policy_hold') */
async function versionIn(document: SentDocument, { name, files }: ListingHead, wanted: string): Promise<string> {
  const file = Object.values(files).find(({ version }) => version === wanted)
  if (file?.held) throw held(name, wanted, file.held)
  let version = wanted
  // The tags are in front of the versions.
  const want = ([first, second, third]: readonly string[]): Wanted => {
    if (second === undefined) return first === 'dist-tags' || first === 'versions' ? 'inside' : 'nothing'
    return third === undefined && second === (first === 'versions' ? version : wanted) ? 'whole' : 'nothing'
  }
  for await (const value of valuesIn(document, want)) {
    if (typeof value === 'string') version = value
    else return JSON.stringify(value)
  }
  throw new Problem('not_found', `${name} has no version and no tag ${wanted}`)
}

/** Documents may have megabytes, which are read in pieces so that other requests have their turns. */
async function* valuesIn(
  document: SentDocument,
  want: (path: readonly string[]) => Wanted,
): AsyncGenerator<unknown, void, undefined> {
  for await (const picked of pickJson(plainOf(document), want, MOST_PICKED_BYTES))
    if ('value' in picked) yield picked.value
}

/** Tags, and a version. */
const MOST_PICKED_BYTES = 16 * 1024 * 1024
