// Which URL prefix of a repository listener names which published place; the only list of what clients may reach.
import type { FormatId } from '../domain/package.ts'

/** One published place: a directory when `prefix` ends in `/`, otherwise a single file. */
export interface Mount {
  prefix: string
  /** what the prefix names, relative to the repositories' directory, without a slash at the end */
  path: string
  /**
   * The real places, relative to the real repositories' directory, a file may lie in once all links are followed.
   * A link that leads anywhere else is answered like a missing file.
   */
  roots: readonly string[]
  /** whose packages lie there; none for keys */
  format?: FormatId
}

const OPENPGP_KEY: Mount = { prefix: '/repos/gpg.key', path: 'keys/gpg.key', roots: ['keys/gpg.key'] }

/** Debian and Alpine clients share one port. */
export const APT_MOUNTS: readonly Mount[] = [
  OPENPGP_KEY,
  { prefix: '/apk/svc.rsa.pub', path: 'keys/svc.rsa.pub', roots: ['keys/svc.rsa.pub'] },
  { prefix: '/repos/dists/', path: 'dists', roots: ['dists', '.generations/deb'], format: 'deb' },
  { prefix: '/apk/', path: 'apk', roots: ['apk', '.generations/apk'], format: 'apk' },
]

export const RPM_MOUNTS: readonly Mount[] = [
  OPENPGP_KEY,
  { prefix: '/repos/', path: 'rpm', roots: ['rpm', '.generations/rpm'], format: 'rpm' },
]

/** Without those of formats that are not switched on: a tree may still lie there from when its format was. */
export function activeMounts(mounts: readonly Mount[], active: readonly FormatId[]): Mount[] {
  return mounts.filter(({ format }) => format === undefined || active.includes(format))
}
