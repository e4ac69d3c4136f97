// Pull-through: names and files of upstreams, as clients of repositories ask for them.
import { invalidField, Problem } from '../domain/problem.ts'
import type { Log } from '../kernel/log.ts'
import { atMost } from '../kernel/in-time.ts'
import type { Actor, Repositories, Repository } from '../registries/repositories.ts'
import type { RegistryReader } from '../serve/registries/registry-reader.ts'
import type { ReachableFile } from '../store/files/listing-files.ts'
import type { Descriptions } from './descriptions.ts'
import type { UpstreamFiles } from './upstream-files.ts'
import type { UpstreamListings } from './upstream-listings.ts'
import type { Withheld } from './withheld.ts'

/** A file of a name in the repository that has it. */
export interface FileIn {
  owner: string
  name: string
  filename: string
}

export interface Proxies {
  /** As that of `Repositories`, and proxies are asked too: after all hosted repositories, and never for a name that these own. */
  ownerOf: Repositories['ownerOf']
  /**
   * The file as clients get it, which brings it in if only the upstream has it. One that is held is noted as asked for, and brought in
   * for a review.
   * @throws Problem('not_found', 'upstream_error', ...), or 'not_judged' when that takes longer than clients wait
   */
  reach(file: FileIn, by: Actor): Promise<ReachableFile>
  /** The file as it is listed; nothing is fetched. @throws Problem('not_found') */
  listed(file: FileIn): Promise<ReachableFile>
  /**
   * The text beside a file that only the upstream has, as the list pins it; null when there is none.
   * @throws Problem('upstream_error', ...)
   */
  described(file: FileIn): Promise<Buffer | null>
  /**
   * Asks for a version that is held: it is brought in, and waits for a review.
   * @returns the names of its files
   * @throws Problem('not_found', 'policy_blocked' for a malicious one, 'upstream_error', ...)
   */
  request(repository: Repository, of: { name: string; version: string }, by: Actor): Promise<string[]>
}

export interface ProxyDeps {
  repositories: Pick<Repositories, 'get' | 'find' | 'ownerOf'>
  reader: Pick<RegistryReader, 'listing'>
  upstreamListings: UpstreamListings
  upstreamFiles: UpstreamFiles
  descriptions: Descriptions
  withheld: Withheld
  /** how long a client of this format waits for a file, in milliseconds */
  patienceMs(repository: Repository): number
  log: Pick<Log, 'warn'>
}

const RETRY_SECONDS = 5
/** A version may have a hundred large files: those that take longer follow without whoever asked for it. */
const REQUEST_MS = 40_000

export function createProxies(deps: ProxyDeps): Proxies {
  const { repositories, reader, upstreamListings, upstreamFiles, withheld } = deps

  async function listed({ owner, name, filename }: FileIn): Promise<ReachableFile> {
    const listing = await reader.listing(owner, name)
    const file = listing && Object.hasOwn(listing.files, filename) ? listing.files[filename] : undefined
    if (!file) throw new Problem('not_found', `${owner} has no file ${filename} of ${name}`)
    return file
  }

  const notBrought = (error: unknown) =>
    deps.log.warn({ err: error }, 'a held file that was asked for could not be brought in')

  /** Whoever asks hears the reason at once; the file is fetched meanwhile, so that people can look at it. */
  async function askFor(repository: Repository, { name, filename }: FileIn, by: Actor): Promise<void> {
    const [found] = await upstreamFiles.find(repository, name, { filename })
    if (!found || isRefused(found)) return
    await withheld.note(repository.key, { name, version: found.file.version }, found.verdict.reasons, by.name)
    // One that waits for its age only needs nobody.
    if (found.verdict.until === null) upstreamFiles.bring(repository, name, filename, by, found).catch(notBrought)
  }

  return {
    listed,
    async described({ owner, name, filename }) {
      return deps.descriptions.read(await repositories.get(owner), name, filename)
    },
    async ownerOf(repository, name) {
      if (repository.kind === 'hosted') return repository.key
      const hosted = repository.kind === 'group' ? await repositories.ownerOf(repository, name) : null
      if (hosted !== null) return hosted
      // One that does not answer ends the search: its name must not come from a later member instead.
      for (const key of repository.kind === 'proxy' ? [repository.key] : repository.members) {
        const proxy = key === repository.key ? repository : await repositories.get(key)
        if (proxy.kind === 'proxy' && (await upstreamListings.refresh(proxy, name))) return key
      }
      return null
    },
    async reach(wanted, by) {
      const file = await listed(wanted)
      if (file.sha256 !== null) return file
      const repository = await repositories.get(wanted.owner)
      if (file.held !== null) {
        await askFor(repository, wanted, by)
        return file
      }
      const work = upstreamFiles.bring(repository, wanted.name, wanted.filename, by)
      await atMost(deps.patienceMs(repository), work)
      const brought = await listed(wanted)
      if (brought.sha256 !== null || brought.held !== null) return brought
      const detail = `${wanted.filename} is being fetched and judged; ask again`
      throw new Problem('not_judged', detail, {}, { retryAfterSeconds: RETRY_SECONDS })
    },
    async request(repository, { name, version }, by) {
      if (repository.kind !== 'proxy') throw invalidField('name', `${repository.key} is no proxy`)
      if (!(await upstreamListings.refresh(repository, name)))
        throw new Problem('not_found', `${repository.key} has no ${name}`)
      const found = await upstreamFiles.find(repository, name, { version })
      if (found.length === 0) throw new Problem('not_found', `${repository.key} has no ${name} ${version}`)
      if (found.some(isRefused)) throw new Problem('policy_blocked', `an advisory calls ${name} ${version} malicious`)
      const reasons = found.map(({ verdict }) => verdict.reasons).find(({ length }) => length > 0)
      if (reasons) await withheld.note(repository.key, { name, version }, reasons, by.name)
      const work = Promise.all(found.map((one) => upstreamFiles.bring(repository, name, one.file.filename, by, one)))
      await atMost(REQUEST_MS, work)
      return found.map(({ file }) => file.filename)
    },
  }
}

const isRefused = ({ verdict }: Awaited<ReturnType<UpstreamFiles['find']>>[number]): boolean =>
  verdict.reasons.some(({ rule }) => rule === 'malicious')
