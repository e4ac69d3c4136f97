// GET and PATCH /security/policy, the settings section `cve_policy`.
import { tagged } from '../http/if-match.ts'
import { type Route } from '../http/route.ts'
import { recordChange, unchanged, type SettingsDeps } from '../settings/settings.ts'
import { getSecurityPolicy, patchSecurityPolicy } from './policy.contract.ts'
import { handle } from '../http/route.ts'

export function policyRoutes(deps: SettingsDeps): Route[] {
  return [
    handle(getSecurityPolicy, async ({ reply }) => {
      const { cve_policy, _meta } = deps.settings.masked()
      return tagged(reply, _meta.revision, cve_policy)
    }),
    handle(patchSecurityPolicy, async (call) => {
      const { document, changedKeys } = await deps.settings.patchSection(
        'cve_policy',
        call.body,
        call.caller.name,
        unchanged(call.raw),
      )
      await recordChange(deps.audit, call, changedKeys)
      return tagged(call.reply, document._meta.revision, document.cve_policy)
    }),
  ]
}
