// Declarations of GET and PATCH /security/policy, the settings section `cve_policy`.
import { PartialDocument, SECTIONS } from '../settings/settings.contract.ts'
import { declare } from '../http/route.ts'

export const PolicySchema = SECTIONS.cve_policy

export const getSecurityPolicy = declare({
  method: 'GET',
  path: '/security/policy',
  tag: 'security',
  summary: 'The CVE policy: action by severity, review deadlines',
  access: 'admin',
  edited: 'handler',
  answer: PolicySchema,
  problems: [],
})

export const patchSecurityPolicy = declare({
  method: 'PATCH',
  path: '/security/policy',
  tag: 'security',
  summary:
    'Change the CVE policy; applies the whole body or nothing, and with `If-Match` only to that state of the settings',
  example: { critical: 'block', high: 'review', medium: 'warn' },
  access: 'admin',
  edited: 'handler',
  body: PartialDocument,
  answer: PolicySchema,
  problems: ['validation_error', 'unknown_key'],
})
