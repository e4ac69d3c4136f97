// /settings: the runtime settings, and tests of configured receivers. `domain/settings.ts` declares every key.
import type { FastifyRequest } from 'fastify'
import type { Notifier, TestResult } from '../../audit/notify/notifier.ts'
import type { SettingsMeta, SettingsStore } from '../../config/settings/settings.ts'
import type { AuditLog } from '../../audit/log.ts'
import { requireMatch, tagged } from '../http/if-match.ts'
import { handle, type Route, type SignedCall } from '../http/route.ts'
import type { Directory } from '../../accounts/ldap/directory.ts'
import type { OidcTest } from '../../accounts/oidc/test-login.ts'
import { signingKeyRoutes, type SigningKeyDeps } from './gpg.ts'
import {
  getSettings,
  getSettingsNextSync,
  patchSettings,
  postSettingsTestEmail,
  postSettingsTestLdap,
  postSettingsTestOidc,
  postSettingsTestWebhook,
} from './settings.contract.ts'

export interface SettingsDeps {
  settings: Pick<SettingsStore, 'current' | 'masked' | 'patch' | 'patchSection'>
  audit: Pick<AuditLog, 'record'>
}

export function settingsRoutes(
  deps: SettingsDeps & {
    notifier: Pick<Notifier, 'testWebhook' | 'testMail'>
    directory: Pick<Directory, 'test'>
    testOidc(): Promise<OidcTest>
    /** when the job `sync` runs; null while it is switched off */
    nextSync(): string | null
    signing: SigningKeyDeps
  },
): Route[] {
  return [
    handle(getSettings, async ({ reply }) => {
      const document = deps.settings.masked()
      return tagged(reply, document._meta.revision, document)
    }),
    handle(patchSettings, async (call) => {
      const { document, changedKeys } = await deps.settings.patch(call.body, call.caller.name, unchanged(call.raw))
      await recordChange(deps.audit, call, changedKeys)
      return tagged(call.reply, document._meta.revision, document)
    }),
    handle(postSettingsTestWebhook, (call) => report(deps.audit, call, 'webhook', deps.notifier.testWebhook)),
    handle(postSettingsTestEmail, (call) => report(deps.audit, call, 'email', deps.notifier.testMail)),
    handle(postSettingsTestLdap, (call) => report(deps.audit, call, 'ldap', deps.directory.test)),
    handle(postSettingsTestOidc, (call) => report(deps.audit, call, 'oidc', deps.testOidc)),
    handle(getSettingsNextSync, async () => {
      const next_run = deps.nextSync()
      return { next_run, status: next_run === null ? 'disabled' : 'scheduled' }
    }),
    ...signingKeyRoutes(deps.audit, deps.signing),
  ]
}

/** Refuses a change if the settings changed since its sender read them and the request names the state that was read. */
export const unchanged =
  (request: FastifyRequest) =>
  ({ revision, updated_at, updated_by }: SettingsMeta): void =>
    requireMatch(request, revision, { revision, updated_at, updated_by })

/** A failing receiver is a result, not an error of the call (decisions, section 21). */
async function report<R extends TestResult>(
  audit: SettingsDeps['audit'],
  { caller, origin }: Pick<SignedCall<object, object, object>, 'caller' | 'origin'>,
  what: 'webhook' | 'email' | 'ldap' | 'oidc',
  test: (by: string) => Promise<R>,
): Promise<R> {
  const result = await test(caller.name)
  await audit.record({
    action: 'SETTINGS_TEST',
    result: result.status === 'ok' ? 'SUCCESS' : 'FAILURE',
    user: caller.name,
    detail: `${what}: ${result.message}`,
    outcome: result.status,
    ...origin,
  })
  return result
}

/** Records who changed which settings. Values are left out because some are secrets. */
export async function recordChange(
  audit: SettingsDeps['audit'],
  call: Pick<SignedCall<object, object, object>, 'caller' | 'origin'>,
  changedKeys: string[],
): Promise<void> {
  if (changedKeys.length === 0) return
  await audit.record({
    action: 'SETTINGS_CHANGE',
    result: 'SUCCESS',
    user: call.caller.name,
    detail: `changed ${changedKeys.join(', ')}`,
    ip: call.origin.ip,
    requestId: call.origin.requestId,
    extra: { changed: changedKeys },
  })
}
