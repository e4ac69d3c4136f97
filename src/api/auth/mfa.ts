// The endpoints of the second factor. Each handler is one call to `accounts`.
import type { Mfa } from '../../accounts/mfa.ts'
import type { SecondStep } from '../../accounts/second-step.ts'
import { goneSignal } from '../http/gone.ts'
import {
  deleteAuthUsersUsernameMfa,
  postAuthMfaAuthenticate,
  postAuthMfaConfirm,
  postAuthMfaDisable,
  postAuthMfaRecoveryCodes,
  postAuthMfaSetup,
} from './mfa.contract.ts'
import { handle, type Route } from '../http/route.ts'

export interface MfaDeps {
  mfa: Mfa
  secondStep: SecondStep
}

export function mfaRoutes({ mfa, secondStep }: MfaDeps): Route[] {
  return [
    handle(postAuthMfaSetup, ({ caller }) => mfa.setup(caller)),
    handle(postAuthMfaConfirm, ({ caller, body, origin }) => mfa.confirm(caller, body.totp_code, origin)),
    handle(postAuthMfaAuthenticate, ({ body, origin, reply }) => secondStep.complete(body, origin, goneSignal(reply))),
    handle(postAuthMfaDisable, ({ caller, body, origin, reply }) =>
      mfa.disable(caller, body, origin, goneSignal(reply)),
    ),
    handle(postAuthMfaRecoveryCodes, ({ caller, body, origin, reply }) =>
      mfa.replaceRecoveryCodes(caller, body, origin, goneSignal(reply)),
    ),
    handle(deleteAuthUsersUsernameMfa, ({ caller, params, origin }) => mfa.reset(caller, params.username, origin)),
  ]
}
