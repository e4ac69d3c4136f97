// GET and PATCH /settings: the runtime settings, secrets masked. The declaration in `domain/settings.ts` validates.
import Type from 'typebox'
import { SettingsSchema } from '../domain/settings.ts'
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
  }),
})

/** A partial document; the store checks it key by key, because flat keys and `***` have no place in a schema. */
export const PartialDocument = Type.Object({}, { additionalProperties: true })

export function settingsRoutes(parts: SettingsParts): Route[] {
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
  ]
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
