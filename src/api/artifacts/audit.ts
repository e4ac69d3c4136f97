// /artifacts/audit: reading and exporting the audit log.
import { Readable } from 'node:stream'
import { AUDIT_RESULTS } from '../../domain/audit.ts'
import { invalidField } from '../../domain/problem.ts'
import type { AuditLog } from '../../audit/log.ts'
import { auditLines, auditPage, removedPart } from '../../audit/audit-query.ts'
import type { Db } from '../../store/db.ts'
import { type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { getArtifactsAuditLogs, getArtifactsAuditExport } from './audit.contract.ts'
import { handle } from '../http/route.ts'

export function auditRoutes({ db, audit }: { db: Db; audit: AuditLog }): Route[] {
  return [
    handle(getArtifactsAuditLogs, async ({ query }) => {
      const { from, to, page: number, per_page: perPage, ...filter } = query
      if (filter.result !== undefined && !AUDIT_RESULTS.some((one) => one === filter.result?.toUpperCase()))
        throw invalidField('result', `is not one of ${AUDIT_RESULTS.join(', ')}`)
      // Entries of requests that were already answered must be written and chained before they are read.
      await audit.flush()
      const { items, total } = await auditPage(db, { ...filter, ...spanOf({ from, to }) }, { page: number, perPage })
      return { ...page(items, total, query), kept_from: (await removedPart(db)).keptFrom }
    }),
    handle(getArtifactsAuditExport, async ({ query, reply }) => {
      const span = spanOf(query)
      await audit.flush()
      const { keptFrom } = await removedPart(db)
      if (keptFrom !== null) reply.header('x-audit-kept-from', keptFrom)
      reply.type('application/x-ndjson').header('content-disposition', 'attachment; filename="audit.jsonl"')
      return reply.send(Readable.from(auditLines(db, span)))
    }),
  ]
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
