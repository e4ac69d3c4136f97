// The page of the console. Every answer has its own nonce and contains the prefix under which a proxy serves the console.
import { randomBytes } from 'node:crypto'

/** As in vite.config.ts of the console. */
const NONCE = /__NONCE__/g
const BASE = '<base href="/"'

export interface Page {
  html: string
  policy: string
}

/**
 * @param template index.html of the build
 * @param prefix path below which a trusted proxy serves the console, such as `/gatehouse/`
 */
export function renderPage(template: string, prefix: string): Page {
  const nonce = randomBytes(16).toString('base64')
  return {
    html: template.replace(NONCE, nonce).replace(BASE, `<base href="${prefix}"`),
    policy: [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "font-src 'self'",
      "connect-src 'self'",
      "base-uri 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join('; '),
  }
}

/**
 * The value of `X-Forwarded-Prefix` of a trusted proxy as a path that ends with a slash. It becomes part of the page, so anything
 * but plain path segments is ignored.
 */
export function prefixOf(field: string | string[] | undefined): string {
  const text = typeof field === 'string' ? field.trim() : ''
  if (!/^(\/[A-Za-z0-9._~-]+)+\/?$/.test(text) || /\/\.{1,2}(\/|$)/.test(text)) return '/'
  return text.endsWith('/') ? text : `${text}/`
}
