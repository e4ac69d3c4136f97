// Versions that somebody asked for and that the rules of a proxy hold: what people are asked to look at first.
import { sql } from 'kysely'
import type { Reason } from '../domain/curation.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'

export interface WithheldVersion {
  name: string
  version: string
  reasons: Pick<Reason, 'rule' | 'text'>[]
  /** when it ends by itself */
  until: Date | null
  asked: number
  asked_by: string
  asked_at: Date
  /** of its record; null while it has none */
  status: string | null
}

export interface Withheld {
  note(repository: string, of: { name: string; version: string }, reasons: readonly Reason[], by: string): Promise<void>
  /** those that are still held, asked for last first */
  list(
    repository: string,
    page: { limit: number; offset: number },
  ): Promise<{ withheld: WithheldVersion[]; total: number }>
}

/** Rows of a repository; the oldest leave. */
const MOST_ROWS = 5000

export function createWithheld({ db, clock }: { db: Db; clock: Clock }): Withheld {
  return {
    async note(repository, { name, version }, reasons, by) {
      const shown = JSON.stringify(reasons.map(({ rule, text }) => ({ rule, text })))
      const ends = reasons.map(({ until }) => until)
      const until = ends.every((end) => end !== null) ? new Date(Math.max(...ends.map(Number))) : null
      // A repository that is gone meanwhile withholds nothing.
      await sql`insert into withheld (repository, name, version, reasons, until, asked, asked_by, asked_at)
        select key, ${name}::text, ${version}::text, ${shown}::jsonb, ${until}::timestamptz, 1, ${by}::text, ${clock.now()}::timestamptz
          from repositories where key = ${repository} for key share
        on conflict (repository, name, version) do update set reasons = excluded.reasons, until = excluded.until,
          asked = withheld.asked + 1, asked_by = excluded.asked_by, asked_at = excluded.asked_at`.execute(db)
      await sql`delete from withheld where repository = ${repository} and asked_at < (
        select asked_at from withheld where repository = ${repository} order by asked_at desc offset ${MOST_ROWS} limit 1)`.execute(
        db,
      )
    },
    async list(repository, { limit, offset }) {
      const { rows } = await sql<WithheldVersion & { total: number }>`
        select w.name, w.version, w.reasons, w.until, w.asked, w.asked_by, w.asked_at, p.status,
          (count(*) over ())::int as total
        from withheld w left join lateral (select min(status) as status from packages
          where distribution = w.repository and name = w.name and version = w.version) p on true
        where w.repository = ${repository} and (w.until is null or w.until > ${clock.now()})
          and p.status is distinct from 'published'
        order by w.asked_at desc, w.name, w.version limit ${limit} offset ${offset}`.execute(db)
      return { withheld: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 }
    },
  }
}
