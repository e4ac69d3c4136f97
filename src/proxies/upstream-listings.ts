// What upstreams list about names, as it was read last: fetched again after some minutes, and kept while an upstream is down.
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { KnownFinding } from '../domain/curation.ts'
import { withAction } from '../domain/decide.ts'
import { factsToMatch } from '../domain/package.ts'
import { isProblem } from '../domain/problem.ts'
import { placeOfRepository } from '../domain/repositories.ts'
import type { Settings } from '../domain/settings.ts'
import { isMalicious } from '../domain/curation.ts'
import type { RegistryFormat } from '../formats/registry-format.ts'
import type { OsvMatcher } from '../gate/engines/osv/matcher.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { ListingPublisher } from '../publish/listing/listing-publisher.ts'
import type { Repository } from '../registries/repositories.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import type { RegistryAddress, RegistryClient } from '../upstream/registries/registry-client.ts'
import type { Once } from './once.ts'
import { isOwned } from './owned.ts'

export interface UpstreamListingDeps {
  db: Db
  clock: Clock
  client: Pick<RegistryClient, 'listing'>
  matcher: Pick<OsvMatcher, 'scanAll'>
  listings: Pick<ListingPublisher, 'publish'>
  once: Once
  settings(): Pick<Settings, 'cve_policy'>
  formatOf(repository: Repository): RegistryFormat
  addressOf(repository: Repository): RegistryAddress
  log: Pick<Log, 'warn'>
}

export interface UpstreamListings {
  /**
   * Makes what clients read about a name as new as it has to be.
   * @returns whether there is anything of the name
   * @throws Problem('upstream_error', ...) when the upstream fails and nothing of it is known
   */
  refresh(repository: Repository, name: string): Promise<boolean>
}

/** A list is asked for again after this long. */
const FRESH_MS = 5 * 60_000
/** How long a name stays unknown. */
const MISSING_MS = 60_000
/** How long clients get what is known of an upstream that is down. */
const STALE_MS = 7 * 24 * 3600_000
/** An upstream that failed is left alone for this long. */
const FAILED_MS = 30_000
/** Versions that are matched with the advisories between two turns of others. */
const MATCHED_TOGETHER = 200

interface Known {
  fetched_at: Date
  etag: string | null
  digest: string
  versions: string[]
  findings: Record<string, KnownFinding[]>
  /** whether the upstream had it */
  listed: boolean
  /** whether it has versions at all: some may be here only */
  has: boolean
  next_change_at: Date | null
  /** whether clients do not see its newest state yet */
  behind: boolean
}

export function createUpstreamListings(deps: UpstreamListingDeps): UpstreamListings {
  const { db, clock, listings, once } = deps
  /** by repository and name, until when; a flood of names that do not exist leaves no rows */
  const missing = new LRUCache<string, number>({ max: 20_000 })
  const failed = new LRUCache<string, { until: number; error: unknown }>({ max: 2000 })

  const knownOf = async (key: string, name: string): Promise<Known | null> => {
    const { rows } = await sql<Known>`select u.fetched_at, u.etag, u.digest, u.versions, u.findings,
        u.packed is not null as listed, l.next_change_at,
        u.packed is not null or exists (select from packages p where p.distribution = u.repository and p.name = u.name) as has,
        coalesce(l.published_revision < l.revision, false) as behind
      from upstream_listings u left join listings l on l.repository = u.repository and l.name = u.name
      where u.repository = ${key} and u.name = ${name}`.execute(db)
    return rows[0] ?? null
  }

  const isWithin = (known: Known | null, ms: number): boolean =>
    known !== null && clock.now().getTime() - known.fetched_at.getTime() < ms

  async function findingsOf(repository: Repository, name: string, versions: readonly string[]) {
    const place = placeOfRepository(repository)
    const found: Record<string, KnownFinding[]> = {}
    for (let at = 0; at < versions.length; at += MATCHED_TOGETHER) {
      const facts = versions
        .slice(at, at + MATCHED_TOGETHER)
        .map((version) => ({ format: repository.format, name, version, arch: 'any' }))
        .map((one) => factsToMatch({ ...one, sourcePackage: null, sourceVersion: null }))
      const results = await deps.matcher.scanAll(facts, place)
      for (const [i, { findings }] of results.entries())
        if (findings.length > 0)
          found[facts[i]!.version] = findings.map((finding) => knownFinding(deps.settings(), finding))
    }
    return found
  }

  /** One transaction with the question whether the name is owned: a claim that was made meanwhile wins. */
  async function keep(
    repository: Repository,
    name: string,
    state: Partial<Stored> & { fetched_at: Date },
  ): Promise<void> {
    await transaction(db, async (tx) => {
      if (await isOwned(tx, repository.format, name)) return
      const { rows } = await sql`select 1 from upstream_listings
        where repository = ${repository.key} and name = ${name}`.execute(tx)
      const of = { repository: repository.key, name }
      if (rows.length === 0)
        await tx
          .insertInto('upstream_listings')
          .values({ ...EMPTY, ...of, ...state })
          .execute()
      else
        await tx
          .updateTable('upstream_listings')
          .set(state)
          .where('repository', '=', repository.key)
          .where('name', '=', name)
          .execute()
    })
  }

  async function fetch(repository: Repository, name: string): Promise<void> {
    const known = await knownOf(repository.key, name)
    const format = deps.formatOf(repository)
    const of = { format: format.id, reading: format.upstream!, name }
    const etag = known?.listed ? known.etag : null
    const answer = await deps.client.listing(deps.addressOf(repository), of, etag)
    const fetched_at = clock.now()
    if (answer === 'missing') {
      if (!known) missing.set(`${repository.key} ${name}`, fetched_at.getTime() + MISSING_MS)
      else await keep(repository, name, { fetched_at, packed: null, etag: null, digest: '' })
    } else if (answer === 'unchanged')
      await keep(repository, name, { fetched_at, ...(await rematched(repository, name, known!)) })
    else {
      const { packed, digest, versions } = answer
      const isSame = known?.listed && known.digest === digest
      if (isSame) {
        const changed = await rematched(repository, name, known)
        await keep(repository, name, { fetched_at, etag: answer.etag, ...changed })
      } else {
        const findings = JSON.stringify(await findingsOf(repository, name, versions))
        const state = { packed, digest, etag: answer.etag, versions: JSON.stringify(versions), findings }
        await keep(repository, name, { fetched_at, ...state })
      }
    }
    await listings.publish(repository.key, name)
  }

  /** Only what changed, because a new value publishes the name again. */
  async function rematched(repository: Repository, name: string, known: Known): Promise<{ findings?: string }> {
    const findings = await findingsOf(repository, name, known.versions)
    return sameText(findings, known.findings) ? {} : { findings: JSON.stringify(findings) }
  }

  /** A list that is kept for longer than it should be is still judged by the advisories of today. */
  async function keepStale(repository: Repository, name: string, known: Known): Promise<void> {
    const { findings } = await rematched(repository, name, known)
    if (findings === undefined) return
    await keep(repository, name, { fetched_at: known.fetched_at, findings })
    await listings.publish(repository.key, name)
  }

  /** A rule of time ended, the rules were changed, or a publish was interrupted. */
  async function publishIfDue(key: string, name: string, known: Known): Promise<void> {
    const isOver = known.next_change_at !== null && known.next_change_at <= clock.now()
    if (isOver)
      await sql`update listings set revision = revision + 1, next_change_at = null
        where repository = ${key} and name = ${name} and next_change_at <= ${clock.now()}`.execute(db)
    if (isOver || known.behind) await listings.publish(key, name)
  }

  return {
    async refresh(repository, name) {
      const key = `${repository.key} ${name}`
      if ((missing.get(key) ?? 0) > clock.now().getTime()) return false
      const known = await knownOf(repository.key, name)
      if (known && isWithin(known, FRESH_MS)) {
        await publishIfDue(repository.key, name, known)
        return known.has
      }
      const before = failed.get(key)
      const stale = known?.has && isWithin(known, STALE_MS) ? known : null
      if (before && before.until > clock.now().getTime()) {
        if (!stale) throw before.error
        await publishIfDue(repository.key, name, stale)
        return true
      }
      const isDone = async () => isWithin(await knownOf(repository.key, name), FRESH_MS)
      try {
        await once.run(`listing ${key}`, isDone, () => fetch(repository, name))
        failed.delete(key)
      } catch (error) {
        if (!isProblem(error)) throw error
        failed.set(key, { until: clock.now().getTime() + FAILED_MS, error })
        if (!stale) throw error
        deps.log.warn(
          { err: error, repository: repository.key, name },
          'the upstream fails: what is known of it is served',
        )
        await keepStale(repository, name, stale)
      }
      const after = await knownOf(repository.key, name)
      if (after) await publishIfDue(repository.key, name, after)
      return after?.has ?? false
    },
  }
}

const EMPTY = { digest: '', versions: '[]', findings: '{}' }

interface Stored {
  packed: Uint8Array | null
  digest: string
  etag: string | null
  versions: string
  findings: string
}

const sameText = (a: Record<string, unknown>, b: Record<string, unknown>): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([key, value]) => JSON.stringify(value) === JSON.stringify(b[key]))

type ScannedFinding = Awaited<ReturnType<OsvMatcher['scanAll']>>[number]['findings'][number]

function knownFinding(policy: Pick<Settings, 'cve_policy'>, scanned: ScannedFinding): KnownFinding {
  const {
    id,
    severity,
    action,
    aliases = [],
  } = withAction(policy, { ...scanned, first_seen: '', accepted_by_decision: false })
  const malicious = aliases.filter((alias) => isMalicious({ id: alias }))
  return { id, severity, action, ...(malicious.length > 0 ? { aliases: malicious } : {}) }
}
