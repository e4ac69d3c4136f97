// Files of upstreams on their way in: fetched at the first request, compared with what was listed, and judged by the gate.
import type { AuditLog } from '../audit/log.ts'
import { DEFAULT_CURATION, licenceHold } from '../domain/curation.ts'
import type { Digests } from '../domain/package.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import { refused } from '../formats/catalog.ts'
import type { ReaderPool } from '../formats/readers/pool.ts'
import type { RegistryFormat, UpstreamFile } from '../formats/registry-format.ts'
import type { Step } from '../gate/step.ts'
import type { Intake } from '../intake/intake.ts'
import type { Delivered, Source } from '../packages/arrival.ts'
import type { Clock } from '../kernel/clock.ts'
import { createSemaphore } from '../kernel/semaphore.ts'
import { findJudged, type Judged, type Sought } from '../publish/listing/find-judged.ts'
import type { ListingPublisher } from '../publish/listing/listing-publisher.ts'
import { upstreamStateOf } from '../publish/listing/listing-query.ts'
import type { Names } from '../registries/names.ts'
import type { ReleaseNotes } from '../registries/release-notes.ts'
import type { Actor, Repository } from '../registries/repositories.ts'
import type { Db } from '../store/db.ts'
import type { RegistryAddress, RegistryClient } from '../upstream/registries/registry-client.ts'
import type { FindAttested } from './attested.ts'
import type { Once } from './once.ts'
import { isOwned } from './owned.ts'

export interface UpstreamFileDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
  client: Pick<RegistryClient, 'file'>
  readers: ReaderPool
  intake: Pick<Intake, 'accept'>
  listings: Pick<ListingPublisher, 'publish'>
  names: Pick<Names, 'requireUnspent'>
  releaseNotes: Pick<ReleaseNotes, 'attest'>
  attested: FindAttested
  once: Once
  formatOf(repository: Repository): RegistryFormat
  addressOf(repository: Repository): RegistryAddress
}

export interface UpstreamFiles {
  /** The files of a name that the upstream lists under this name or version, with their verdicts. */
  find(repository: Repository, name: string, sought: Sought): Promise<Judged[]>
  /**
   * Brings a file in, whatever its verdict is: one that the rules hold waits for a review. Returns when it has a record.
   * @param found by whoever has looked already
   * @throws Problem('upstream_error', ...) when it cannot be had, or is another file than was listed
   */
  bring(repository: Repository, name: string, filename: string, by: Actor, found?: Judged): Promise<void>
}

/** Transfers at the same time, of all repositories. */
const MOST_TRANSFERS = 24

export function createUpstreamFiles(deps: UpstreamFileDeps): UpstreamFiles {
  const { db, once, intake } = deps
  const inTurn = createSemaphore(MOST_TRANSFERS)

  async function find(repository: Repository, name: string, sought: Sought): Promise<Judged[]> {
    const state = await upstreamStateOf(db, repository.key, name)
    return state ? findJudged(deps.readers, { state, sought, now: deps.clock.now() }) : []
  }

  async function hasRecord({ key }: Repository, name: string, filename: string): Promise<boolean> {
    const row = await db
      .selectFrom('packages as p')
      .innerJoin('blobs as b', 'b.sha256', 'p.sha256')
      .select('p.id')
      .where('p.distribution', '=', key)
      .where('p.name', '=', name)
      .where('b.filename', '=', filename)
      .executeTakeFirst()
    return row !== undefined
  }

  async function alarm({ key }: Repository, name: string, { version }: UpstreamFile, by: Actor, detail: string) {
    const { ip, requestId } = by.origin
    const of = { package: name, version, distribution: key, user: by.name, ip, requestId }
    await deps.audit.record({ action: 'INTEGRITY_ALERT', result: 'FAILURE', outcome: 'upstream_error', detail, ...of })
  }

  async function take(repository: Repository, name: string, judged: Judged, by: Actor): Promise<void> {
    const { file } = judged
    const address = deps.addressOf(repository)
    requireTrusted(file, address)
    const format = deps.formatOf(repository)
    const differ = async (what: string): Promise<never> => {
      const detail = `${name} ${file.version} of ${new URL(file.url).host} is another file than was listed: ${what}`
      await alarm(repository, name, file, by, detail)
      throw new Problem('upstream_error', detail, { reason: 'differs' })
    }
    const compare: Delivered['compare'] = async ({ facts, digests }) => {
      const other = otherDigest(file.digests, digests)
      if (other) await differ(`the ${other} is another`)
      if (facts.name !== name || facts.version !== file.version || facts.arch !== file.arch)
        await differ(`it is ${facts.name} ${facts.version}`)
      // The name may have become somebody's while the file was on its way.
      if (await isOwned(db, repository.format, name))
        throw new Problem('not_found', `${name} belongs to a repository here`)
      const { version, arch } = file
      await deps.names.requireUnspent({ repository: repository.key, name }, { version, arch, sha256: digests.sha256 })
    }
    const attested = deps.attested(repository, file)
    const source: Source = {
      steps: [curationStep(format, repository, judged), ...attested.steps],
      async deliver(to) {
        to.target(repository.key)
        await to.store(await deps.client.file(address, file.url, to.mostBytes))
        return { declaredSha256: null, compare }
      },
    }
    const meta = { method: 'proxy' as const, importedBy: by.name, origin: by.origin }
    try {
      const { status } = await inTurn(() => intake.accept(source, meta))
      const kept = attested.kept()
      const release = { repository: repository.key, name, version: file.version }
      if (kept.length > 0) await deps.releaseNotes.attest(release, file.filename, kept, by)
      else if (status === 'published') return
    } catch (error) {
      if (!isProblem(error, 'already_exists')) throw asUpstreamFault(error, file)
    }
    await deps.listings.publish(repository.key, name)
  }

  return {
    find,
    async bring(repository, name, filename, by, found) {
      const isDone = () => hasRecord(repository, name, filename)
      await once.run(`file ${repository.key} ${name} ${filename}`, isDone, async () => {
        if (await isDone()) return
        const [wanted] = found ? [found] : await find(repository, name, { filename })
        if (!wanted) throw new Problem('not_found', `the upstream of ${repository.key} has no ${filename} of ${name}`)
        await take(repository, name, wanted, by)
      })
    },
  }
}

/** An address on another host is followed only if the list pins its bytes with a digest that nobody can forge. */
function requireTrusted({ url, digests }: UpstreamFile, address: RegistryAddress): void {
  const isElsewhere = new URL(url).origin !== new URL(address.url).origin
  if (isElsewhere && !digests.sha512 && !digests.sha256)
    throw refused('path', `the list names a file on another host, ${new URL(url).host}, without a strong digest`)
}

function otherDigest(listed: Partial<Digests>, own: Digests): string | null {
  for (const kind of ['sha512', 'sha256', 'sha1', 'md5'] as const)
    if (listed[kind] !== undefined && listed[kind] !== own[kind]) return kind.toUpperCase().replace('SHA', 'SHA-')
  return null
}

/** A file that is no package is the fault of its upstream, not of the client that asked for it. */
function asUpstreamFault(error: unknown, { url }: UpstreamFile): unknown {
  const host = new URL(url).host
  if (isProblem(error, 'invalid_package'))
    return refused('malformed', `${host} sent no package: ${error.detail}`, error)
  if (isProblem(error, 'file_too_large')) return refused('too_large', `${host}: ${error.detail}`, error)
  return error
}

/** The verdict of the rules as a step of the gate, so that a file that they hold waits for a review like any other. */
function curationStep(format: RegistryFormat, { curation }: Repository, { file, verdict }: Judged): Step {
  const policy = { ...DEFAULT_CURATION, ...curation }
  return {
    key: 'curation',
    label: 'Rules of the proxy',
    async run({ facts }) {
      const differences = format.upstream!.differences(file.facts, facts)
      const licence = file.facts.license === null ? licenceHold(facts.license, policy) : null
      const reasons = [
        ...verdict.reasons.map(({ text }) => text),
        ...(licence === null ? [] : [licence]),
        ...(differences.length > 0
          ? [`the upstream lists something else than the file has: ${differences.join(', ')}`]
          : []),
      ]
      if (reasons.length > 0) return { seen: { result: 'withheld', message: reasons.join('; ') } }
      const message = verdict.warnings.join('; ') || 'the rules of the proxy let it pass'
      return { seen: { result: 'allowed', message, concern: verdict.warnings.length > 0 } }
    },
  }
}
