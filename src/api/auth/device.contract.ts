// Declarations of the sign-in of programs through a person who is signed in elsewhere (RFC 8628), below `/auth/device`.
import Type from 'typebox'
import { LINE_PATTERN } from '../../accounts/user.ts'
import { declare } from '../http/route.ts'
import { TimeSchema } from '../http/schemas.ts'
import { LoginSchema } from './schemas.ts'

const tag = 'auth'

const UserCode = Type.Object({ user_code: Type.String({ minLength: 1, maxLength: 32, pattern: LINE_PATTERN }) })

export const postAuthDevice = declare({
  method: 'POST',
  path: '/auth/device',
  tag,
  summary: 'Begin the sign-in of a program: a code for a person to approve in the console',
  example: { client: 'gatehouse on build-7' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({
    client: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: LINE_PATTERN,
      description: 'what asks, for the person',
    }),
  }),
  answer: Type.Object({
    device_code: Type.String({ description: 'kept by the program' }),
    user_code: Type.String({ description: 'shown to the person' }),
    verification_uri: Type.String({ description: 'where the person types it' }),
    verification_uri_complete: Type.String(),
    expires_in: Type.Integer({ description: 'seconds' }),
    interval: Type.Integer({ description: 'seconds between two requests for the session' }),
  }),
  problems: ['overloaded'],
})

export const postAuthDeviceToken = declare({
  method: 'POST',
  path: '/auth/device/token',
  tag,
  summary: 'Ask for the session of an approved sign-in; it is given once',
  example: { device_code: 'GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS' },
  access: 'public',
  // The code cannot be guessed, and programs ask twelve times a minute.
  limit: 'reads',
  body: Type.Object({ device_code: Type.String({ minLength: 1, maxLength: 128, pattern: LINE_PATTERN }) }),
  answer: LoginSchema,
  problems: ['authorization_pending', 'slow_down', 'access_denied', 'expired_token'],
})

export const getAuthDeviceUserCode = declare({
  method: 'GET',
  path: '/auth/device/{user_code}',
  tag,
  summary: 'What asks for a session with this code',
  access: 'reader+',
  flags: { sessionOnly: true },
  limit: 'credentials',
  params: UserCode,
  answer: Type.Object({ client: Type.String(), ip: Type.String(), created_at: TimeSchema, expires_at: TimeSchema }),
  problems: ['not_found'],
})

export const postAuthDeviceUserCode = declare({
  method: 'POST',
  path: '/auth/device/{user_code}',
  tag,
  summary: 'Give a session to what asks for it with this code, or refuse it',
  example: { approve: true },
  access: 'reader+',
  flags: { sessionOnly: true },
  limit: 'credentials',
  params: UserCode,
  body: Type.Object({ approve: Type.Boolean() }),
  answer: Type.Object({ status: Type.Enum(['approved', 'denied']) }),
  problems: ['not_found'],
})
