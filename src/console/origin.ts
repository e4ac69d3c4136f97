// Whether a request may use the cookie of the session. Pure. Cookies ignore ports and a site has many hosts, so `SameSite` alone does
// not keep other services of this host from sending requests (RFC 6265bis, section 8.8).
import type { IncomingHttpHeaders } from 'node:http'

const SAFE = new Set(['GET', 'HEAD'])

export const isSafe = (method: string | undefined) => SAFE.has(method ?? '')

/**
 * Browsers send `Origin` with every request that changes something (Fetch, section 3.2). A request without it, or from
 * another origin, does not come from a page of the console.
 * @param own the address under which the client reached the console, and its configured addresses
 */
export function isOwnOrigin(headers: IncomingHttpHeaders, own: readonly string[]): boolean {
  const { origin } = headers
  return typeof origin === 'string' && own.some((address) => originOf(address) === origin.toLowerCase())
}

function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null
}
