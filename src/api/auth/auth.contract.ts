// Declarations of the endpoints below `/auth`.
import Type from 'typebox'
import { USERNAME_PATTERN } from '../../accounts/user.ts'
import {
  DoneSchema,
  Email,
  FirstStepSchema,
  FullName,
  LoginSchema,
  MeSchema,
  NewPassword,
  RolesSchema,
  Typed,
  UserPath,
  UserSchema,
  WantedRole,
} from './schemas.ts'
import { listOf } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

/** What administrators change of a user. */
const USER_EDITED = ['role', 'full_name', 'email', 'active']

export const tag = 'auth'

export const postAuthToken = declare({
  method: 'POST',
  path: '/auth/token',
  tag,
  summary: 'Log in with user name and password, as JSON or form encoded',
  example: { username: 'ada', password: 'correct-Horse-7' },
  access: 'public',
  limit: 'login',
  flags: { formBody: true },
  body: Type.Object({ username: Typed, password: Typed }),
  answer: FirstStepSchema,
  problems: ['unauthorized', 'ldap_unavailable'],
})

export const postAuthForgotPassword = declare({
  method: 'POST',
  path: '/auth/forgot-password',
  tag,
  summary: 'Request a link to set a new password; the answer does not show whether the account exists',
  example: { email: 'ada@example.com' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({ username: Type.Optional(Typed), email: Type.Optional(Typed) }),
  answer: DoneSchema,
  problems: [],
})

export const postAuthResetPassword = declare({
  method: 'POST',
  path: '/auth/reset-password',
  tag,
  summary: 'Set a new password with a single-use token',
  example: { token: '4xq2mPz0', new_password: 'battery-Staple-8' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({ token: Typed, new_password: NewPassword }),
  answer: DoneSchema,
  problems: ['reset_token_invalid', 'weak_password'],
})

export const getAuthRoles = declare({
  method: 'GET',
  path: '/auth/roles',
  tag,
  summary: 'The roles and what each may do',
  access: 'public',
  answer: RolesSchema,
  problems: [],
})

export const getAuthMe = declare({
  method: 'GET',
  path: '/auth/me',
  tag,
  summary: 'The owner of the credential',
  access: 'reader+',
  action: 'always',
  flags: { enrolment: true },
  answer: MeSchema,
  problems: [],
})

export const postAuthChangePassword = declare({
  method: 'POST',
  path: '/auth/change-password',
  tag,
  summary: 'Change your password; ends your other sessions',
  example: { current_password: 'correct-Horse-7', new_password: 'battery-Staple-8' },
  access: 'reader+',
  flags: { sessionOnly: true },
  body: Type.Object({ current_password: Typed, new_password: NewPassword }),
  answer: DoneSchema,
  problems: ['wrong_password', 'weak_password', 'external_account'],
})

export const postAuthLogout = declare({
  method: 'POST',
  path: '/auth/logout',
  tag,
  summary: 'End this session; `end_session_url` is where the browser ends that of the identity provider',
  access: 'reader+',
  flags: { sessionOnly: true, enrolment: true },
  answer: Type.Object({ status: Type.String(), end_session_url: Type.Optional(Type.String()) }),
  problems: [],
})

export const postAuthRefresh = declare({
  method: 'POST',
  path: '/auth/refresh',
  tag,
  summary: 'Exchange this session for a new one, until 12 hours after the login',
  access: 'reader+',
  flags: { sessionOnly: true, enrolment: true },
  answer: LoginSchema,
  problems: [],
})

export const getAuthUsers = declare({
  method: 'GET',
  path: '/auth/users',
  tag,
  summary: 'All users',
  access: 'admin',
  answer: listOf('users', UserSchema),
  problems: [],
})

export const getAuthUsersUsername = declare({
  method: 'GET',
  path: '/auth/users/{username}',
  tag,
  summary: 'A user',
  access: 'admin',
  edited: USER_EDITED,
  params: UserPath,
  answer: UserSchema,
  problems: ['not_found'],
})

export const postAuthUsers = declare({
  method: 'POST',
  path: '/auth/users',
  tag,
  summary: 'Create a user',
  example: {
    username: 'ada',
    password: 'correct-Horse-7',
    role: 'maintainer',
    full_name: 'Ada L.',
    email: 'ada@example.com',
  },
  access: 'admin',
  idempotencyKey: true,
  action: 'never',
  body: Type.Object(
    {
      username: Type.String({ pattern: USERNAME_PATTERN }),
      password: NewPassword,
      role: WantedRole,
      full_name: Type.Optional(FullName),
      email: Type.Optional(Email),
    },
    { title: 'NewUser' },
  ),
  success: 201,
  answer: UserSchema,
  problems: ['invalid_role', 'weak_password', 'already_exists'],
})

export const patchAuthUsersUsername = declare({
  method: 'PATCH',
  path: '/auth/users/{username}',
  tag,
  summary: 'Change the role, name, mail address or active state of a user',
  example: { role: 'uploader', active: true },
  access: 'admin',
  edited: USER_EDITED,
  action: 'never',
  params: UserPath,
  body: Type.Object(
    {
      role: Type.Optional(WantedRole),
      full_name: Type.Optional(FullName),
      email: Type.Optional(Email),
      active: Type.Optional(Type.Boolean()),
    },
    { title: 'UserFields' },
  ),
  answer: UserSchema,
  problems: ['invalid_role', 'self_role_change', 'self_deactivate', 'last_admin', 'not_found'],
})

export const deleteAuthUsersUsername = declare({
  method: 'DELETE',
  path: '/auth/users/{username}',
  tag,
  summary: 'Delete a user; revokes the API tokens they created',
  access: 'admin',
  edited: USER_EDITED,
  action: 'never',
  params: UserPath,
  answer: Type.Object({ status: Type.String(), username: Type.String() }),
  problems: ['self_delete', 'last_admin', 'not_found'],
})

export const postAuthUsersUsernameResetPassword = declare({
  method: 'POST',
  path: '/auth/users/{username}/reset-password',
  tag,
  summary: 'Set the password of a user; ends their sessions',
  example: { new_password: 'battery-Staple-8' },
  access: 'admin',
  action: 'never',
  params: UserPath,
  body: Type.Object({ new_password: NewPassword }),
  answer: DoneSchema,
  problems: ['weak_password', 'external_account', 'not_found'],
})
