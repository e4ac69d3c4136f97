import type { AttemptDeps } from './attempts.ts'
import type { Result } from './problem.ts'

export type Opened = Result<Response>

/** What the other parts of the client send requests with. */
export interface Transport {
  /** One try. Redirects are not followed: they would carry the credential elsewhere, or make a GET of a POST. */
  send(method: string, path: string, init: RequestInit & { duplex?: 'half' }): Promise<Opened>
  deps: AttemptDeps
}
