// GET and PATCH /security/policy: the section `cve_policy` of the settings under its own address.
import { type Route } from './route.ts'
import { recordChange, type SettingsParts } from './settings.ts'
import { getSecurityPolicy, patchSecurityPolicy } from './security-policy.contract.ts'
import { handle } from './route.ts'

export function policyRoutes(parts: SettingsParts): Route[] {
  return [
    handle(getSecurityPolicy, async () => parts.settings.current().cve_policy),
    handle(patchSecurityPolicy, async (call) => {
      const { document, changedKeys } = await parts.settings.patchSection('cve_policy', call.body, call.caller.name)
      await recordChange(parts.audit, call, changedKeys)
      return document.cve_policy
    }),
  ]
}
