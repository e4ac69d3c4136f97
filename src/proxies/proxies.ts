// Pull-through: names and files of upstreams, as clients of repositories ask for them.
import { invalidField, Problem } from '../domain/problem.ts'
import type { Log } from '../kernel/log.ts'
import { atMost } from '../kernel/in-time.ts'
import type { Actor, Repositories, Repository } from '../registries/repositories.ts'
import type { RegistryReader } from '../serve/registries/registry-reader.ts'
import type { ReachableFile } from '../store/files/listing-files.ts'
import type { Db } from '../store/db.ts'
import { isOwned } from './owned.ts'
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
  /**
   * Asks for a version that is held: it is brought in, and waits for a review.
   * @returns the names of its files
   * @throws Problem('not_found', 'policy_blocked' for a malicious one, 'upstream_error', ...)
   */
  request(repository: Repository, of: { name: string; version: string }, by: Actor): Promise<string[]>
}

export interface ProxyDeps {
  db: Db
  repositories: Pick<Repositories, 'get' | 'find' | 'ownerOf'>
  reader: Pick<RegistryReader, 'listing'>
  upstreamListings: UpstreamListings
  upstreamFiles: UpstreamFiles
  withheld: Withheld
  log: Pick<Log, 'warn'>
}

/** npm, pnpm, yarn 4 and bun wait for 30 s or more; pip gives up after 15 s. */
const WAIT_MS: Readonly<Record<string, number>> = { npm: 25_000, pypi: 12_000 }
const RETRY_SECONDS = 5

/** @param waits how long a client waits, in milliseconds, by format */
export function createProxies(deps: ProxyDeps, waits: Readonly<Record<string, number>> = WAIT_MS): Proxies {
  const { db, repositories, reader, upstreamListings, upstreamFiles, withheld } = deps

  const isOwnedHere = ({ format }: Repository, name: string) => isOwned(db, format, name)

  async function fileOf({ owner, name, filename }: FileIn): Promise<ReachableFile> {
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
    async ownerOf(repository, name) {
      if (repository.kind === 'hosted') return repository.key
      const hosted = repository.kind === 'group' ? await repositories.ownerOf(repository, name) : null
      if (hosted !== null) return hosted
      if (await isOwnedHere(repository, name)) return null
      // One that does not answer ends the search: its name must not come from a later member instead.
      for (const key of repository.kind === 'proxy' ? [repository.key] : repository.members) {
        const proxy = key === repository.key ? repository : await repositories.get(key)
        if (proxy.kind === 'proxy' && (await upstreamListings.refresh(proxy, name))) return key
      }
      return null
    },
    async reach(wanted, by) {
      const file = await fileOf(wanted)
      if (file.sha256 !== null) return file
      const repository = await repositories.get(wanted.owner)
      if (file.held !== null) {
        await askFor(repository, wanted, by)
        return file
      }
      const work = upstreamFiles.bring(repository, wanted.name, wanted.filename, by)
      await atMost(waits[repository.format] ?? 12_000, work)
      const brought = await fileOf(wanted)
      if (brought.sha256 !== null || brought.held !== null) return brought
      const detail = `${wanted.filename} is being fetched and judged; ask again`
      throw new Problem('not_judged', detail, {}, { retryAfterSeconds: RETRY_SECONDS })
    },
    async request(repository, { name, version }, by) {
      if (repository.kind !== 'proxy') throw invalidField('name', `${repository.key} is no proxy`)
      const hasName = !(await isOwnedHere(repository, name)) && (await upstreamListings.refresh(repository, name))
      if (!hasName) throw new Problem('not_found', `${repository.key} has no ${name}`)
      const found = await upstreamFiles.find(repository, name, { version })
      if (found.length === 0) throw new Problem('not_found', `${repository.key} has no ${name} ${version}`)
      const [first] = found
      if (isRefused(first!)) throw new Problem('policy_blocked', `an advisory calls ${name} ${version} malicious`)
      const reasons = found.flatMap(({ verdict }) => verdict.reasons)
      if (reasons.length > 0) await withheld.note(repository.key, { name, version }, first!.verdict.reasons, by.name)
      for (const one of found) await upstreamFiles.bring(repository, name, one.file.filename, by, one)
      return found.map(({ file }) => file.filename)
    },
  }
}

const isRefused = ({ verdict }: Awaited<ReturnType<UpstreamFiles['find']>>[number]): boolean =>
  verdict.reasons.some(({ rule }) => rule === 'malicious')
