// How long a server asks its clients to wait.

/**
 * Milliseconds that a header `Retry-After` asks for: seconds, or a date (RFC 9110, section 10.2.3).
 * @returns null without a header that can be read
 */
export function retryAfterMs(value: string | string[] | null | undefined): number | null {
  if (typeof value !== 'string') return null
  const ms = /^[0-9]{1,9}$/.test(value) ? Number(value) * 1000 : new Date(value).getTime() - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
