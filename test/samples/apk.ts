// Builds .apk files for tests, valid or hostile, with Node alone.
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { buildTar, paxEntry, tarEntry, type SampleEntry } from './tar.ts'

export interface SampleApk {
  name?: string
  version?: string
  arch?: string
  /** additional or replaced lines of `.PKGINFO`; null omits a line, a list repeats the key */
  info?: Record<string, string | readonly string[] | null>
  /** path to content; default one small file named after the package */
  files?: Record<string, string | Uint8Array>
  /** `pre-install`, `trigger` … to content */
  scripts?: Record<string, string>
  signatures?: readonly SampleSignature[]
}

export interface SampleSignature {
  key: SampleKey
  algorithm?: 'RSA' | 'RSA256' | 'RSA512'
  /** signed instead of the control segment */
  content?: Uint8Array
}

export interface SampleKey {
  name: string
  pem: string
  privatePem: string
}

export function makeKey(name: string): SampleKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    name,
    pem: publicKey.export({ type: 'spki', format: 'pem' }),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
}

export function buildApk(sample: SampleApk = {}): Buffer {
  const name = sample.name ?? 'sample'
  const files = sample.files ?? { [`usr/share/${name}/readme`]: `This is ${name}.\n` }
  const data = gzipSync(buildTar(withDirectories(files)))
  const scripts = Object.entries(sample.scripts ?? {}).map(([script, content]) => ({
    name: `.${script}`,
    content,
    mode: 0o755,
  }))
  const control = segment([{ name: '.PKGINFO', content: pkginfoText(sample, data) }, ...scripts])
  return assembleApk({ control, data, signatures: sample.signatures ?? [] })
}

/** `.PKGINFO` of the sample, with the `datahash` of `data`. */
export function pkginfoText(sample: SampleApk = {}, data: Uint8Array = gzipSync(buildTar([]))): string {
  const { name = 'sample', version = '1.0-r0', arch = 'x86_64', info = {} } = sample
  const all: NonNullable<SampleApk['info']> = {
    pkgname: name,
    pkgver: version,
    pkgdesc: 'a sample package',
    url: 'https://example.org/sample',
    builddate: '1700000000',
    packager: 'Sample Packager <packager@example.org>',
    size: '4096',
    arch,
    origin: name,
    maintainer: 'Sample Maintainer <sample@example.org>',
    license: 'MIT',
    ...info,
    datahash: info.datahash === undefined ? createHash('sha256').update(data).digest('hex') : info.datahash,
  }
  const lines = Object.entries(all).flatMap(([key, value]) =>
    value === null ? [] : [value].flat().map((one) => `${key} = ${one}\n`),
  )
  return `# made for tests\n${lines.join('')}`
}

/** A package of given segments, signed by the given keys. */
export function assembleApk(parts: {
  control: Uint8Array
  data: Uint8Array
  signatures?: readonly SampleSignature[]
}): Buffer {
  const signed = (parts.signatures ?? []).map(({ key, algorithm = 'RSA256', content = parts.control }) => {
    const digest = { RSA: 'RSA-SHA1', RSA256: 'RSA-SHA256', RSA512: 'RSA-SHA512' }[algorithm]
    const signature = sign(digest, content, key.privatePem)
    return segment([{ name: `.SIGN.${algorithm}.${key.name}`, content: signature }])
  })
  return Buffer.concat([...signed, parts.control, parts.data])
}

/** A gzip member with a tar archive without end blocks, like every segment of a package except the last. */
export function segment(entries: readonly SampleEntry[]): Buffer {
  return gzipSync(buildTar(entries, { end: false }))
}

/** Directories, then files, each with the SHA-1 that apk checks at installation. */
export function withDirectories(files: Record<string, string | Uint8Array>): SampleEntry[] {
  const entries: SampleEntry[] = []
  const known = new Set<string>()
  for (const [path, content] of Object.entries(files)) {
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth++) {
      const directory = `${parts.slice(0, depth).join('/')}/`
      if (!known.has(directory)) entries.push({ name: directory })
      known.add(directory)
    }
    entries.push(checksumEntry(content), { name: path, content })
  }
  return entries
}

/** The pax header before a file, as a sample entry. */
function checksumEntry(content: string | Uint8Array): SampleEntry {
  const sha1 = createHash('sha1').update(content).digest('hex')
  const raw = paxEntry({ 'APK-TOOLS.checksum.SHA1': sha1 })
  const size = parseInt(raw.toString('latin1', 124, 136), 8)
  return { name: 'PaxHeaders/sample', type: 'x', content: raw.subarray(512, 512 + size) }
}

/** An index of given records, for other repositories. */
export function buildIndex(records: string, key?: SampleKey): Buffer {
  const index = gzipSync(
    Buffer.concat([
      tarEntry({ name: 'DESCRIPTION', content: 'sample' }),
      tarEntry({ name: 'APKINDEX', content: records }),
      Buffer.alloc(1024),
    ]),
  )
  if (!key) return index
  const signature = sign('RSA-SHA256', index, key.privatePem)
  return Buffer.concat([segment([{ name: `.SIGN.RSA256.${key.name}`, content: signature }]), index])
}
