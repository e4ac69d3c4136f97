// The cookies of the console. Pure. RFC 6265bis, sections 4.1 and 5.4.
import type { IncomingHttpHeaders } from 'node:http'

export const COOKIES = {
  /** the JWT of the session */
  session: 'gatehouse_session',
  /** the JWT between password and second factor */
  mfa: 'gatehouse_mfa',
} as const
export type CookieName = keyof typeof COOKIES

/**
 * `__Host-` makes browsers refuse the cookie unless it came over TLS, from this host, for all paths. Over plain HTTP
 * browsers would drop it, so the plain name is used there, and only there: a cookie under the other name is not read.
 */
function nameOf(name: CookieName, secure: boolean): string {
  return `${secure ? '__Host-' : ''}${COOKIES[name]}`
}

/** @returns the value of a cookie; null when it is missing or sent twice, which no browser does for one path */
export function readCookie(headers: IncomingHttpHeaders, name: CookieName, secure: boolean): string | null {
  const wanted = `${nameOf(name, secure)}=`
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(wanted))
  const [value] = found.map((pair) => pair.slice(wanted.length))
  return found.length === 1 && value !== undefined && /^[A-Za-z0-9._-]+$/.test(value) ? value : null
}

/**
 * A `Set-Cookie` field. Not readable for scripts, never sent with requests of other sites.
 * @param value null removes the cookie
 */
export function cookie(
  name: CookieName,
  value: string | null,
  { secure, seconds }: { secure: boolean; seconds: number },
): string {
  const attributes = ['Path=/', `Max-Age=${value === null ? 0 : seconds}`, 'HttpOnly', 'SameSite=Strict']
  return [`${nameOf(name, secure)}=${value ?? ''}`, ...attributes, ...(secure ? ['Secure'] : [])].join('; ')
}
