// Media type and cache lifetime of a published file, decided by its name. No file access.
import type { PackageFormat } from '../formats/format.ts'
import type { FileKind } from './files/file-headers.ts'
import type { Located } from './request-path.ts'

/** Suffixes with the same meaning in every repository. Package files have the media type of their format. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
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

/** A name that is the digest of the content, or starts with it. */
const NAMED_BY_DIGEST = /\/by-hash\/[^/]+\/[0-9a-f]+$|\/[0-9a-f]{40,128}-[^/]+$/

const CONTENT_ADDRESSED = 'public, max-age=31536000, immutable'
/** Shorter than for digests: a deleted version may be uploaded again under the same name. */
const PACKAGE = 'public, max-age=2592000, immutable'
const CHANGING = 'no-cache'

/**
 * @param path with `/` between segments
 * @param format of the file's tree; null for a key
 * @param isPrivate true: caches that clients share must not keep it
 */
export function kindOf(path: string, format: PackageFormat | null, isPrivate = false): FileKind {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const isPackage = format?.suffixes.some((suffix) => name.endsWith(suffix)) ?? false
  const cacheControl = NAMED_BY_DIGEST.test(path)
    ? CONTENT_ADDRESSED
    : isPackage && format?.serving.immutablePackages
      ? PACKAGE
      : CHANGING
  const mediaType = isPackage && format ? format.mediaType : mediaTypeOf(name, format?.serving.textFiles)
  return {
    mediaType,
    immutable: cacheControl !== CHANGING,
    cacheControl: isPrivate ? `private, ${cacheControl.replace('public, ', '')}` : cacheControl,
  }
}

/** The kind of a file for the client that was admitted to it. */
export const kindOfFile = ({ path, mount, admission }: Located): FileKind =>
  kindOf(path, mount.format, typeof admission?.place === 'string')

function mediaTypeOf(name: string, textFiles: RegExp | undefined): string {
  if (textFiles?.test(name)) return 'text/plain; charset=utf-8'
  const suffix = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return (Object.hasOwn(MEDIA_TYPES, suffix) && MEDIA_TYPES[suffix]) || 'application/octet-stream'
}
