// The result of the last run of each scheduled job, on any replica.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'

export interface LastRun {
  job: string
  failed: boolean
  /** time of the last run without an error; null when there was none in the last 90 days */
  succeededAt: Date | null
}

/** Jobs that never ran to their end are left out. Reads two rows of the primary key for each job. */
export async function lastRunsOf(db: Db, jobs: readonly string[]): Promise<LastRun[]> {
  const { rows } = await sql<LastRun>`
    select j.job, l.error is not null as failed, s.finished_at as "succeededAt"
    from unnest(${[...jobs]}::text[]) as j(job)
    join lateral (
      select error from job_ticks t where t.job = j.job and finished_at is not null order by due_at desc limit 1
    ) l on true
    left join lateral (
      select finished_at from job_ticks t
      where t.job = j.job and finished_at is not null and error is null order by due_at desc limit 1
    ) s on true`.execute(db)
  return rows
}
