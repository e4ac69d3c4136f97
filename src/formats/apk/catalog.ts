// Reads an apk repository: one signed APKINDEX.tar.gz for each architecture (https://wiki.alpinelinux.org/wiki/Apk_spec).
import { createVerify } from 'node:crypto'
import { readAll } from '../archive/entry-content.ts'
import { fileRange } from '../archive/file-range.ts'
import { gzipMembers } from '../archive/gzip-members.ts'
import { plausibleOutput } from '../archive/limits.ts'
import { readTar } from '../archive/tar.ts'
import { isProblem } from '../../domain/problem.ts'
import { createPacer } from '../../kernel/pacer.ts'
import {
  refused,
  type CatalogItem,
  type CatalogReader,
  type RepositoryIndex,
  type SourceKey,
  type StagedFile,
} from '../catalog.ts'
import { readIndexRecord } from './index-record.ts'
import { readControlSha1, type ApkRecord } from './read.ts'
import { describeSignature } from './signatures.ts'

const INDEX = 'APKINDEX.tar.gz'
/** Alpine's community has 2 MB. */
const MOST_INDEX_BYTES = 64 * 1024 ** 2
const MOST_SIGNATURE_BYTES = 64 * 1024
const MOST_SIGNATURES = 16
/** apk reads a line through a buffer of 128 KiB; a record has few long lines. */
const MOST_RECORD_BYTES = 512 * 1024

export const catalog: CatalogReader = {
  async describe({ architectures }, io) {
    if (architectures.length === 0) throw refused('malformed', 'an apk source needs an architecture')
    const paths = architectures.map((arch) => `${arch}/${INDEX}`)
    const roots = await io.roots(paths, MOST_INDEX_BYTES)
    if (roots === 'unchanged') return roots
    const indexes: RepositoryIndex[] = []
    const signedBy = new Set<string>()
    for (const [position, name] of paths.entries()) {
      const root = roots[position]
      if (!root) throw refused('missing', `the source has no ${name}`)
      if (io.signed) signedBy.add(await asRefusal(name, () => verifySignature(root, io.keys, name)))
      const { sizeBytes, sha256 } = root
      indexes.push({
        name,
        arch: architectures[position] ?? null,
        from: [{ paths: [name], sizeBytes, digest: { algorithm: 'sha256', hex: sha256 } }],
        openSizeBytes: null,
      })
    }
    return { date: null, validUntil: null, signedBy: [...signedBy], indexes, notCarried: [] }
  },

  async *records(file, { name }) {
    const pace = createPacer()
    try {
      for await (const record of records(file, name)) {
        yield { content: record, read: () => readRecord(record, name) }
        await pace()
      }
    } catch (error) {
      throw asRefused(error, name)
    }
  },

  packageDigest: readControlSha1,
  recordDigest: (record) => (record as ApkRecord).controlSha1,
}

function readRecord(record: Uint8Array, name: string): CatalogItem {
  try {
    return readIndexRecord(record, name)
  } catch (error) {
    throw asRefused(error, name)
  }
}

/** A damaged archive becomes a refusal of the source. */
const asRefused = (error: unknown, name: string) =>
  isProblem(error, 'invalid_package') ? refused('malformed', `${name}: ${error.detail}`, error) : error

async function asRefusal<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asRefused(error, name)
  }
}

/**
 * Checks the signature over everything after the first gzip member, as apk does: the first signature by a known key decides.
 * @returns the name of the key
 */
async function verifySignature(file: StagedFile, keys: readonly SourceKey[], name: string): Promise<string> {
  const { found, end } = await readSignatures(file)
  if (found.length === 0) throw refused('unsigned', `${name} is not signed`)
  const tried: string[] = []
  for (const { signature, keyName, algorithm } of found) {
    const known = keys.filter((key) => key.name === null || key.name === keyName)
    for (const { text } of known) {
      const verify = createVerify(algorithm)
      for await (const piece of fileRange(file.path, end)) verify.update(piece)
      if (isGood(() => verify.verify(text, signature))) return keyName
    }
    if (known.some((key) => key.name !== null))
      throw refused('signature', `${name} has a wrong signature of the key ${keyName}`)
    tried.push(keyName)
  }
  throw refused('signature', `${name} is signed by ${tried.join(', ')}; the source has other keys`)
}

/** With an unreadable key, no signature is good. */
function isGood(verify: () => boolean): boolean {
  try {
    return verify()
  } catch {
    return false
  }
}

interface FoundSignature {
  keyName: string
  /** as node:crypto names it */
  algorithm: string
  signature: Buffer
}

/** The signatures in the first gzip member, and where it ends. */
async function readSignatures({ path, sizeBytes }: StagedFile): Promise<{ found: FoundSignature[]; end: number }> {
  const found: FoundSignature[] = []
  for await (const member of gzipMembers(fileRange(path), { maxOutputBytes: plausibleOutput(sizeBytes) })) {
    for await (const { name, type, content } of readTar(member.content, { mostEntries: MOST_SIGNATURES })) {
      if (!name.startsWith('.SIGN.') || type !== 'file') return { found: [], end: 0 }
      const { keyId, algorithm } = describeSignature(name)
      const signature = await readAll(content, MOST_SIGNATURE_BYTES, 'signature')
      if (keyId && algorithm.startsWith('RSA-')) found.push({ keyName: keyId, algorithm, signature })
    }
    for await (const _ of member.content);
    return { found, end: member.end }
  }
  return { found, end: 0 }
}

/** The tar archive of the index: only the signed bytes, however the bytes before them could be read. */
async function* signedContent(file: StagedFile): AsyncGenerator<Uint8Array> {
  const { end } = await readSignatures(file)
  const limits = { maxOutputBytes: plausibleOutput(file.sizeBytes) }
  for await (const member of gzipMembers(fileRange(file.path, end), limits)) yield* member.content
}

const BLANK = Buffer.from('\n\n')

/** The paragraphs of the file APKINDEX. */
async function* records(file: StagedFile, name: string): AsyncGenerator<Buffer> {
  let isFound = false
  for await (const entry of readTar(signedContent(file), { mostEntries: 16 })) {
    if (entry.name !== 'APKINDEX') continue
    if (isFound) throw refused('malformed', `${name} has the file APKINDEX twice`)
    isFound = true
    let rest: Buffer = Buffer.alloc(0)
    for await (const piece of entry.content) {
      rest = Buffer.concat([rest, piece])
      let start = 0
      for (let end = rest.indexOf(BLANK); end !== -1; end = rest.indexOf(BLANK, start)) {
        if (end > start) yield rest.subarray(start, end)
        start = end + BLANK.length
      }
      rest = rest.subarray(start)
      if (rest.length > MOST_RECORD_BYTES)
        throw refused('malformed', `${name} has a record of more than ${MOST_RECORD_BYTES} bytes`)
    }
    if (rest.length > 1) yield rest
  }
  if (!isFound) throw refused('malformed', `${name} has no file APKINDEX`)
}
