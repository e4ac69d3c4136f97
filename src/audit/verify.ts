// Verifies audit files: each line, the chain, and the signed checkpoints beside them.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { append } from '../kernel/append.ts'
import { equalSecret, sha256Hex } from '../kernel/crypto.ts'
import { createPacer } from '../kernel/pacer.ts'
import { checkLine, DAY_FILE, entryMac, GENESIS, type AuditEntry } from './chain.ts'
import { CHECKPOINT_FILE, signedText, type AuditCheckpoint } from './checkpoints.ts'
import { linesOf } from './lines.ts'
import { readRemovalNote, REMOVAL_NOTE, type RemovalNote } from './removal-note.ts'

export interface Fault {
  /** file name, with `:line` if it is about a line */
  where: string
  what: string
}

/** A place of the chain that another source than the files confirms. */
export interface Anchor {
  seq: number
  hash: string
  /** who confirms it, as in "is missing, which SOURCE names" */
  source: string
}

export interface Report {
  entries: number
  files: number
  checkpoints: number
  /** the last valid entry */
  head: { seq: number; hash: string } | null
  /** what retention removed before the first entry, according to the signed note */
  removed: Pick<RemovalNote, 'seq' | 'day' | 'at'> | null
  /** SHA-256 of the last line of the checkpoint files; null when there is none */
  lastCheckpoint: string | null
  faults: Fault[]
}

export interface VerifyOptions {
  /** as `openAuditKey` returns it; null leaves the mac of the entries unchecked */
  key: string | null
  /** whether an OpenPGP signature of the repository's key covers the text */
  isSigned(text: string, signature: Uint8Array): Promise<boolean>
  /** further anchors: the head that the database knows */
  anchors?: readonly Anchor[]
  /** the last entry that retention removed, from the database; if more is missing, somebody else cut the files */
  removedSeq?: number
  /** reads only the files of days up to this one, which may lack a checkpoint */
  through?: string
  /** a further check of an entry that is valid at its place: `createRowComparison` compares it with its row */
  compare?: ((seq: number, bytes: Buffer) => Promise<string | null>) | undefined
  signal?: AbortSignal | undefined
}

/** After this many faults the rest is not read: faults after a broken file mean nothing. */
const MOST_FAULTS = 20

/** Verifies the audit directory of a service: nothing may be missing at its beginning, its end or between. */
export async function verifyDirectory(directory: string, options: VerifyOptions): Promise<Report> {
  const noted = await readRemovalNote(directory, options.isSigned)
  const removed = noted === 'forged' ? null : noted
  const isRead = (day: string) =>
    day > (removed?.day ?? '') && (options.through === undefined || day <= options.through)
  const names = (await readdir(directory)).sort()
  const named = (form: RegExp) =>
    names.filter((name) => {
      const day = form.exec(name)?.[1]
      return day !== undefined && isRead(day)
    })
  const files = named(DAY_FILE)
  const signed = await readCheckpoints(directory, named(CHECKPOINT_FILE), options, removed?.previous ?? GENESIS)
  const chain = createChain({ ...options, previous: GENESIS, head: removed })
  chain.expect([...signed.anchors, ...(options.anchors ?? [])])
  for (const name of files) await chain.read(join(directory, name), name)
  const faults = [...faultsOfNote(noted, options.removedSeq), ...signed.faults, ...chain.end()]
  if (signed.count === 0 && options.through === undefined)
    faults.push({ where: directory, what: 'holds no checkpoint: the service writes one for its first entry' })
  return {
    ...{ ...chain.result(), files: files.length, checkpoints: signed.count, removed },
    ...{ lastCheckpoint: signed.last, faults: faults.slice(0, MOST_FAULTS) },
  }
}

function faultsOfNote(note: RemovalNote | 'forged' | null, removedSeq: number | undefined): Fault[] {
  if (note === null) return []
  if (note === 'forged') return [{ where: REMOVAL_NOTE, what: 'was altered: its signature does not fit' }]
  if (removedSeq === undefined || note.seq <= removedSeq) return []
  const what = `names ${note.seq} removed entries, of which the database knows ${removedSeq}`
  return [{ where: REMOVAL_NOTE, what }]
}

/** Verifies one file of entries from the audit export: a part of the chain without gaps. */
export async function verifyFile(path: string, name: string, options: VerifyOptions): Promise<Report> {
  const chain = createChain({ ...options, previous: null, head: null })
  await chain.read(path, name)
  return { ...chain.result(), files: 1, checkpoints: 0, removed: null, lastCheckpoint: null, faults: chain.end() }
}

/**
 * @param start.previous the hash that the first entry must follow; null for any
 * @param start.head the removed entry that the first one must follow instead
 */
function createChain(start: {
  key: string | null
  compare?: VerifyOptions['compare']
  signal?: AbortSignal | undefined
  previous: string | null
  head: { seq: number; hash: string } | null
}) {
  const faults: Fault[] = []
  /** by the entry that they name; reading an entry removes its anchors */
  const anchors = new Map<number, Anchor[]>()
  const pace = createPacer()
  let entries = 0
  let head = start.head && { seq: start.head.seq, hash: start.head.hash }
  let lastWhere = ''

  /** @returns what is wrong with the place of an entry whose own hash is correct */
  function faultOf(entry: AuditEntry & { hash: string }, seq: number): string | null {
    const expected = head === null ? 1 : head.seq + 1
    const previous = head?.hash ?? start.previous
    const gap = seq - expected
    if (previous !== null && gap > 0)
      return `entr${gap === 1 ? `y ${expected} is` : `ies ${expected} to ${seq - 1} are`} missing before it`
    if (previous !== null && gap < 0) return `is entry ${seq}, where entry ${expected} was expected`
    if (previous !== null && entry.prev_hash !== previous) return 'does not follow the entry before it'
    if (typeof entry.mac !== 'string') return 'has no mac: it was not written by this service'
    if (start.key !== null && !equalSecret(entry.mac, entryMac(start.key, seq, entry.hash)))
      return 'has a wrong mac: it was not written by this service'
    return null
  }

  function compareAnchors(seq: number, hash: string): string | null {
    const other = anchors.get(seq)?.find((anchor) => anchor.hash !== hash)
    anchors.delete(seq)
    return other ? `is not the entry ${seq} that ${other.source} names` : null
  }

  return {
    expect(more: readonly Anchor[]): void {
      for (const anchor of more) append(anchors, anchor.seq, anchor)
    },
    async read(path: string, name: string): Promise<void> {
      let line = 0
      for await (const { bytes, whole } of linesOf(path)) {
        await pace()
        start.signal?.throwIfAborted()
        line++
        lastWhere = `${name}:${line}`
        if (faults.length >= MOST_FAULTS) return
        const { fault, entry } = checkLine(bytes)
        if (!whole) faults.push({ where: lastWhere, what: 'ends within a line' })
        else if (fault !== null) faults.push({ where: lastWhere, what: fault })
        if (fault !== null || !whole) continue
        const seq = entry.seq ?? (head?.seq ?? 0) + 1
        const wrong =
          faultOf(entry, seq) ??
          compareAnchors(seq, entry.hash) ??
          (start.compare ? await start.compare(seq, bytes) : null)
        if (wrong !== null) faults.push({ where: lastWhere, what: wrong })
        entries++
        // After a fault the chain continues from here, so that one removed line is one fault.
        head = { seq, hash: entry.hash }
      }
    },
    /** @returns all faults, including entries that are missing at the end */
    end(): Fault[] {
      const last = head?.seq ?? 0
      let missing: Anchor | undefined
      for (const [anchor] of anchors.values()) if (anchor && anchor.seq > (missing?.seq ?? last)) missing = anchor
      if (missing) {
        const what = `ends with entry ${last}; entries ${last + 1} to ${missing.seq} are missing, which ${missing.source} names`
        faults.push({ where: lastWhere || 'no entry', what })
      }
      return faults
    },
    result: () => ({ entries, head }),
  }
}

interface Signed {
  anchors: Anchor[]
  count: number
  /** SHA-256 of the last line; null without lines */
  last: string | null
  faults: Fault[]
}

/** @param before SHA-256 of the line before the first */
async function readCheckpoints(
  directory: string,
  names: readonly string[],
  options: VerifyOptions,
  before: string,
): Promise<Signed> {
  const signed: Signed = { anchors: [], count: 0, last: null, faults: [] }
  const pace = createPacer()
  let previous = before
  for (const name of names) {
    let line = 0
    for await (const { bytes } of linesOf(join(directory, name))) {
      await pace()
      options.signal?.throwIfAborted()
      const where = `${name}:${++line}`
      const checkpoint = checkpointOf(bytes)
      const isGenuine =
        checkpoint !== null &&
        (await options.isSigned(signedText(checkpoint), Buffer.from(checkpoint.signature, 'base64')))
      if (!isGenuine) signed.faults.push({ where, what: 'was altered: its signature does not fit' })
      else {
        if (checkpoint.previous !== previous)
          signed.faults.push({ where, what: 'does not follow the checkpoint before it: one is missing or was changed' })
        signed.count++
        const { seq, hash, at } = checkpoint
        signed.anchors.push({ seq, hash, source: `the checkpoint of ${at}` })
      }
      previous = signed.last = sha256Hex(bytes)
    }
  }
  return signed
}

/** Null for bytes that are not a checkpoint in the one form that the service writes. */
function checkpointOf(bytes: Buffer): AuditCheckpoint | null {
  try {
    const checkpoint = JSON.parse(bytes.toString('utf8')) as AuditCheckpoint
    return Buffer.from(JSON.stringify(checkpoint)).equals(bytes) && typeof checkpoint.signature === 'string'
      ? checkpoint
      : null
  } catch {
    return null
  }
}
