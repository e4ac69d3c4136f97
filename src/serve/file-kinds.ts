// What a published file is, told from its name: media type, and how long anybody may keep it. No file access.
import type { FileKind } from '../http-files/file-headers.ts'

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  deb: 'application/vnd.debian.binary-package',
  udeb: 'application/vnd.debian.binary-package',
  ddeb: 'application/vnd.debian.binary-package',
  rpm: 'application/x-rpm',
  gz: 'application/gzip',
  xz: 'application/x-xz',
  bz2: 'application/x-bzip2',
  zst: 'application/zstd',
  xml: 'application/xml',
  json: 'application/json',
  yaml: 'application/yaml',
  gpg: 'application/pgp-signature',
  asc: 'application/pgp-signature',
  key: 'application/pgp-keys',
  pub: 'application/x-pem-file',
}

/** Index files without a suffix. */
const TEXT_FILES = /^(?:InRelease|Release|Packages|Sources|Index|Contents-[\w-]+|Translation-[\w-]+)$/
/**
 * Not .apk: its path is name and version alone, so what was deleted and uploaded anew has the same one, and a cache on the
 * way that kept the old bytes would fail every client at the index's checksum. Asking by its tag is cheap.
 */
const PACKAGE_FILE = /\.(?:deb|udeb|ddeb|rpm)$/
/** A name that is, or starts with, the digest of the content. */
const NAMED_BY_DIGEST = /\/by-hash\/[^/]+\/[0-9a-f]+$|\/[0-9a-f]{40,128}-[^/]+$/

const CONTENT_ADDRESSED = 'public, max-age=31536000, immutable'
/** Shorter than for digests: a deleted version may be uploaded anew under the same name. */
const PACKAGE = 'public, max-age=2592000, immutable'
const CHANGING = 'no-cache'

/** @param path with `/` between segments */
export function kindOf(path: string): FileKind {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const cacheControl = NAMED_BY_DIGEST.test(path) ? CONTENT_ADDRESSED : PACKAGE_FILE.test(name) ? PACKAGE : CHANGING
  return { mediaType: mediaTypeOf(name), immutable: cacheControl !== CHANGING, cacheControl }
}

function mediaTypeOf(name: string): string {
  if (TEXT_FILES.test(name)) return 'text/plain; charset=utf-8'
  const suffix = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return (Object.hasOwn(MEDIA_TYPES, suffix) && MEDIA_TYPES[suffix]) || 'application/octet-stream'
}
