// /artifacts/audit: reading and exporting the audit log.
import { AUDIT_RESULTS } from '../../domain/audit.ts'
import { invalidField } from '../../domain/problem.ts'
import type { AuditLog } from '../../audit/log.ts'
import { auditPage, entriesAfter, removedPart, type AuditFilter } from '../../audit/audit-query.ts'
import { entryOf, type EntryRow } from '../../audit/chain.ts'
import type { Db } from '../../store/db.ts'
import { allPages, linesOf, sendLines } from '../http/export.ts'
import { type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { getArtifactsAuditLogs, getArtifactsAuditExport } from './audit.contract.ts'
import { handle } from '../http/route.ts'

export function auditRoutes({ db, audit }: { db: Db; audit: AuditLog }): Route[] {
  return [
    handle(getArtifactsAuditLogs, async ({ query }) => {
      const { page: number, per_page: perPage, ...given } = query
      const filter = filterOf(given)
      // Entries of requests that were already answered must be written and chained before they are read.
      await audit.flush()
      const { items, total } = await auditPage(db, filter, { page: number, perPage })
      return { ...page(items, total, query), kept_from: (await removedPart(db)).keptFrom }
    }),
    handle(getArtifactsAuditExport, async ({ query, reply }) => {
      const { as, ...given } = query
      const filter = filterOf(given)
      await audit.flush()
      const { keptFrom } = await removedPart(db)
      if (keptFrom !== null) reply.header('x-audit-kept-from', keptFrom)
      const pages = allPages<EntryRow>((after, most) => entriesAfter(db, filter, after, most))
      return sendLines(reply, 'audit', as, linesOf(as, COLUMNS, pages, entryOf))
    }),
  ]
}

const COLUMNS = [
  ...(['seq', 'timestamp', 'action', 'result', 'outcome', 'user', 'package', 'version'] as const),
  ...(['distribution', 'arch', 'detail', 'ip', 'request_id'] as const),
]

interface Given extends Omit<AuditFilter, 'from' | 'to'> {
  from?: string | undefined
  to?: string | undefined
}

/** @throws Problem `validation_error` */
function filterOf({ from, to, ...filter }: Given): AuditFilter {
  if (filter.result !== undefined && !AUDIT_RESULTS.some((one) => one === filter.result?.toUpperCase()))
    throw invalidField('result', `is not one of ${AUDIT_RESULTS.join(', ')}`)
  return { ...filter, ...spanOf({ from, to }) }
}

function spanOf(query: { from?: string | undefined; to?: string | undefined }): {
  from?: Date | undefined
  to?: Date | undefined
} {
  return { from: timeOf('from', query.from, '00:00:00.000'), to: timeOf('to', query.to, '23:59:59.999') }
}

const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/

/** Reads a time (UTC unless it has an offset), or a day: its begin for `from`, its end for `to`. */
function timeOf(field: string, text: string | undefined, dayTime: string): Date | undefined {
  if (text === undefined) return undefined
  // An unescaped `+` in a query string is decoded as a space.
  const [, day, clock = dayTime, offset = 'Z'] = ISO_TIME.exec(text.replace(' ', '+')) ?? []
  const time = new Date(`${day}T${clock}${offset}`)
  if (Number.isNaN(time.getTime())) throw invalidField(field, 'is not an ISO 8601 date or time')
  return time
}
