// What belongs to a backup besides the dump: exactly the files that the dump's moment had.
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { FormatId } from '../../domain/package.ts'
import { Problem } from '../../domain/problem.ts'
import { exists, ifMissing } from '../../kernel/files.ts'
import { entriesBelow } from '../../kernel/files-below.ts'
import { CHECKPOINT_FILE } from '../../audit/checkpoints.ts'
import { DAY_FILE } from '../../audit/chain.ts'
import { linesOf } from '../../audit/lines.ts'
import { noteOf, REMOVAL_NOTE } from '../../audit/removal-note.ts'
import type { Paths } from '../../store/paths.ts'
import type { Pool } from '../../store/files/pool.ts'
import { MOST_MISSING, textOfMissing, type MissingFile } from './missing.ts'
import { DUMP, MISSING, SETTINGS } from './read-archive.ts'
import type { ArchiveFile } from './write-archive.ts'

/** A stored file, as the dump names it. */
export interface DumpedFile {
  format: FormatId
  sha256: string
  filename: string
  /** of a record or of a kept publication: the archive names it when it is missing */
  isNeeded: boolean
}

/** What the dump says of the files beside it. */
export interface DumpedState {
  /** the end of the audit chain; null when nothing was audited */
  auditHead: { seq: number; day: string; removedSeq: number } | null
  /** of each table */
  rows: Record<string, number>
  files: AsyncIterable<DumpedFile>
}

/** Quarantined bytes have no directory of their own in the archive: a person may still release them. */
export const QUARANTINE = 'security/quarantine'

/**
 * In the order in which they are restored.
 * @param begunAt before the dump, in milliseconds since 1970
 * @param lost receives the files that are missing: an operator needs a backup most while some are
 * @throws Problem('backup_unavailable') when there are more than `MOST_MISSING` of them
 */
export async function* contentsOf(
  paths: Paths,
  pool: Pick<Pool, 'open'>,
  dump: string,
  dumped: DumpedState,
  begunAt: number,
  lost: { missing: MissingFile[]; list: string },
): AsyncGenerator<ArchiveFile> {
  yield { name: DUMP, path: dump, mode: 0o600 }
  if (await exists(paths.settings)) yield { name: SETTINGS, path: paths.settings, mode: 0o600 }
  yield* filesBelow(paths.gnupg, 'gnupg')
  yield* filesBelow(paths.security, 'security')
  yield* auditFiles(paths.audit, dumped.auditHead)
  // One that was written since is left out, and written again after a restore.
  for await (const file of filesBelow(paths.manifests, 'manifests')) yield { ...file, unchangedSince: begunAt }
  for await (const file of dumped.files) yield* packageFiles(pool, file, lost.missing)
  if (lost.missing.length === 0) return
  await writeFile(lost.list, textOfMissing(lost.missing), { mode: 0o600 })
  yield { name: MISSING, path: lost.list, mode: 0o600 }
}

/** Regular files below a directory, with their modes; one that vanishes meanwhile is left out. */
async function* filesBelow(directory: string, name: string): AsyncGenerator<ArchiveFile> {
  for await (const entry of entriesBelow(directory)) {
    // Half-written files begin with a dot.
    if (!entry.isFile() || entry.name.startsWith('.')) continue
    const path = join(entry.parentPath, entry.name)
    const info = await stat(path).catch(() => null)
    if (info) yield { name: join(name, relative(directory, path)), path, mode: info.mode & 0o777 }
  }
}

/**
 * Entries that were filed after the dump would contradict the chain that the dump has. Retention removes no days while a
 * backup holds removals; should it have begun before, the backup fails.
 */
async function* auditFiles(directory: string, head: DumpedState['auditHead']): AsyncGenerator<ArchiveFile> {
  const note = await readNote(directory)
  const removed = noteOf(note)
  if (removed && removed.seq > (head?.removedSeq ?? 0)) throw removedMeanwhile()
  if (removed) yield { name: `audit/${REMOVAL_NOTE}`, path: join(directory, REMOVAL_NOTE), mode: 0o600 }
  for (const name of (await readdir(directory)).sort()) {
    const day = (DAY_FILE.exec(name) ?? CHECKPOINT_FILE.exec(name))?.[1]
    if (!day || !head || day > head.day || day <= (removed?.day ?? '')) continue
    const path = join(directory, name)
    const { size } = await stat(path)
    const sizeBytes = day < head.day ? size : await bytesUpTo(path, head.seq)
    yield { name: `audit/${name}`, path, mode: 0o600, sizeBytes }
  }
  if ((await readNote(directory)) !== note) throw removedMeanwhile()
}

const readNote = (directory: string) => readFile(join(directory, REMOVAL_NOTE), 'utf8').catch(ifMissing(''))

const removedMeanwhile = () =>
  new Problem('backup_unavailable', 'old days of the audit log were removed while the backup was made: try again')

/** Bytes of the lines whose `seq` is not beyond this. */
async function bytesUpTo(path: string, seq: number): Promise<number> {
  let kept = 0
  for await (const { bytes, end, whole } of linesOf(path)) {
    if (!whole || (JSON.parse(bytes.toString('utf8')) as { seq: number }).seq > seq) break
    kept = end
  }
  return kept
}

async function* packageFiles(
  pool: Pick<Pool, 'open'>,
  file: DumpedFile,
  missing: MissingFile[],
): AsyncGenerator<ArchiveFile> {
  const { format, sha256, filename } = file
  let found = false
  for (const [place, name] of [
    ['pool', `pool/${format}/${sha256.slice(0, 2)}/${sha256}/${filename}`],
    ['quarantine', `${QUARANTINE}/${sha256}/${filename}`],
  ] as const) {
    const stored = await pool.open(file, place)
    if (!stored) continue
    found = true
    try {
      yield { name, stored }
    } finally {
      await stored.close()
    }
  }
  if (found || !file.isNeeded) return
  if (missing.push({ format, sha256, filename }) > MOST_MISSING)
    throw new Problem(
      'backup_unavailable',
      `more than ${MOST_MISSING} package files are missing, the first of them ${missing[0]?.filename}: is the pool's disk mounted?`,
    )
}
