// The files of a backup besides the dump: exactly those that existed at the dump's moment.
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

/** A stored file that the dump names. */
export interface DumpedFile {
  format: FormatId
  sha256: string
  filename: string
  /** whether a record or a kept publication needs it: if it is missing, the archive names it */
  isNeeded: boolean
}

/** What the dump states about the files beside it. */
export interface DumpedState {
  /** the end of the audit chain; null when nothing was audited */
  auditHead: { seq: number; day: string; removedSeq: number } | null
  /** number of rows of each table */
  rows: Record<string, number>
  files: AsyncIterable<DumpedFile>
}

/** Quarantined bytes have no separate top directory in the archive: a person may still release them. */
export const QUARANTINE = 'security/quarantine'

/**
 * The files in the order in which they are restored.
 * @param begunAt time before the dump, in milliseconds since 1970
 * @param lost receives missing files; the backup continues, because an operator needs it most while files are missing
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
  // A manifest that was written since is left out; it is written again after a restore.
  for await (const file of filesBelow(paths.manifests, 'manifests')) yield { ...file, unchangedSince: begunAt }
  for await (const file of dumped.files) yield* packageFiles(pool, file, lost.missing)
  if (lost.missing.length === 0) return
  await writeFile(lost.list, textOfMissing(lost.missing), { mode: 0o600 })
  yield { name: MISSING, path: lost.list, mode: 0o600 }
}

/** Regular files below a directory, with their modes; files that disappear meanwhile are left out. */
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
 * Entries that were filed after the dump would contradict the chain in the dump, so they are left out. Retention removes no
 * days while a backup holds removals; if it began before, the backup fails.
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
