// Declarations of the endpoints of the second factor, below `/auth`.
import Type from 'typebox'
import { DoneSchema, LoginSchema, Typed, UserPath } from './schemas.ts'
import { declare } from '../http/route.ts'

export const tag = 'auth'

const Code = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'six digits of the authenticator app; where a factor is in force also a recovery code',
})
const Proof = Type.Object({ totp_code: Type.Optional(Code), password: Type.Optional(Typed) }, { title: 'Proof' })
const RecoveryCodes = Type.Object(
  {
    status: Type.String(),
    message: Type.String(),
    recovery_codes: Type.Array(Type.String(), { description: 'each works once; only this answer shows them' }),
  },
  { title: 'RecoveryCodes' },
)
const PROVEN = ['not_found', 'wrong_code', 'wrong_password', 'external_account'] as const

export const postAuthMfaSetup = declare({
  method: 'POST',
  path: '/auth/mfa/setup',
  tag,
  summary: 'Begin to set up one-time codes; /auth/mfa/confirm puts them in force',
  access: 'reader+',
  limit: 'credentials',
  flags: { sessionOnly: true, enrolment: true },
  answer: Type.Object(
    {
      secret: Type.String({ description: 'base32' }),
      uri: Type.String({ description: 'otpauth://' }),
      qr_code: Type.String({ description: 'data URI of a PNG' }),
      qr_code_base64: Type.String({ description: 'the PNG alone' }),
      issuer: Type.String(),
      username: Type.String(),
    },
    { title: 'MfaSetup' },
  ),
  problems: ['already_exists'],
})

export const postAuthMfaConfirm = declare({
  method: 'POST',
  path: '/auth/mfa/confirm',
  tag,
  summary: 'Put the codes in force; the answer carries the recovery codes',
  example: { totp_code: '492039' },
  access: 'reader+',
  limit: 'credentials',
  flags: { sessionOnly: true, enrolment: true },
  body: Type.Object({ totp_code: Code }),
  answer: RecoveryCodes,
  problems: ['not_found', 'wrong_code'],
})

export const postAuthMfaAuthenticate = declare({
  method: 'POST',
  path: '/auth/mfa/authenticate',
  tag,
  summary: 'Second step of a login: exchange the mfa_token and a code for a session',
  example: { mfa_token: 'eyJhbGciOiJIUzI1NiJ9.e30.x', totp_code: '492039' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({ mfa_token: Typed, totp_code: Code }),
  answer: LoginSchema,
  problems: ['unauthorized'],
})

export const postAuthMfaDisable = declare({
  method: 'POST',
  path: '/auth/mfa/disable',
  tag,
  summary: 'Log in without codes from now on; needs a code or the password',
  example: { totp_code: '492039', password: 'correct-Horse-7' },
  access: 'reader+',
  limit: 'credentials',
  flags: { sessionOnly: true },
  body: Proof,
  answer: DoneSchema,
  problems: PROVEN,
})

export const postAuthMfaRecoveryCodes = declare({
  method: 'POST',
  path: '/auth/mfa/recovery-codes',
  tag,
  summary: 'Replace the recovery codes; needs a code or the password',
  example: { totp_code: '492039', password: 'correct-Horse-7' },
  access: 'reader+',
  limit: 'credentials',
  flags: { sessionOnly: true },
  body: Proof,
  answer: RecoveryCodes,
  problems: PROVEN,
})

export const deleteAuthUsersUsernameMfa = declare({
  method: 'DELETE',
  path: '/auth/users/{username}/mfa',
  tag,
  summary: 'Remove the second factor of another user, who lost it',
  access: 'admin',
  action: 'never',
  params: UserPath,
  answer: DoneSchema,
  problems: ['not_found'],
})
