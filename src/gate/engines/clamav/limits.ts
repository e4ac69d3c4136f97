// Measures the limits of a running clamd with archives that contain the EICAR test file. Nothing else reveals them.
import { createGzip, gzipSync } from 'node:zlib'
import { Readable } from 'node:stream'
import type { Answer } from './answer.ts'
import { eicarFile, encryptedZip, tarHeader, zipOf } from './probes.ts'

/**
 * How far clamd looks into archives. Beyond a limit it answers OK, unless `AlertExceedsMax yes` makes it report the limit.
 * A limit that clamd reports, or that could not be measured, is Infinity.
 */
export interface EngineLimits {
  /** it reports what exceeds its limits (`AlertExceedsMax`) */
  reportsExceeded: boolean
  /** it reports encrypted archives (`AlertEncrypted` or `AlertEncryptedArchive`) */
  reportsEncrypted: boolean
  /** archives inside each other (`MaxRecursion`) */
  depth: number
  /** files in one archive (`MaxFiles`) */
  files: number
  /** unpacked bytes of one archive (`MaxScanSize`) */
  bytes: number
  /** bytes of one file in an archive (`MaxFileSize`) */
  fileBytes: number
}

const MIB = 1024 * 1024
/** Each level is just below a usual setting: 17 and 10,000 by default, 25M and 100M in Debian, 100M and 400M by default. */
const LEVELS = {
  depth: [4, 8, 15],
  files: [900, 9_900],
  fileBytes: [24 * MIB, 99 * MIB],
  bytes: [90 * MIB, 380 * MIB],
}
/** Above every limit of a sensible configuration; clamd itself takes no more than 100. */
const FAR_TOO_DEEP = 64
/** Below every usual `MaxFileSize`. */
const FILLER_BYTES = 18 * MIB

/**
 * @param ask sends one stream to the daemon
 * @throws what `ask` throws
 */
export async function probeLimits(ask: (content: Buffer) => Promise<Answer>): Promise<EngineLimits> {
  const kindOf = async (content: Buffer | Promise<Buffer>) => (await ask(await content)).kind
  const reportsEncrypted = (await kindOf(encryptedZip())) === 'limited'
  const unlimited = { reportsEncrypted, depth: Infinity, files: Infinity, bytes: Infinity, fileBytes: Infinity }
  // One option of clamd applies to all limits.
  if ((await kindOf(nested(FAR_TOO_DEEP))) === 'limited') return { ...unlimited, reportsExceeded: true }

  async function highest(levels: readonly number[], probe: (level: number) => Buffer | Promise<Buffer>) {
    let reached: number | null = null
    for (const level of levels) {
      if ((await kindOf(probe(level))) !== 'found') return reached ?? Infinity
      reached = level
    }
    return reached ?? Infinity
  }
  return {
    reportsExceeded: false,
    reportsEncrypted,
    depth: await highest(LEVELS.depth, nested),
    files: await highest(LEVELS.files, (level) => zipOf([...Array.from({ length: level }, fillerFile), eicarFile()])),
    fileBytes: await highest(LEVELS.fileBytes, largeTar),
    bytes: await highest(LEVELS.bytes, manyBytes),
  }
}

/** The known limits, for status and coverage; null means "no limit known". */
export function shownLimits(limits: EngineLimits) {
  const shown = (value: number) => (Number.isFinite(value) ? value : null)
  return {
    reports_exceeded: limits.reportsExceeded,
    reports_encrypted: limits.reportsEncrypted,
    depth: shown(limits.depth),
    files: shown(limits.files),
    bytes: shown(limits.bytes),
    file_bytes: shown(limits.fileBytes),
  }
}

/** One sentence for people; null when the daemon reports everything. */
export function limitsWarning(limits: EngineLimits): string | null {
  const missing = [
    ...(limits.reportsExceeded ? [] : ['exceeded limits (AlertExceedsMax yes)']),
    ...(limits.reportsEncrypted ? [] : ['encrypted archives (AlertEncrypted yes)']),
  ]
  return missing.length === 0 ? null : `clamd does not report ${missing.join(' and ')}`
}

function nested(levels: number): Buffer {
  let content = eicarFile().content
  for (let level = 0; level < levels; level++) content = gzipSync(content)
  return content
}

const fillerFile = (_: unknown, n: number) => ({ name: `f${n}`, content: Buffer.from(String(n)) })

/** A gzip of a tar of at least this many bytes, the test file first: found only if clamd unpacks a file of that size. */
async function largeTar(bytes: number): Promise<Buffer> {
  const { content } = eicarFile()
  const first = Buffer.concat([tarHeader('eicar', content.length), content, Buffer.alloc(512 - content.length)])
  const piece = Buffer.alloc(MIB)
  function* tar() {
    yield first
    yield tarHeader('filler', bytes - (bytes % MIB))
    for (let at = MIB; at <= bytes; at += MIB) yield piece
    yield Buffer.alloc(1024)
  }
  const packed: Buffer[] = []
  for await (const part of Readable.from(tar()).pipe(createGzip({ level: 1 }))) packed.push(part as Buffer)
  return Buffer.concat(packed)
}

/** A zip of zero-filled files with this many bytes in total, followed by the test file. */
function manyBytes(bytes: number): Buffer {
  const filler = Buffer.alloc(FILLER_BYTES)
  const files = Array.from({ length: Math.floor(bytes / FILLER_BYTES) }, (_, n) => ({ name: `f${n}`, content: filler }))
  return zipOf([...files, eicarFile()])
}
