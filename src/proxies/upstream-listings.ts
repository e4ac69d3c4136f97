// What upstreams list about names, as it was read last: fetched again after some minutes, and kept while an upstream is down.
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { KnownFinding } from '../domain/curation.ts'
import { isProblem } from '../domain/problem.ts'
import type { RegistryFormat } from '../formats/registry-format.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { ListingPublisher } from '../publish/listing/listing-publisher.ts'
import type { Repository } from '../registries/repositories.ts'
import type { Db } from '../store/db.ts'
import type { RegistryAddress, RegistryClient } from '../upstream/registries/registry-client.ts'
import type { Once } from './once.ts'
import type { KnownFindings } from './known-findings.ts'
import { ownedHere } from './owned.ts'

export interface UpstreamListingDeps {
  db: Db
  clock: Clock
  client: Pick<RegistryClient, 'listing'>
  findingsOf: KnownFindings
  listings: Pick<ListingPublisher, 'publish'>
  once: Once
  formatOf(repository: Repository): RegistryFormat
  addressOf(repository: Repository): RegistryAddress
  log: Pick<Log, 'warn'>
}

export interface UpstreamListings {
  /**
   * Makes what clients read about a name as new as it has to be.
   * @returns whether there is anything of the name; nothing of one that belongs to a repository here, which is not asked for
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

/** What every request asks about a name. */
interface Standing {
  /** whether the name belongs to a repository here */
  owned: boolean
  /** null when nothing is known of it */
  fetched_at: Date | null
  /** whether it has versions at all: some may be here only */
  has: boolean
  next_change_at: Date | null
  /** whether clients do not see its newest state yet */
  behind: boolean
}

/** What was read of it last. */
interface Known {
  fetched_at: Date
  etag: string | null
  digest: string
  versions: string[]
  findings: Record<string, KnownFinding[]>
  /** whether the upstream had it */
  listed: boolean
}

export function createUpstreamListings(deps: UpstreamListingDeps): UpstreamListings {
  const { db, clock, listings, once, findingsOf } = deps
  /** by repository and name, until when; a flood of names that do not exist leaves no rows */
  const missing = new LRUCache<string, number>({ max: 20_000 })
  const failed = new LRUCache<string, { until: number; error: unknown }>({ max: 2000 })

  const knownOf = async (key: string, name: string): Promise<Known | null> => {
    const { rows } = await sql<Known>`select fetched_at, etag, digest, versions, findings, packed is not null as listed
      from upstream_listings where repository = ${key} and name = ${name}`.execute(db)
    return rows[0] ?? null
  }

  const standingOf = async ({ key, format }: Repository, name: string): Promise<Standing> => {
    const { rows } = await sql<Standing>`select ${ownedHere(format, name)} as owned, u.fetched_at, l.next_change_at,
        u.name is not null and (u.packed is not null
          or exists (select from packages p where p.distribution = u.repository and p.name = u.name)) as has,
        coalesce(l.published_revision < l.revision, false) as behind
      from (select ${key}::text as repository, ${name}::text as name) asked
        left join upstream_listings u using (repository, name)
        left join listings l on l.repository = u.repository and l.name = u.name`.execute(db)
    return rows[0]!
  }

  const isWithin = ({ fetched_at: at }: Pick<Standing, 'fetched_at'>, ms: number): boolean =>
    at !== null && clock.now().getTime() - at.getTime() < ms

  /**
   * One statement with the questions whether the name is owned, because a claim that was made meanwhile wins, and whether the repository
   * still has the upstream that answered.
   */
  async function keep(
    repository: Repository,
    name: string,
    state: Partial<Stored> & { fetched_at: Date },
  ): Promise<void> {
    const { key, format, upstream_url: url } = repository
    const { fetched_at, packed, digest, etag, versions, findings } = { ...EMPTY, ...state }
    const changed = Object.keys(state).map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
    await sql`with proxy as (select key from repositories where key = ${key} and upstream_url = ${url} for share)
      insert into upstream_listings (repository, name, fetched_at, packed, digest, etag, versions, findings)
      select key, ${name}, ${fetched_at}::timestamptz, ${packed}::bytea, ${digest}, ${etag}, ${versions}::jsonb, ${findings}::jsonb
      from proxy where not ${ownedHere(format, name)}
      on conflict (repository, name) do update set ${sql.join(changed)}`.execute(db)
  }

  async function fetch(repository: Repository, name: string): Promise<void> {
    const known = await knownOf(repository.key, name)
    // Another replica was faster.
    if (known && isWithin(known, FRESH_MS)) return
    const format = deps.formatOf(repository)
    const of = { format: format.id, reading: format.upstream!, name }
    const etag = known?.listed ? known.etag : null
    const answer = await deps.client.listing(deps.addressOf(repository), of, etag)
    const fetched_at = clock.now()
    if (answer === 'missing') {
      if (!known) missing.set(keyOf(repository, name), fetched_at.getTime() + MISSING_MS)
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
  async function keepStale(repository: Repository, name: string): Promise<void> {
    const known = await knownOf(repository.key, name)
    if (!known) return
    const { findings } = await rematched(repository, name, known)
    if (findings === undefined) return
    await keep(repository, name, { fetched_at: known.fetched_at, findings })
    await listings.publish(repository.key, name)
  }

  /** A rule of time ended, the rules were changed, or a publish was interrupted. */
  async function publishIfDue(key: string, name: string, known: Standing): Promise<void> {
    const isOver = known.next_change_at !== null && known.next_change_at <= clock.now()
    if (isOver)
      await sql`update listings set revision = revision + 1, next_change_at = null
        where repository = ${key} and name = ${name} and next_change_at <= ${clock.now()}`.execute(db)
    if (isOver || known.behind) await listings.publish(key, name)
  }

  return {
    async refresh(repository, name) {
      const key = keyOf(repository, name)
      if ((missing.get(key) ?? 0) > clock.now().getTime()) return false
      const known = await standingOf(repository, name)
      if (known.owned) return false
      if (isWithin(known, FRESH_MS)) {
        await publishIfDue(repository.key, name, known)
        return known.has
      }
      const before = failed.get(key)
      const stale = known.has && isWithin(known, STALE_MS) ? known : null
      if (before && before.until > clock.now().getTime()) {
        if (!stale) throw before.error
        await publishIfDue(repository.key, name, stale)
        return true
      }
      const isDone = async () => isWithin(await standingOf(repository, name), FRESH_MS)
      try {
        await once.run(`listing ${key}`, isDone, () => fetch(repository, name))
        failed.delete(key)
      } catch (error) {
        if (!isProblem(error)) throw error
        // A full disk is no fault of the upstream.
        if (isProblem(error, 'upstream_error')) failed.set(key, { until: clock.now().getTime() + FAILED_MS, error })
        if (!stale) throw error
        deps.log.warn(
          { err: error, repository: repository.key, name },
          'the upstream fails: what is known of it is served',
        )
        await keepStale(repository, name)
      }
      const after = await standingOf(repository, name)
      if (after.owned) return false
      await publishIfDue(repository.key, name, after)
      return after.has
    },
  }
}

/** Another upstream is asked anew. */
const keyOf = ({ key, upstream_url: url }: Repository, name: string): string => `${key} ${url} ${name}`

const EMPTY: Stored = { packed: null, etag: null, digest: '', versions: '[]', findings: '{}' }

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
