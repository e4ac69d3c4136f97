// GET and PATCH /security/policy: the section `cve_policy` of the settings under its own address.
import { SettingsSchema } from '../domain/settings.ts'
import { route, type Route } from './route.ts'
import { PartialDocument, recordChange, type SettingsParts } from './settings.ts'

const PolicySchema = SettingsSchema.properties.cve_policy

export function policyRoutes(parts: SettingsParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/security/policy',
      tag: 'security',
      summary: 'The CVE policy: action by severity, review deadlines',
      access: 'admin',
      answer: PolicySchema,
      problems: [],
      handle: async () => parts.settings.current().cve_policy,
    }),
    route({
      method: 'PATCH',
      path: '/security/policy',
      tag: 'security',
      summary: 'Changes the CVE policy, all of the body or nothing',
      access: 'admin',
      body: PartialDocument,
      answer: PolicySchema,
      problems: ['validation_error', 'unknown_key'],
      async handle(call) {
        const { document, changedKeys } = await parts.settings.patchSection('cve_policy', call.body, call.caller.name)
        await recordChange(parts.audit, call, changedKeys)
        return document.cve_policy
      },
    }),
  ]
}
