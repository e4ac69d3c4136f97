import type { AttemptDeps } from './attempts.ts'
import type { Result } from './problem.ts'

export type Opened = Result<Response>

/** Sends requests for the other parts of the client. */
export interface Transport {
  /** One try. Redirects are not followed: they would send the credential elsewhere, or turn a POST into a GET. */
  send(method: string, path: string, init: RequestInit & { duplex?: 'half' }): Promise<Opened>
  deps: AttemptDeps
}
