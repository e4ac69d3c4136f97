// Schemas of the bodies and answers of the endpoints below `/auth`.
import Type from 'typebox'
import { EMAIL_MAX, EMAIL_PATTERN, FULL_NAME_MAX, LINE_PATTERN } from '../../accounts/user.ts'
import { ROLES } from '../../domain/roles.ts'
import { ScopesSchema } from '../../domain/scopes-schema.ts'
import { Nullable, RoleSchema, TimeSchema } from '../http/schemas.ts'

/** A user name, password or token that is compared with a stored one. Only its length is checked. */
export const Typed = Type.String({ maxLength: 1024 })
/** Only its length is checked here: the password policy answers `weak_password`. */
export const NewPassword = Type.String({
  maxLength: 1024,
  description: '8 to 128 characters, an uppercase letter, a digit or special character',
})
/** Only its length is checked here: an unknown role answers `invalid_role`. */
export const WantedRole = Type.String({ maxLength: 32, description: ROLES.join(', ') })
export const FullName = Type.String({ maxLength: FULL_NAME_MAX, pattern: LINE_PATTERN })
export const Email = Type.String({ maxLength: EMAIL_MAX, pattern: EMAIL_PATTERN })

const AuthSource = Type.Enum(['local', 'ldap', 'oidc'])

export const UserSchema = Type.Object(
  {
    id: Type.Integer(),
    username: Type.String(),
    role: RoleSchema,
    full_name: Type.String(),
    email: Type.String(),
    active: Type.Boolean(),
    auth_source: AuthSource,
    mfa_enabled: Type.Boolean(),
    suspended_at: Nullable(TimeSchema),
    created_at: TimeSchema,
    last_login: Nullable(TimeSchema),
  },
  { title: 'User' },
)
export const MeSchema = Type.Object(
  {
    username: Type.String(),
    role: RoleSchema,
    full_name: Nullable(Type.String()),
    email: Nullable(Type.String()),
    active: Type.Boolean(),
    auth_source: Nullable(AuthSource),
    mfa_enabled: Nullable(Type.Boolean()),
    created_at: Nullable(TimeSchema),
    last_login: Nullable(TimeSchema),
    scopes: Nullable(ScopesSchema),
    mfa_enrolment_required: Type.Boolean({ description: 'nothing but setting up a second factor works before that' }),
  },
  { title: 'Me' },
)
export const LoginSchema = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.String(),
    expires_in: Type.Integer({ description: 'seconds' }),
    mfa_required: Type.Boolean({ description: 'false' }),
  },
  { title: 'Session' },
)
/** The answer to a correct password or a login elsewhere: a session, or the request for a code. */
export const FirstStepSchema = Type.Object(
  {
    access_token: Type.String({ description: 'empty when a code is needed' }),
    token_type: Type.String(),
    expires_in: Type.Optional(Type.Integer({ description: 'seconds' })),
    mfa_required: Type.Boolean(),
    mfa_token: Type.Optional(Type.String({ description: 'for /auth/mfa/authenticate, when a code is needed' })),
  },
  { title: 'FirstStep' },
)
export const DoneSchema = Type.Object({ status: Type.String(), message: Type.String() }, { title: 'Done' })
export const TokenSchema = Type.Object(
  {
    id: Type.String(),
    token_id: Type.String(),
    name: Type.String(),
    role: RoleSchema,
    acts_as: RoleSchema,
    created_by: Type.String(),
    creator_active: Type.Boolean(),
    created_at: TimeSchema,
    last_used: Nullable(TimeSchema),
    expires_at: Nullable(TimeSchema),
    scopes: Nullable(ScopesSchema),
    active: Type.Boolean(),
    token_hint: Type.String(),
    publisher: Nullable(Type.String({ description: 'the trusted publisher whose CI job it is for' })),
  },
  { title: 'ApiToken' },
)
export const CreatedTokenSchema = Type.Object(
  {
    token: Type.String(),
    message: Type.String(),
    prefix: Type.String(),
    token_id: Type.String(),
    name: Type.String(),
    role: RoleSchema,
    expires_at: Nullable(TimeSchema),
    scopes: Nullable(ScopesSchema),
  },
  { title: 'CreatedApiToken' },
)
export const RolesSchema = Type.Object(
  {
    roles: Type.Record(
      Type.String(),
      Type.Object({
        label: Type.String(),
        description: Type.String(),
        color: Type.String(),
        permissions: Type.Array(Type.String()),
      }),
    ),
    order: Type.Array(RoleSchema),
  },
  { title: 'Roles' },
)
export const UserPath = Type.Object({ username: Type.String({ minLength: 1 }) })
export const TokenPath = Type.Object({ token_id: Type.String({ minLength: 1, maxLength: 64, pattern: LINE_PATTERN }) })
