// GET and PATCH /security/policy, the settings section `cve_policy`.
import { type Route } from './route.ts'
import { recordChange, type SettingsDeps } from './settings.ts'
import { getSecurityPolicy, patchSecurityPolicy } from './security-policy.contract.ts'
import { handle } from './route.ts'

export function policyRoutes(deps: SettingsDeps): Route[] {
  return [
    handle(getSecurityPolicy, async () => deps.settings.current().cve_policy),
    handle(patchSecurityPolicy, async (call) => {
      const { document, changedKeys } = await deps.settings.patchSection('cve_policy', call.body, call.caller.name)
      await recordChange(deps.audit, call, changedKeys)
      return document.cve_policy
    }),
  ]
}
