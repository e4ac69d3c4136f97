// /artifacts/audit: reading and exporting the audit log.
import { Readable } from 'node:stream'
import Type from 'typebox'
import { invalidField } from '../domain/problem.ts'
import type { AuditLog } from '../store/audit-log.ts'
import { auditLines, auditPage } from '../store/audit-query.ts'
import type { Db } from '../store/db.ts'
import { route, type Route } from './route.ts'
import { page, pageOf, pageQuery } from './schemas.ts'

const Span = { from: Type.Optional(Type.String()), to: Type.Optional(Type.String()) }

export function auditRoutes({ db, audit }: { db: Db; audit: AuditLog }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/artifacts/audit/logs',
      tag: 'audit',
      summary: 'Audit entries, newest first',
      access: 'auditor+',
      query: Type.Object({
        ...pageQuery({ perPage: 100, max: 500 }),
        package: Type.Optional(Type.String()),
        action: Type.Optional(Type.String()),
        result: Type.Optional(Type.String()),
        user: Type.Optional(Type.String()),
        version: Type.Optional(Type.String()),
        q: Type.Optional(Type.String({ maxLength: 200 })),
        ...Span,
      }),
      answer: pageOf(Type.Object({ timestamp: Type.String(), action: Type.String(), result: Type.String() })),
      problems: ['validation_error'],
      async handle({ query }) {
        const { from, to, ...filter } = query
        // What was answered before must be found, chained: a reader sees hashes, not gaps.
        await audit.flush()
        const { items, total } = await auditPage(
          db,
          { ...filter, ...spanOf({ from, to }) },
          { page: query.page, perPage: query.per_page },
        )
        return page(items, total, query)
      },
    }),
    route({
      method: 'GET',
      path: '/artifacts/audit/export',
      tag: 'audit',
      summary: 'Audit entries of a time span as JSON lines, in the order of the chain',
      access: 'auditor+',
      query: Type.Object(Span),
      answer: null,
      problems: ['validation_error'],
      async handle({ query, reply }) {
        const span = spanOf(query)
        await audit.flush()
        reply.type('application/x-ndjson').header('content-disposition', 'attachment; filename="audit.jsonl"')
        return reply.send(Readable.from(auditLines(db, span)))
      },
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

/** A time, UTC where it names no offset, or a day that begins (`from`) or ends (`to`) the span. */
function timeOf(field: string, text: string | undefined, dayTime: string): Date | undefined {
  if (text === undefined) return undefined
  // The plus of an offset, unescaped in an address, arrives as a blank.
  const [, day, clock = dayTime, offset = 'Z'] = ISO_TIME.exec(text.replace(' ', '+')) ?? []
  const time = new Date(`${day}T${clock}${offset}`)
  if (Number.isNaN(time.getTime())) throw invalidField(field, 'is not an ISO 8601 date or time')
  return time
}
