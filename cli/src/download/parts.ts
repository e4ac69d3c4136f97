// Reads what the indexes of repositories say about one file. Pure.
import { inflateRawSync } from 'node:zlib'

/** `URIs` of a deb822 file, `baseurl` of a .repo file, or the line of a list: where a repository begins. */
export function repositoryIn(content: string): string | null {
  const [, url] = /^(?:URIs: *|baseurl=)?(https?:\/\/\S+)$/m.exec(content) ?? []
  return url?.replace(/\/+$/, '') ?? null
}

/** The text of a clear-signed message (RFC 9580, section 7), whose signature was verified before. */
export function signedText(message: string): string {
  const [, text] =
    /^-----BEGIN PGP SIGNED MESSAGE-----\n(?:.+\n)*\n([^]*?)\n-----BEGIN PGP SIGNATURE-----/m.exec(message) ?? []
  return (text ?? '').replace(/^- /gm, '')
}

/** Paths and digests that a Release file lists. */
export function releaseFiles(release: string): { path: string; sha256: string }[] {
  const [, list = ''] = /^SHA256:\n((?: .*\n?)*)/m.exec(release) ?? []
  return [...list.matchAll(/^ ([0-9a-f]{64}) +\d+ (\S+)$/gm)].map(([, sha256 = '', path = '']) => ({ sha256, path }))
}

/** Where the index of apt has the file with this digest. */
export function inPackages(packages: string, sha256: string): string | null {
  const stanza = packages
    .split(/\n\n+/)
    .find((one) => one.includes(`\nSHA256: ${sha256}\n`) || one.endsWith(`\nSHA256: ${sha256}`))
  return /^Filename: (\S+)$/m.exec(stanza ?? '')?.[1] ?? null
}

/** The file of a type that repomd.xml lists. */
export function inRepomd(repomd: string, type: string): { path: string; sha256: string } | null {
  const [, data = ''] = new RegExp(`<data type="${type}">([^]*?)</data>`).exec(repomd) ?? []
  const [, sha256] = /<checksum type="sha256">([0-9a-f]{64})</.exec(data) ?? []
  const [, path] = /<location href="([^"]+)"/.exec(data) ?? []
  return sha256 && path ? { path: unescaped(path), sha256 } : null
}

/** Where primary.xml has the file with this digest. */
export function inPrimary(primary: string, sha256: string): string | null {
  const entry = primary.split('</package>').find((one) => one.includes(`>${sha256}</checksum>`))
  const [, path] = /<location href="([^"]+)"/.exec(entry ?? '') ?? []
  return path ? unescaped(path) : null
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const unescaped = (text: string) => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '')

/** Whether the index of apk has this version with this size. */
export function inApkIndex(
  index: string,
  { name, version, size }: { name: string; version: string; size: number },
): boolean {
  return index.split(/\n\n+/).some((entry) => {
    const lines = entry.split('\n')
    return [`P:${name}`, `V:${version}`, `S:${size}`].every((line) => lines.includes(line))
  })
}

/** The fixed part of a gzip header, and the part after the data (RFC 1952). */
const GZIP_HEAD = 10
const GZIP_TAIL = 8

/**
 * A signed index of apk: the first gzip member has the signature, over all bytes after it.
 * @returns null when the bytes are no such index
 */
export function apkIndex(bytes: Buffer): { signature: Buffer; signed: Buffer } | null {
  if (bytes.readUInt16BE(0) !== 0x1f8b || bytes[3] !== 0) return null
  const { buffer, engine } = inflateRawSync(bytes.subarray(GZIP_HEAD), { info: true }) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  const [, name = ''] = /^(\.SIGN\.RSA256\.[^\0]+)\0/.exec(buffer.subarray(0, 100).toString('latin1')) ?? []
  const size = parseInt(buffer.subarray(124, 135).toString('latin1'), 8)
  if (name === '' || !Number.isInteger(size)) return null
  return {
    signature: buffer.subarray(512, 512 + size),
    signed: bytes.subarray(GZIP_HEAD + engine.bytesWritten + GZIP_TAIL),
  }
}
