// Converts a request target to a published name and refuses everything that is not a plain path. No file access.
import type { Mount } from './mounts.ts'

export interface Located {
  mount: Mount
  /** relative to the repositories' directory: `dists/jammy/InRelease` */
  path: string
  /** the name clients use, where `path` is inside a generation */
  publishedAs?: string
  /** left out where everything is public */
  admission?: Admission
}

/** What the client may read. */
export interface Admission {
  /** the private place; null for public files */
  place: string | null
  /** of `KnownAccess`: what was read in another one is not used */
  epoch: number
}

/** The key under which a file is kept in memory. */
export function keyOf({ path, admission }: Located): string {
  return admission ? `${admission.epoch} ${path}` : path
}

export type Refused = 'not_found' | 'malformed' | 'too_long'

/** Longer than any path in an index, shorter than PATH_MAX. */
const LONGEST_TARGET = 2048
const LONGEST_NAME = 255

/** Matches nearly every request: nothing to decode, no empty and no hidden segment. */
const ORDINARY = /^(?:\/[\w+~][\w.+~:^-]*)+$/

/** Control characters and encoded separators: no published name contains one. */

const NEVER_IN_A_NAME = /[\u0000-\u001f\u007f/\\]/

/** `http://host` before the path; every server must accept it (RFC 9112 section 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i

/**
 * Finds the file of a request target. Percent-encoding is decoded exactly once, per segment, so that an encoded
 * slash or dot cannot form a new segment. `+` is literal. Repeated slashes count as one.
 */
export function locate(target: string, mounts: readonly Mount[]): Located | Refused {
  if (target.length > LONGEST_TARGET) return 'too_long'
  if (ORDINARY.test(target)) return mounted(target, mounts)

  // Bytes above ASCII must come percent-encoded (RFC 3986 section 2).
  if (!/^[\x21-\x7e]+$/.test(target)) return 'malformed'
  const path = target.replace(ABSOLUTE_FORM, '').split('?', 1)[0] ?? ''
  if (path === '') return 'not_found'
  if (!path.startsWith('/')) return 'malformed'
  // Directories are never listed.
  if (path.endsWith('/')) return 'not_found'

  const names: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '') continue
    const name = decoded(segment)
    if (name === null) return 'malformed'
    if (name.startsWith('.') || NEVER_IN_A_NAME.test(name)) return 'not_found'
    if (Buffer.byteLength(name) > LONGEST_NAME) return 'not_found'
    names.push(name)
  }
  return mounted(`/${names.join('/')}`, mounts)
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}

/** A single-file mount wins over a directory mount. */
function mounted(path: string, mounts: readonly Mount[]): Located | Refused {
  let directory: Mount | null = null
  for (const mount of mounts) {
    if (mount.prefix === path) return { mount, path: mount.path }
    if (!mount.prefix.endsWith('/') || !path.startsWith(mount.prefix)) continue
    if (!directory || mount.prefix.length > directory.prefix.length) directory = mount
  }
  if (!directory) return 'not_found'
  return { mount: directory, path: `${directory.path}/${path.slice(directory.prefix.length)}` }
}
