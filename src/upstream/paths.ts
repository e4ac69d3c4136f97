// Checks paths named by an upstream: they must stay inside its tree.
import { refused } from '../formats/catalog.ts'

const LONGEST_PATH = 1024

/**
 * @param what the place that contains the path, for the sentence
 * @throws Problem('upstream_error') for a path that is absolute, leads out of its tree or contains control characters, also
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
    // A percent sign without an encoded character.
    return path
  }
}

/**
 * Whether a package is named by a complete address, or by a path that leaves the repository with `..`, as
 * `createrepo_c --baseurl` and `--location-prefix` write them.
 */
export function isElsewhere(path: string): boolean {
  return /^https?:\/\//i.test(path) || path.split('/').includes('..')
}

/**
 * The address of such a package. Only its scheme is checked here: the client decides which hosts it may contact.
 * @param base of the repository
 * @throws Problem('upstream_error') for a path that names no file, contains control characters or hides its dots
 */
export function urlElsewhere(base: string, path: string): string {
  const whole = /^https?:\/\//i.test(path)
  const below = (whole ? path.replace(/^[^/]*\/\/[^/]*\/?/, '') : path).split('/').filter((segment) => segment !== '..')
  checkPath(below.join('/'), base)
  if (whole) return new URL(path).href
  const url = new URL(base)
  const up = path.split('/').map((segment) => (segment === '..' ? segment : encoded(segment, true)))
  url.pathname = new URL(up.join('/'), `${url.origin}${url.pathname.replace(/\/?$/, '/')}`).pathname
  return url.href
}

/**
 * The address of a path below a base that ends in `/`.
 * @param isEncoded true: text that the index already encoded stays as it is (rpm); false: a `%` is part of the name, as in apt
 * @throws Problem('upstream_error') as `checkPath`
 */
export function urlBelow(base: string, path: string, isEncoded = false): string {
  checkPath(path, base)
  const url = new URL(base)
  // A query, such as a token, belongs to the configured address.
  url.pathname = `${url.pathname.replace(/\/?$/, '/')}${path
    .split('/')
    .map((segment) => encoded(segment, isEncoded))
    .join('/')}`
  return url.href
}

function encoded(segment: string, isEncoded: boolean): string {
  const url = encodeURIComponent(segment).replace(/%2B/gi, '+')
  return isEncoded ? url.replace(/%25([0-9A-Fa-f]{2})/g, '%$1').replace(/%2B/gi, '+') : url
}
