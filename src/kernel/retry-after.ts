// How long a server asks its clients to wait.

/**
 * The wait of a `Retry-After` header in milliseconds; the header has seconds, or a date (RFC 9110, section 10.2.3).
 * @returns null without a readable header
 */
export function retryAfterMs(value: string | string[] | null | undefined): number | null {
  if (typeof value !== 'string') return null
  const ms = /^[0-9]{1,9}$/.test(value) ? Number(value) * 1000 : new Date(value).getTime() - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
