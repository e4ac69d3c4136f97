// Stored advisories, in generations that readers see complete; feeds; changes between two generations.
import { sql } from 'kysely'
import type { Advisory, AffectedPackage } from '../../domain/advisory.ts'
import type { AdvisoryImport, AdvisoryState, AdvisoryCandidate, FeedState } from '../../domain/advisory-store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/clock.ts'
import { createShared } from '../../kernel/shared.ts'
import type { Db } from '../db.ts'
import { beginImport } from './import.ts'

export interface AdvisoryFeed extends FeedState {
  /** the generation of its last import */
  generation: number | null
}

export interface AdvisoryChanges {
  /** the generation that these changes lead to: the next call starts there */
  generation: number
  /** false when older changes were dropped: match everything again */
  complete: boolean
  /** `package` null: everything of that ecosystem */
  packages: { ecosystem: string; package: string | null }[]
}

export interface Advisories {
  state(): Promise<AdvisoryState>
  candidates(generation: number, ecosystems: readonly string[], names: readonly string[]): Promise<AdvisoryCandidate[]>
  advisories(keys: readonly number[]): Promise<Map<number, Advisory>>
  feed(name: string): Promise<AdvisoryFeed | null>
  feeds(): Promise<AdvisoryFeed[]>
  noteChecked(feed: string, error: string | null): Promise<void>
  /** Packages whose findings may have changed since `generation`; a nightly run matches only these again. */
  changedSince(generation: number): Promise<AdvisoryChanges>
  /**
   * Packages with the most advisories that affect every version up to a fix, at most ten of each ecosystem. Such packages
   * are in every scanner's data, so a scanner that reports nothing for them fails its self-test.
   */
  vulnerablePackages(ecosystems: readonly string[]): Promise<string[]>
  /** @throws Problem('already_running') while another import is under way */
  begin(feed: string): Promise<AdvisoryImport>
}

export function createAdvisories(deps: { db: Db; clock: Clock }): Advisories {
  const { db, clock } = deps
  return {
    // Every scan asks for the state; packages that are scanned at the same time share the query.
    state: createShared(() =>
      db.selectFrom('advisory_state').select(['generation', 'ecosystems']).executeTakeFirstOrThrow(),
    ),

    async candidates(generation, ecosystems, names) {
      const { rows } = await sql<{
        key: number
        ecosystem: string
        package: string
        ranges: AffectedPackage['ranges']
        versions: string[]
        severity: AffectedPackage['severity']
        cvss: number | null
        wont_fix: boolean
        stream: string | null
      }>`
        select a.key, p.ecosystem, p.package, p.ranges, p.versions, p.severity, p.cvss, p.wont_fix, p.stream
        from advisory_packages p join advisories a on a.key = p.advisory
        where p.package = any(${[...names]}::text[]) and p.ecosystem = any(${[...ecosystems]}::text[])
          and a.since <= ${generation} and (a.until is null or a.until > ${generation})
        order by a.id, a.key, p.ecosystem, p.package`.execute(db)
      return rows.map(({ key, wont_fix, ...affected }) => ({ key, affected: { ...affected, wontFix: wont_fix } }))
    },

    async advisories(keys) {
      if (keys.length === 0) return new Map()
      const rows = await db
        .selectFrom('advisories')
        .select([
          'key',
          'id',
          'modified',
          'withdrawn',
          'severity',
          'cvss',
          'summary',
          'cves',
          'aliases',
          'urls',
          'notes',
          'security',
        ])
        .where(sql<boolean>`key = any(${[...keys]}::bigint[])`)
        .execute()
      return new Map(
        rows.map(({ key, modified, withdrawn, ...rest }) => [
          key,
          { ...rest, modified: isoTime(modified), withdrawn: withdrawn && isoTime(withdrawn) },
        ]),
      )
    },

    async feed(name) {
      const row = await db.selectFrom('advisory_feeds').selectAll().where('name', '=', name).executeTakeFirst()
      return row ? feedOf(row) : null
    },

    async feeds() {
      return (await db.selectFrom('advisory_feeds').selectAll().orderBy('name').execute()).map(feedOf)
    },

    async noteChecked(feed, error) {
      // A failed attempt checked nothing: the age of the data does not change.
      const checked = error === null ? { checked_at: clock.now() } : {}
      await db
        .insertInto('advisory_feeds')
        .values({ name: feed, error, ...checked })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ error, ...checked }))
        .execute()
    },

    async changedSince(generation) {
      const { generation: now, changes_floor: floor } = await db
        .selectFrom('advisory_state')
        .select(['generation', 'changes_floor'])
        .executeTakeFirstOrThrow()
      const rows = await db
        .selectFrom('advisory_changes')
        .select(['ecosystem', 'package'])
        .distinct()
        .where('generation', '>', generation)
        .where('generation', '<=', now)
        .orderBy('ecosystem')
        .orderBy('package')
        .execute()
      const packages = rows.map((row) => ({ ...row, package: row.package === '*' ? null : row.package }))
      return { generation: now, complete: generation >= floor, packages }
    },

    async vulnerablePackages(ecosystems) {
      const { vulnerable } = await db.selectFrom('advisory_state').select('vulnerable').executeTakeFirstOrThrow()
      return ecosystems
        .flatMap((ecosystem) => vulnerable[ecosystem] ?? [])
        .sort((a, b) => b.advisories - a.advisories || (a.package < b.package ? -1 : 1))
        .map((entry) => entry.package)
    },

    begin: (feed) => beginImport(db, clock, feed),
  }
}

function feedOf(row: {
  name: string
  digest: string | null
  advisories: number
  generation: number | null
  imported_at: Date | null
  checked_at: Date | null
  error: string | null
}): AdvisoryFeed {
  const { imported_at, checked_at, ...rest } = row
  return { ...rest, importedAt: imported_at, checkedAt: checked_at }
}

/** For the re-match: the last matched generation, and the changes since. */
export function rematchNews(db: Db, advisories: Advisories) {
  return {
    seen: async (): Promise<number> =>
      (await db.selectFrom('advisory_state').select('rematched_names').executeTakeFirstOrThrow()).rematched_names,
    current: async (): Promise<number> => (await advisories.state()).generation,
    since: (generation: number): Promise<AdvisoryChanges> => advisories.changedSince(generation),
    async note(generation: number): Promise<void> {
      await db
        .updateTable('advisory_state')
        .set({ rematched: generation, rematched_names: generation })
        .where('rematched_names', '<', generation)
        .execute()
    },
  }
}
