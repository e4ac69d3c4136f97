// Exploit-prediction scores and known-exploited vulnerabilities, by CVE.
import { sql } from 'kysely'
import type { Exploited, Score } from '../../domain/advisory.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../db.ts'
import { transaction } from '../transaction.ts'

export interface ScoreFeed {
  name: 'epss' | 'kev'
  digest: string | null
  entries: number
  checkedAt: Date | null
  importedAt: Date | null
  error: string | null
}

export interface KnownScore {
  score: number | null
  percentile: number | null
  exploited: boolean
}

export interface Scores {
  /** Scores of these CVEs; unknown ones are missing. */
  lookUp(cves: readonly string[]): Promise<Map<string, KnownScore>>
  feeds(): Promise<ScoreFeed[]>
  noteChecked(name: ScoreFeed['name'], error: string | null): Promise<void>
  noteImported(name: ScoreFeed['name'], digest: string, entries: number): Promise<void>
  /** Stores part of the list. Scores are independent, so an incomplete list does no harm. */
  putScores(batch: readonly Score[]): Promise<void>
  /** @param whole deletes entries that are not in the list @returns ids that are new in it */
  putExploited(entries: readonly Exploited[], whole: boolean): Promise<string[]>
}

export function createScores({ db, clock }: { db: Db; clock: Clock }): Scores {
  const note = (
    name: string,
    set: { digest?: string; entries?: number; checked_at?: Date; imported_at?: Date; error: string | null },
  ) =>
    db
      .insertInto('score_feeds')
      .values({ name, ...set })
      .onConflict((c) => c.column('name').doUpdateSet(set))
      .execute()

  return {
    async lookUp(cves) {
      const { rows } = await sql<{ cve: string; score: number | null; percentile: number | null; exploited: boolean }>`
        select c.cve, e.score, e.percentile, k.cve is not null as exploited
        from unnest(${[...cves]}::text[]) as c (cve) left join epss e on e.cve = c.cve left join kev k on k.cve = c.cve
        where e.cve is not null or k.cve is not null`.execute(db)
      return new Map(rows.map(({ cve, ...known }) => [cve, known]))
    },
    async feeds() {
      const rows = await db.selectFrom('score_feeds').selectAll().orderBy('name').execute()
      return rows.map((row) => ({
        name: row.name as ScoreFeed['name'],
        digest: row.digest,
        entries: row.entries,
        checkedAt: row.checked_at,
        importedAt: row.imported_at,
        error: row.error,
      }))
    },
    async noteChecked(name, error) {
      await note(name, { error, ...(error === null ? { checked_at: clock.now() } : {}) })
    },
    async noteImported(name, digest, entries) {
      await note(name, { digest, entries, checked_at: clock.now(), imported_at: clock.now(), error: null })
    },
    async putScores(batch) {
      await sql`insert into epss (cve, score, percentile)
        select * from unnest(${batch.map((row) => row.cve)}::text[], ${batch.map((row) => row.score)}::float8[], ${batch.map((row) => row.percentile)}::float8[])
        on conflict (cve) do update set score = excluded.score, percentile = excluded.percentile
        where (epss.score, epss.percentile) <> (excluded.score, excluded.percentile)`.execute(db)
    },
    async putExploited(entries, whole) {
      const rows = [...new Map(entries.map((entry) => [entry.cve, entry])).values()]
      const ids = rows.map(({ cve }) => cve)
      const column = (key: keyof Exploited) => sql`${rows.map((row) => row[key])}::text[]`
      return transaction(db, async (tx) => {
        const known = await tx
          .selectFrom('kev')
          .select('cve')
          .where(sql<boolean>`cve = any(${ids}::text[])`)
          .execute()
        const before = new Set(known.map(({ cve }) => cve))
        await sql`insert into kev (cve, vendor, product, date_added, due_date, description)
          select * from unnest(${column('cve')}, ${column('vendor')}, ${column('product')}, ${column('dateAdded')}, ${column('dueDate')}, ${column('description')})
          on conflict (cve) do update set vendor = excluded.vendor, product = excluded.product, date_added = excluded.date_added,
            due_date = excluded.due_date, description = excluded.description`.execute(tx)
        if (whole)
          await tx
            .deleteFrom('kev')
            .where(sql<boolean>`not (cve = any(${ids}::text[]))`)
            .execute()
        return ids.filter((id) => !before.has(id))
      })
    },
  }
}
