// Declarations of the endpoints below `/setup`.
import Type from 'typebox'
import { USERNAME_PATTERN } from '../../accounts/user.ts'
import { Email, FullName, NewPassword } from '../auth/schemas.ts'
import { TimeSchema } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

export const tag = 'setup'

export const CheckSchema = Type.Object({ ok: Type.Boolean(), detail: Type.String() }, { title: 'PreflightCheck' })

export const getSetupStatus = declare({
  method: 'GET',
  path: '/setup/status',
  tag,
  summary: 'Whether an admin exists',
  access: 'public',
  answer: Type.Object(
    {
      admin_exists: Type.Boolean(),
      setup_done: Type.Boolean(),
      needs_setup: Type.Boolean(),
      setup_token_required: Type.Boolean(),
      checked_at: TimeSchema,
    },
    { title: 'SetupStatus' },
  ),
  problems: [],
})

export const postSetup = declare({
  method: 'POST',
  path: '/setup',
  tag,
  summary: 'Create the first admin; needs the header X-Setup-Token when a setup token is configured',
  example: { admin_username: 'admin', admin_password: 'correct-Horse-7' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({
    admin_username: Type.String({ pattern: USERNAME_PATTERN }),
    admin_password: NewPassword,
    admin_email: Type.Optional(Email),
    admin_full_name: Type.Optional(FullName),
    app_url: Type.Optional(Type.String({ maxLength: 2048, description: 'http or https address of the console' })),
  }),
  answer: Type.Object(
    {
      admin_username: Type.String(),
      access_token: Type.String(),
      token_type: Type.String(),
      message: Type.String(),
    },
    { title: 'SetupAnswer' },
  ),
  problems: ['setup_done', 'setup_token_invalid', 'weak_password', 'already_exists'],
})

export const getSetupPreflight = declare({
  method: 'GET',
  path: '/setup/preflight',
  tag,
  summary: 'Checks of the environment of the service; public until an admin exists, then for admins',
  access: 'public',
  answer: Type.Object(
    {
      checks: Type.Object({
        database: CheckSchema,
        disk_space: CheckSchema,
        antivirus: CheckSchema,
        vulnscan: CheckSchema,
        secrets: CheckSchema,
        tls: CheckSchema,
      }),
    },
    { title: 'Preflight' },
  ),
  problems: ['unauthorized', 'forbidden'],
})
