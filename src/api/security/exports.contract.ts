// Declarations of lists of /security as files, with the filters of these lists.
import Type from 'typebox'
import { EXPORT_MEDIA, ExportAs } from '../http/export.ts'
import { declare } from '../http/route.ts'
import { DecisionFilterSchema } from './decisions.contract.ts'
import { VulnerabilityFilterSchema } from './listing.contract.ts'

const file = {
  method: 'GET',
  tag: 'security',
  answer: null,
  media: EXPORT_MEDIA,
  problems: ['validation_error'],
} as const

export const getSecurityVulnerabilitiesExport = declare({
  ...file,
  path: '/security/vulnerabilities/export',
  summary: 'Every finding that the filters of the list match, the worst first, as JSON lines or CSV',
  access: 'reader+',
  query: Type.Object({ ...VulnerabilityFilterSchema, as: ExportAs }),
})

export const getSecurityDecisionsExport = declare({
  ...file,
  path: '/security/decisions/export',
  summary: 'Every decision that the filters of the list match, newest first, as JSON lines or CSV',
  access: 'auditor+',
  query: Type.Object({ ...DecisionFilterSchema, as: ExportAs }),
})
