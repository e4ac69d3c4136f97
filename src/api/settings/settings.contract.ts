// Declarations of /settings, and of the tests of configured receivers.
import Type from 'typebox'
import { SettingsSchema } from '../../domain/settings.ts'
import { declare } from '../http/route.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

/** The sections of the settings, each a named schema. */
export const SECTIONS = Object.fromEntries(
  Object.entries(SettingsSchema.properties).map(([name, schema]) => [
    name,
    // An answer may get further keys.
    schema.type === 'object' ? { ...schema, title: sectionTitle(name), additionalProperties: undefined } : schema,
  ]),
) as unknown as typeof SettingsSchema.properties

function sectionTitle(name: string): string {
  return `${name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Settings`
}

const SettingsDocumentSchema = Type.Object(
  {
    ...SECTIONS,
    _meta: Type.Object({
      repo_format: Type.String(),
      edition: Type.String(),
      updated_at: Nullable(TimeSchema),
      updated_by: Nullable(Type.String()),
      revision: Type.Integer(),
      inactive: Type.Array(Type.String()),
    }),
  },
  { title: 'SettingsDocument' },
)

const TestResultSchema = Type.Object(
  {
    status: Type.Enum(['ok', 'error']),
    http_status: Type.Optional(Type.Integer()),
    message: Type.String(),
  },
  { title: 'TestResult' },
)

/** A partial document. The settings store checks each key, because a schema cannot express flat keys and `***`. */
export const PartialDocument = Type.Object({}, { additionalProperties: true })

export const getSettings = declare({
  method: 'GET',
  path: '/settings',
  tag: 'settings',
  summary: 'All runtime settings; secrets are shown as ***',
  access: 'admin',
  edited: 'handler',
  answer: SettingsDocumentSchema,
  problems: [],
})

export const patchSettings = declare({
  method: 'PATCH',
  path: '/settings',
  tag: 'settings',
  summary: 'Change runtime settings; applies the whole body or nothing, and with `If-Match` only to that state',
  example: { security: { forbid_self_approval: true } },
  access: 'admin',
  edited: 'handler',
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
  answer: Type.Intersect([
    TestResultSchema,
    Type.Object({
      server_info: Type.Optional(
        Type.Object({
          tls: Type.Boolean(),
          vendor: Nullable(Type.String()),
          naming_contexts: Type.Array(Type.String()),
        }),
      ),
    }),
  ]),
  problems: [],
})

export const postSettingsTestOidc = declare({
  ...testing,
  path: '/settings/test-oidc',
  summary: 'Read the identity provider of the settings, its keys, and whether it refuses the beginning of a login',
  answer: Type.Intersect([
    TestResultSchema,
    Type.Object({
      checks: Type.Array(
        Type.Object(
          {
            name: Type.String({ description: '`settings`, `discovery`, `keys`, `redirect_uri` or `client`' }),
            ok: Type.Boolean(),
            detail: Type.String(),
          },
          { title: 'OidcCheck' },
        ),
      ),
    }),
  ]),
  problems: [],
})

export const getSettingsNextSync = declare({
  method: 'GET',
  path: '/settings/next-sync',
  tag: 'settings',
  summary: 'When the catalogs of security sources are read next',
  access: 'admin',
  answer: Type.Object({ next_run: Nullable(TimeSchema), status: Type.Enum(['scheduled', 'disabled']) }),
  problems: [],
})

const SigningKeySchema = Type.Object(
  {
    keys: Type.Array(
      Type.Object(
        {
          type: Type.Enum(['pub', 'sub']),
          algo: Type.String(),
          key_id: Type.String(),
          fingerprint: Type.String(),
          created: TimeSchema,
          expires: Nullable(TimeSchema),
          uids: Type.Array(Type.String()),
        },
        { title: 'OpenPgpKey' },
      ),
    ),
    public_key_armored: Type.String(),
  },
  { title: 'SigningKey' },
)

export const getSettingsGpg = declare({
  method: 'GET',
  path: '/settings/gpg',
  tag: 'settings',
  summary: 'The OpenPGP key that signs the repositories: the primary key, its subkeys, and the public key itself',
  access: 'admin',
  answer: SigningKeySchema,
  problems: [],
})

export const postSettingsGpgGenerate = declare({
  method: 'POST',
  path: '/settings/gpg/generate',
  tag: 'settings',
  summary:
    'Replace the signing key by a new one (`rotate: true`) and sign all distributions again; clients need the new key',
  example: { rotate: true },
  access: 'admin',
  action: 'never',
  flags: { needsLeader: true, optionalBody: true },
  body: Type.Object({ rotate: Type.Optional(Type.Boolean()) }),
  answer: Type.Intersect([SigningKeySchema, Type.Object({ failed: Type.Array(Type.String()) })]),
  problems: ['signing_key_exists', 'already_running', 'task_cancelled'],
})
