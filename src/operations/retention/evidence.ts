// Removes evidence that newer evidence has replaced. Evidence in force is deleted only with its record.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { RetentionStep } from './step.ts'

/** Most rows of one statement. */
const PAGE = 1000
/** Findings that nothing refers to are kept this long: a transaction may be about to use them again. */
const UNUSED_MS = DAY_MS

export function evidenceStep(deps: { db: Db; clock: Clock; settings(): Pick<Settings, 'retention'> }): RetentionStep {
  const { db } = deps
  const before = (milliseconds: number) => new Date(deps.clock.now().getTime() - milliseconds)
  const old = () => before(deps.settings().retention.evidence_days * DAY_MS)

  /** @returns how many of the next sets, in the order of their digests, were deleted, and where to continue */
  async function removeSets(after: string): Promise<{ removed: number; last: string | null }> {
    const { rows } = await sql<{ removed: number; last: string | null }>`with page as (
        select digest from finding_sets where digest > ${after} order by digest limit ${PAGE}),
      gone as (delete from finding_sets s using page where s.digest = page.digest
        and s.used_at < ${before(UNUSED_MS)}::timestamptz
        and not exists (select 1 from evidence e where e.findings = s.digest) returning 1)
      select (select count(*)::int from gone) as removed, (select max(digest) from page) as last`.execute(db)
    return rows[0] ?? { removed: 0, last: null }
  }

  return {
    name: 'evidence',
    async plan() {
      const { rows } = await sql<{ rows: number }>`select count(*)::int as rows from evidence
        where replaced_at < ${old()}::timestamptz`.execute(db)
      return { rows: rows[0]?.rows ?? 0 }
    },
    async run({ line, signal }) {
      let [rows, sets] = [0, 0]
      for (let page = PAGE; page === PAGE; rows += page) {
        signal.throwIfAborted()
        const { numAffectedRows } = await sql`delete from evidence where id in (
          select id from evidence where replaced_at < ${old()}::timestamptz order by replaced_at limit ${PAGE})`.execute(
          db,
        )
        page = Number(numAffectedRows ?? 0)
      }
      for (let after: string | null = ''; after !== null;) {
        signal.throwIfAborted()
        const { removed, last } = await removeSets(after)
        sets += removed
        after = last
      }
      if (rows + sets > 0) line(`${rows} rows and ${sets} sets of findings are deleted`)
      return { rows, finding_sets: sets }
    },
  }
}
