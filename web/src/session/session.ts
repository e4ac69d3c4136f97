// Who is signed in. The session itself is a cookie that no script can read; these are the facts that the page knows.
import { queryOptions, useQuery } from '@tanstack/react-query'
import { mayAccess, type Access } from '../../../src/domain/roles.ts'
import type { Answered } from '../api/api.ts'
import { answeredProblem, thrownProblem } from '../../../client/src/problem.ts'
import { base } from '../api/api.ts'
import { ApiError } from '../api/problem.ts'

export interface Session {
  user: Answered<'GET /auth/me'> | null
  /** seconds until the session ends, as of the answer */
  expires_in: number | null
  needs_setup: boolean
  setup_token_required: boolean
  sso: { enabled: boolean; provider_name?: string }
  /** whether the browser reached the console over TLS */
  secure: boolean
  version: string
}

type SessionPath = '' | '/mfa' | '/oidc' | '/setup' | '/refresh'

/** Calls a route of the session on this console. @throws ApiError */
export async function session<T>(
  method: 'GET' | 'POST' | 'DELETE',
  path: SessionPath,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const response = await fetch(new URL(`session${path}`, base), {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  }).catch((error: unknown) => error)
  if (!(response instanceof Response)) throw new ApiError(thrownProblem(response, undefined))
  if (!response.ok) throw new ApiError(await answeredProblem(response))
  return (await response.json()) as T
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => session<Session>('GET', ''),
  staleTime: 60_000,
})

export function useSession(): Session | undefined {
  return useQuery(sessionQuery).data
}

/** Whether the signed-in person may use a route with this access. Only hides what would be refused. */
export function useMay(access: Access): boolean {
  const role = useSession()?.user?.role
  return role !== undefined && mayAccess(role, access)
}
