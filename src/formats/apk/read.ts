// Reads the facts of an .apk from `.PKGINFO` and the file list.
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { readAll } from '../archive/entry-content.ts'
import { fileRange } from '../archive/file-range.ts'
import { invalid } from '../archive/limits.ts'
import type { EmbeddedSignature, PackageFacts } from '../../domain/package.ts'
import { checkLine, createFileCount, quote } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { apkSegments, type ApkSegment } from './open.ts'
import { decodePkginfo, licenseOf, LISTS, parsePkginfo, rawValueOf, valueOf, type PkginfoField } from './pkginfo.ts'
import { parseProvides, parseRequirements } from './relations.ts'
import { describeSignature } from './signatures.ts'
import { suggestedVersion, versions } from './versions.ts'

/** The data of the index entry. */
export interface ApkRecord {
  /** `.PKGINFO` in its order, with all its keys */
  fields: PkginfoField[]
  /** hex digest of the compressed control segment, by which apk identifies a package */
  controlSha1: string
  /** bytes on disk, from `.PKGINFO` or else the sum of the files */
  installedBytes: number
}

const MOST_PKGINFO_BYTES = 4 * 1024 ** 2
const LONGEST_FILENAME = 220
// apk writes these fields through a buffer of 2,048 bytes; the description is shortened.
const MOST_HEADER_BYTES = 1200

/** @throws Problem('invalid_package') */
export async function readApk(path: string, options: ReadOptions = {}): Promise<PackageFacts<ApkRecord>> {
  const signatures: EmbeddedSignature[] = []
  let facts: PackageFacts<ApkRecord> | null = null
  for await (const segment of apkSegments(path, options)) {
    if (segment.kind === 'signatures') {
      for await (const entry of segment.entries) signatures.push(describeSignature(entry.name))
    } else if (segment.kind === 'control') {
      const fields = parsePkginfo(decodePkginfo(await readPkginfo(segment)))
      facts = factsOf(fields)
      facts.record.controlSha1 = await digest(path, 'sha1', segment.start, segment.end)
      await verifyData(path, segment.end, fields)
    } else if (facts) {
      const { files, bytes } = await readFileList(segment)
      facts.files = files
      // apk does not fetch a package whose size is 0.
      facts.record.installedBytes ||= bytes
    }
  }
  if (!facts) throw invalid('the package has no control segment')
  facts.installedSizeKb = Math.ceil(facts.record.installedBytes / 1024)
  facts.signatures = signatures
  return facts
}

/**
 * The SHA-1 of the control segment in hex, by which indexes identify a package. The data is checked against the digest that
 * the segment states, so that the result identifies the whole file.
 * @throws Problem('invalid_package')
 */
export async function readControlSha1(path: string): Promise<string> {
  for await (const segment of apkSegments(path)) {
    if (segment.kind !== 'control') continue
    const fields = parsePkginfo(decodePkginfo(await readPkginfo(segment)))
    await verifyData(path, segment.end, fields)
    return digest(path, 'sha1', segment.start, segment.end)
  }
  throw invalid('the package has no control segment')
}

/** Regular files of all segments; the names of signatures and control files begin with a dot. */
export async function* apkMembers(path: string, options: ReadOptions = {}): AsyncGenerator<Member> {
  for await (const segment of apkSegments(path, options)) {
    for await (const { type, path: name, sizeBytes, content } of segment.entries) {
      if (type === 'file') yield { name, sizeBytes, content }
    }
  }
}

/** The only name apk requests. */
export function apkFilename(facts: Pick<PackageFacts, 'name' | 'version'>): string {
  return `${facts.name}-${facts.version}.apk`
}

async function readPkginfo(segment: ApkSegment): Promise<Buffer> {
  let found: Buffer | null = null
  for await (const entry of segment.entries) {
    if (entry.name !== '.PKGINFO') continue
    if (found) throw invalid('the package has the file .PKGINFO twice')
    found = await readAll(entry.content, MOST_PKGINFO_BYTES, 'file .PKGINFO')
  }
  if (!found) throw invalid('the package has no file .PKGINFO')
  return found
}

/** Checks the digest of the data segment before it is unpacked. */
async function verifyData(path: string, start: number, fields: readonly PkginfoField[]): Promise<void> {
  const wanted = valueOf(fields, 'datahash')
  // apk-tools 3 refuses packages without it.
  if (!wanted || !/^[0-9a-fA-F]{64}$/.test(wanted)) throw invalid('the file .PKGINFO has no usable datahash')
  const { size } = await stat(path)
  if (start === size) throw invalid('the package has no data')
  if ((await digest(path, 'sha256', start, size)) !== wanted.toLowerCase())
    throw invalid('the data of the package does not have the digest that .PKGINFO states')
}

async function digest(path: string, algorithm: string, start: number, end: number): Promise<string> {
  const hash = createHash(algorithm)
  for await (const piece of fileRange(path, start, end)) hash.update(piece)
  return hash.digest('hex')
}

async function readFileList(segment: ApkSegment): Promise<{ files: string[]; bytes: number }> {
  const files: string[] = []
  const count = createFileCount()
  let bytes = 0
  for await (const entry of segment.entries) {
    if (entry.type === 'directory') continue
    if (entry.path === '') throw invalid('the package has a file without a name')
    count.add(entry.path)
    files.push(entry.path)
    bytes += entry.sizeBytes
  }
  return { files, bytes }
}

/** What the fields of `.PKGINFO`, or of a record of an index, state. @throws Problem('invalid_package') */
export function factsOf(fields: PkginfoField[]): PackageFacts<ApkRecord> {
  const text = (key: string): string | null => valueOf(fields, key)
  const name = required(fields, 'pkgname', /^[A-Za-z0-9][A-Za-z0-9._+-]*$/, 'letters, digits and . _ + -')
  const version = required(fields, 'pkgver', { test: versions.isValid }, (value) => {
    const suggestion = suggestedVersion(value)
    return suggestion === null ? 'a version like 1.2.3_rc1-r0' : `a version like ${suggestion}`
  })
  const arch = required(fields, 'arch', /^[a-z0-9][a-z0-9_-]*$/, 'one like x86_64, or noarch')
  for (const [key, value] of fields) if (!LISTS.has(key)) checkLine(`a ${key}`, value)
  for (const key of ['size', 'builddate', 'provider_priority', 'replaces_priority']) {
    if (!/^[0-9]{0,15}$/.test(text(key) ?? '')) throw invalid(`the file .PKGINFO has a ${key} that is no number`)
  }
  const license = licenseOf(fields)
  checkLine('a license', license)
  const header = ['url', 'license', 'origin', 'maintainer', 'commit'].map(text)
  if (Buffer.byteLength([name, version, arch, ...header].join()) > MOST_HEADER_BYTES)
    throw invalid('the file .PKGINFO has longer values than apk can take')
  if (apkFilename({ name, version }).length > LONGEST_FILENAME)
    throw invalid('the package name and version are too long for a file name')
  return {
    format: 'apk',
    name,
    version,
    arch,
    section: null,
    description: text('pkgdesc'),
    maintainer: text('maintainer'),
    license,
    url: text('url'),
    sourcePackage: text('origin'),
    sourceVersion: null,
    installedSizeKb: null,
    requirements: parseRequirements(fields),
    provides: parseProvides(fields),
    files: [],
    signatures: [],
    record: { fields, controlSha1: '', installedBytes: Number(text('size') ?? 0) },
  }
}

function required(
  fields: PkginfoField[],
  key: string,
  grammar: { test(value: string): boolean },
  expected: string | ((value: string) => string),
): string {
  // Not trimmed, because apk uses the value as written.
  const value = rawValueOf(fields, key)
  if (!value) throw invalid(`the file .PKGINFO has no ${key}`)
  if (!grammar.test(value)) {
    const form = typeof expected === 'string' ? expected : expected(value)
    throw invalid(`the file .PKGINFO has the ${key} ${quote(value)}; expected ${form}`)
  }
  return value
}
