// Signed checkpoints of the audit chain: its length and last entry at a point in time.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { sha256Hex } from '../kernel/crypto.ts'
import { ifMissing, replaceFile } from '../kernel/files.ts'
import { createShared } from '../kernel/shared.ts'
import type { AuditLog } from './log.ts'
import { GENESIS } from './chain.ts'
import { noteOf, REMOVAL_NOTE } from './removal-note.ts'
import type { Db } from '../store/db.ts'

/** `2026-03-01.checkpoints`: beside the file of the day whose entry it names. */
export const CHECKPOINT_FILE = /^(\d{4}-\d\d-\d\d)\.checkpoints$/

/** One line of a checkpoint file. */
export interface AuditCheckpoint {
  at: string
  /** the last entry filed by then; also the number of entries */
  seq: number
  hash: string
  /** number of entries without mac: none any more, but builds of November 2026 require the key */
  unkeyed: 0
  /** SHA-256 of the previous line, which may be in the previous file */
  previous: string
  /** OpenPGP signature, base64, over `signedText` */
  signature: string
}

export interface AuditCheckpoints {
  /** Files the audit log and signs its head, unless the last checkpoint names it already. */
  write(): Promise<void>
  /** As `write`, once for each hour (UTC) with entries, the last hour of a day included; at once if there is no checkpoint. */
  writeWhenDue(): Promise<void>
}

/** What a checkpoint's signature covers. */
export function signedText({ signature: _, ...covered }: AuditCheckpoint): string {
  return `gatehouse audit checkpoint\n${JSON.stringify(covered)}\n`
}

/**
 * @param deps.directory `audit/` below REPOS_DIR
 * @param deps.sign makes a binary OpenPGP signature
 * @param deps.mayFile whether this process is the one that writes the files (the leader)
 */
export function createAuditCheckpoints(deps: {
  db: Db
  clock: Clock
  directory: string
  audit: Pick<AuditLog, 'flush'>
  sign(content: Uint8Array, at: Date): Promise<Uint8Array>
  mayFile: () => boolean
}): AuditCheckpoints {
  const { db, clock, directory } = deps
  /** the hour of the last checkpoint, so that no file is read in minutes in which nothing is due */
  let lastHour: string | null = null

  const write = createShared(async () => {
    if (!deps.mayFile()) return
    await deps.audit.flush()
    const head = await db
      .selectFrom('audit')
      .select(['seq', 'hash', 'day'])
      .where('filed', '=', true)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (!head) return
    const chain = await db.selectFrom('audit_chain').select('checkpoint').executeTakeFirstOrThrow()
    const path = join(directory, `${head.day}.checkpoints`)
    const last = await lastCheckpoint(directory)
    const at = clock.now()
    if (last?.seq !== head.seq) {
      const next: AuditCheckpoint = {
        at: isoTime(at),
        seq: head.seq as number,
        hash: head.hash as string,
        unkeyed: 0,
        previous: previousOf(chain.checkpoint, last),
        signature: '',
      }
      const signature = await deps.sign(Buffer.from(signedText(next)), at)
      const line = JSON.stringify({ ...next, signature: Buffer.from(signature).toString('base64') })
      const before = await readFile(path, 'utf8').catch(ifMissing(''))
      await replaceFile(path, `${before}${line}\n`, 0o600)
      await db
        .updateTable('audit_chain')
        .set({ checkpoint: sha256Hex(line) })
        .execute()
    }
    lastHour = hourOf(at)
  })

  return {
    write,
    writeWhenDue: async () => (lastHour === hourOf(clock.now()) ? undefined : write()),
  }
}

const hourOf = (at: Date) => at.toISOString().slice(0, 13)

interface Last {
  seq: number | null
  previous: string | null
  digest: string
}

/** The database knows the last checkpoint or, after a crash, the previous one. If the files lack it, the gap must be detected. */
function previousOf(known: string | null, last: Last | null): string {
  if (known === null) return last?.digest ?? GENESIS
  return last?.previous === known ? last.digest : known
}

/** The newest checkpoint of the files; for an unreadable one, only its digest. */
async function lastCheckpoint(directory: string): Promise<Last | null> {
  const names = (await readdir(directory)).filter((name) => CHECKPOINT_FILE.test(name)).sort()
  for (const name of names.reverse()) {
    const line = (await readFile(join(directory, name), 'utf8')).split('\n').filter(Boolean).at(-1)
    if (line === undefined) continue
    const digest = sha256Hex(line)
    try {
      const { seq, previous } = JSON.parse(line) as AuditCheckpoint
      return { seq, previous, digest }
    } catch {
      // Verification reports an unreadable checkpoint.
      return { seq: null, previous: null, digest }
    }
  }
  const note = noteOf(await readFile(join(directory, REMOVAL_NOTE), 'utf8').catch(() => ''))
  return note && { seq: null, previous: null, digest: note.previous }
}
