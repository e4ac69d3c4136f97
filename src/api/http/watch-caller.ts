// Checks again and again that the caller of a stream may still read it.
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../domain/caller.ts'
import { mayAccess, type Access, type Role } from '../../domain/roles.ts'

export type Authenticate = (authorization: string | undefined) => Promise<Caller>

export interface CallerWatch {
  /** the caller's rights at the last check */
  role(): Role
  /** Checks now instead of at the next time. */
  check(): void
  stop(): void
}

/** How often an open stream checks its caller, in milliseconds. */
const RECHECK_MS = 15_000

/** @param onEnd called when the credential expired or was revoked, or its owner lost the right */
export function watchCaller(
  authenticate: Authenticate,
  { headers: { authorization }, caller }: Pick<FastifyRequest, 'headers' | 'caller'>,
  access: Access,
  onEnd: () => void,
): CallerWatch {
  let role = caller?.role ?? 'reader'
  const check = () => {
    authenticate(authorization).then(
      (now) => {
        role = now.role
        if (!mayAccess(role, access)) onEnd()
      },
      () => onEnd(),
    )
  }
  const timer = setInterval(check, RECHECK_MS)
  return { role: () => role, check, stop: () => clearInterval(timer) }
}
