// Declarations of /settings, and of the tests of configured receivers.
import Type from 'typebox'
import { SettingsSchema } from '../domain/settings.ts'
import { declare } from './route.ts'
import { Nullable, TimeSchema } from './schemas.ts'

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

/** A partial document. The settings store checks each key, because a schema cannot express flat keys and `***`. */
export const PartialDocument = Type.Object({}, { additionalProperties: true })

export const getSettings = declare({
  method: 'GET',
  path: '/settings',
  tag: 'settings',
  summary: 'All runtime settings; secrets are shown as ***',
  access: 'admin',
  answer: SettingsDocumentSchema,
  problems: [],
})

export const patchSettings = declare({
  method: 'PATCH',
  path: '/settings',
  tag: 'settings',
  summary: 'Change runtime settings; applies the whole body or nothing',
  access: 'admin',
  action: 'never',
  body: PartialDocument,
  answer: SettingsDocumentSchema,
  problems: ['validation_error', 'unknown_key'],
})

const testing = { method: 'POST', tag: 'settings', access: 'admin', answer: TestResultSchema } as const

export const postSettingsTestWebhook = declare({
  ...testing,
  path: '/settings/test-webhook',
  summary: 'Post the event TEST to the webhook and return the result',
  problems: ['validation_error'],
})

export const postSettingsTestEmail = declare({
  ...testing,
  path: '/settings/test-email',
  summary: 'Send a test mail to all recipients of alerts and return the result',
  problems: ['validation_error'],
})

export const postSettingsTestLdap = declare({
  ...testing,
  path: '/settings/test-ldap',
  summary: 'Connect to the directory as a login does and return the result',
  answer: Type.Object({
    ...TestResultSchema.properties,
    server_info: Type.Optional(
      Type.Object({
        tls: Type.Boolean(),
        vendor: Nullable(Type.String()),
        naming_contexts: Type.Array(Type.String()),
      }),
    ),
  }),
  problems: [],
})
