// Declarations of /artifacts/audit: reading and exporting the audit log.
import Type from 'typebox'
import { AuditEntrySchema } from '../shared/evidence-schemas.ts'
import { Nullable, pageOf, pageQuery } from '../http/schemas.ts'
import { EXPORT_MEDIA, ExportAs } from '../http/export.ts'
import { declare } from '../http/route.ts'

export const Span = { from: Type.Optional(Type.String()), to: Type.Optional(Type.String()) }

const Filter = {
  package: Type.Optional(Type.String()),
  action: Type.Optional(Type.String()),
  result: Type.Optional(Type.String()),
  user: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
  q: Type.Optional(Type.String({ maxLength: 200 })),
  ...Span,
}

export const getArtifactsAuditLogs = declare({
  method: 'GET',
  path: '/artifacts/audit/logs',
  tag: 'audit',
  summary: 'Audit entries, newest first',
  access: 'auditor+',
  query: Type.Object({
    ...pageQuery({ perPage: 100, max: 500 }),
    ...Filter,
  }),
  answer: Type.Object(
    {
      ...pageOf(AuditEntrySchema).properties,
      kept_from: Nullable(Type.String({ description: 'first day that is kept; null while nothing was removed' })),
    },
    { title: 'AuditPage' },
  ),
  problems: ['validation_error'],
})

export const getArtifactsAuditExport = declare({
  method: 'GET',
  path: '/artifacts/audit/export',
  tag: 'audit',
  summary:
    'Audit entries as JSON lines or CSV, in the order of the chain; with the filters of the list, or all of them',
  access: 'auditor+',
  query: Type.Object({
    ...Filter,
    as: ExportAs,
  }),
  answer: null,
  media: EXPORT_MEDIA,
  problems: ['validation_error'],
})
