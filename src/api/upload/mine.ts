// What the caller brought in.
import { namesOfPerson } from '../../accounts/token-rows.ts'
import { isoTime } from '../../kernel/clock.ts'
import { activeDecisions } from '../../packages/records/decisions.ts'
import { uploadsPage } from '../../packages/records/uploads-query.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow } from '../../store/tables.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { headOf } from '../shared/records.ts'
import { getUploadMine } from './mine.contract.ts'

export function ownUploadRoutes({ db }: { db: Db }): Route[] {
  return [
    handle(getUploadMine, async ({ query, caller }) => {
      const at = { page: query.page, perPage: query.per_page }
      const { rows, total } = await uploadsPage(db, await namesOfPerson(db, caller), query, at)
      const decisions = await activeDecisions(
        db,
        rows.map(({ id }) => id),
      )
      const items = rows.map((row) => ({
        ...headOf(row),
        format: row.format,
        filename: row.filename,
        sha256: row.sha256,
        size_bytes: row.size_bytes,
        import_method: row.import_method,
        held_reason: row.held_reason,
        cve_summary: row.cve_summary,
        problems: (row.validation_steps as { name: string; passed: boolean; message: string }[])
          .filter(({ passed }) => !passed)
          .map(({ name: step, message }) => ({ step, message })),
        decision: decidedOf(decisions.get(row.id)?.[0]),
      }))
      return page(items, total, query)
    }),
  ]
}

function decidedOf(decision: DecisionRow | undefined) {
  if (!decision) return null
  const { action, justification, decided_by, decided_at, target_version } = decision
  return { action, justification, decided_by, decided_at: isoTime(decided_at), target_version }
}
