// Paths that an upstream names: they must stay inside its tree.
import { refused } from '../formats/catalog.ts'

const LONGEST_PATH = 1024

/**
 * @param what names the place that has the path, for the sentence
 * @throws Problem('upstream_error') for a path that is absolute, leads out of its tree or holds control characters, also
 *   when it is percent-encoded
 */
export function checkPath(path: string, what: string): void {
  const decoded = decode(path)
  const isBad = [path, decoded].some(
    (one) =>
      one === '' ||
      one.length > LONGEST_PATH ||
      one.startsWith('/') ||
      /^[a-z][a-z0-9+.-]*:/i.test(one.split('/')[0] ?? '') ||
      /[\x00-\x1f\x7f\\\u202a-\u202e\u2066-\u2069]/.test(one) ||
      one.split('/').some((segment) => segment === '' || segment === '.' || segment === '..'),
  )
  if (isBad) throw refused('path', `${what} names a file outside its tree: ${JSON.stringify(path.slice(0, 120))}`)
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // A percent sign that encodes nothing.
    return path
  }
}

/**
 * The address of a path below a base that ends in `/`. What the index already encoded stays as it is.
 * @throws Problem('upstream_error') as `checkPath`
 */
export function urlBelow(base: string, path: string): string {
  checkPath(path, base)
  const encoded = path
    .split('/')
    .map((segment) =>
      encodeURIComponent(segment)
        .replace(/%25([0-9A-Fa-f]{2})/g, '%$1')
        .replace(/%2B/gi, '+'),
    )
    .join('/')
  const url = new URL(base)
  // A query belongs to the address that was configured, such as a token.
  url.pathname = `${url.pathname.replace(/\/?$/, '/')}${encoded}`
  return url.href
}
