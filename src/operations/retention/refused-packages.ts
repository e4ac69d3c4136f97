// Quarantined and rejected packages: bytes and records are deleted some time after the last decision about them.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import type { DeleteIds } from '../../packages/delete-packages.ts'
import type { ChooseRecords } from '../../packages/records/delete-records.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import { NO_ORIGIN, type RetentionStep } from './step.ts'

/** Records deleted in one transaction. */
const TOGETHER = 50

/** A package that waits for a decision has another status and is never deleted. */
export function refusedPackagesStep(deps: {
  db: Db
  clock: Clock
  deleteIds: DeleteIds
  settings(): Pick<Settings, 'retention'>
}): RetentionStep {
  const { db, clock, deleteIds } = deps

  /** Refused records without an arrival, a quarantine or a decision since the horizon. */
  const old = (horizon: Date) => sql`from packages p left join reviews r on r.package_id = p.id
    where p.status in ('quarantined', 'rejected') and greatest(p.imported_at, r.quarantined_at,
      (select max(decided_at) from decisions d where d.package_id = p.id)) < ${horizon}`

  /** null: nothing is deleted */
  function horizon(): Date | null {
    const days = deps.settings().retention.quarantine_days
    return days === 0 ? null : new Date(clock.now().getTime() - days * DAY_MS)
  }

  return {
    name: 'quarantine',
    async plan() {
      const before = horizon()
      if (!before) return { packages: 0 }
      const { rows } = await sql<{ n: number }>`select count(*)::int as n ${old(before)}`.execute(db)
      return { packages: rows[0]?.n ?? 0 }
    },
    async run({ by, before: counted, save, line, signal }) {
      const before = horizon()
      let packages = Number(counted?.['packages'] ?? 0)
      for (let after = 0; before;) {
        signal.throwIfAborted()
        const { rows } = await sql<{
          id: number
        }>`select p.id ${old(before)} and p.id > ${after} order by p.id limit ${TOGETHER}`.execute(db)
        const ids = rows.map(({ id }) => id)
        if (ids.length === 0) break
        after = ids.at(-1)!
        // A person may have decided about one of them since.
        const choose: ChooseRecords = async (tx, found) => {
          const still = await sql<{ id: number }>`select p.id ${old(before)} and p.id = any(${ids}::bigint[])`.execute(
            tx,
          )
          const stillOld = new Set(still.rows.map(({ id }) => id))
          return found.filter(({ id }) => stillOld.has(id))
        }
        packages += (await deleteIds(ids, by, NO_ORIGIN, { reason: 'retention.quarantine_days' }, choose)).length
        await save({ packages })
        line(`${packages} packages are deleted`)
      }
      return { packages }
    },
  }
}
