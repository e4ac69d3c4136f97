// /settings: the runtime settings, secrets masked, and tests of what they lead to. The declaration in `domain/settings.ts` validates.
import Type from 'typebox'
import { SettingsSchema } from '../domain/settings.ts'
import type { Notifier, TestResult } from '../notify/notifier.ts'
import type { SettingsStore } from '../settings/settings.ts'
import type { AuditLog } from '../store/audit-log.ts'
import { route, type Route, type SignedCall } from './route.ts'
import { Nullable, TimeSchema } from './schemas.ts'

export interface SettingsParts {
  settings: Pick<SettingsStore, 'current' | 'masked' | 'patch' | 'patchSection'>
  audit: Pick<AuditLog, 'record'>
}

const SettingsDocumentSchema = Type.Object({
  ...SettingsSchema.properties,
  _meta: Type.Object({
    repo_format: Type.String(),
    edition: Type.String(),
    updated_at: Nullable(TimeSchema),
    updated_by: Nullable(Type.String()),
    revision: Type.Integer(),
    inactive: Type.Array(Type.String()),
  }),
})

const TestResultSchema = Type.Object({
  status: Type.Enum(['ok', 'error']),
  http_status: Type.Optional(Type.Integer()),
  message: Type.String(),
})

/** A partial document; the store checks it key by key, because flat keys and `***` have no place in a schema. */
export const PartialDocument = Type.Object({}, { additionalProperties: true })

export function settingsRoutes(
  parts: SettingsParts & { notifier: Pick<Notifier, 'testWebhook' | 'testMail'> },
): Route[] {
  return [
    route({
      method: 'GET',
      path: '/settings',
      tag: 'settings',
      summary: 'All runtime settings; secrets are shown as ***',
      access: 'admin',
      answer: SettingsDocumentSchema,
      problems: [],
      handle: async () => parts.settings.masked(),
    }),
    route({
      method: 'PATCH',
      path: '/settings',
      tag: 'settings',
      summary: 'Changes runtime settings, all of the body or nothing',
      access: 'admin',
      body: PartialDocument,
      answer: SettingsDocumentSchema,
      problems: ['validation_error', 'unknown_key'],
      async handle(call) {
        const { document, changedKeys } = await parts.settings.patch(call.body, call.caller.name)
        await recordChange(parts.audit, call, changedKeys)
        return document
      },
    }),
    testRoute(parts, 'webhook', 'Posts the event TEST to the webhook and says how it went', parts.notifier.testWebhook),
    testRoute(parts, 'email', 'Mails a test to all receivers of alerts and says how it went', parts.notifier.testMail),
  ]
}

/** A receiver that fails is a result, not an error of the call (decisions, section 21). */
function testRoute(
  { audit }: SettingsParts,
  what: 'webhook' | 'email',
  summary: string,
  test: (by: string) => Promise<TestResult>,
): Route {
  return route({
    method: 'POST',
    path: `/settings/test-${what}`,
    tag: 'settings',
    summary,
    access: 'admin',
    answer: TestResultSchema,
    problems: ['validation_error'],
    async handle({ caller, origin }) {
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
    },
  })
}

/** Tells who changed which settings, never to what: some are secrets. */
export async function recordChange(
  audit: SettingsParts['audit'],
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
