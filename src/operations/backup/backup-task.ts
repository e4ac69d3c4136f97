// Makes a backup, as a task: a dump and files of the same moment. The archive is verified, then visible under its name.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { TaskContext, TaskKind } from '../../domain/tasks.ts'
import type { Clock } from '../../kernel/clock.ts'
import { failureOf } from '../../kernel/failure.ts'
import { ensurePrivateDirectory, exists, fsyncPath, isStorageFull } from '../../kernel/files.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import type { Pool } from '../../store/files/pool.ts'
import type { Paths } from '../../store/paths.ts'
import { keepNewest, removeUnfinished } from './archives.ts'
import { contentsOf, type DumpedState } from './contents.ts'
import { holdRemovals } from './hold.ts'
import { archiveName, archivePaths, madeAt, topOf } from './names.ts'
import { shownMissing, textOfMissing } from './missing.ts'
import { FORMAT, LIST } from './proof.ts'
import { DIRECTORIES, DUMP, MISSING } from './read-archive.ts'
import { verifyArchive } from './verify-archive.ts'
import { writeArchive, type Written } from './write-archive.ts'

export const BACKUP = 'backup'

export interface BackupDeps {
  db: Db
  clock: Clock
  paths: Paths
  pool: Pick<Pool, 'open'>
  audit: Pick<AuditLog, 'record' | 'flush'>
  directory: string
  /** version of this build */
  version: string
  settings(): Pick<Settings, 'backup'>
  /** Writes a custom-format dump of one moment. @throws Problem('backup_unavailable') */
  dump(to: string, signal: AbortSignal): Promise<void>
  /** what a dump states about the files beside it */
  stateOf(dump: string): Promise<DumpedState>
}

/** Argument of a scheduled run: older archives than the settings allow are deleted afterwards. */
export interface BackupArguments {
  by: string
  thin_out?: boolean
}

/** An interrupted backup leaves nothing and begins again. */
export function backupKind(deps: BackupDeps): TaskKind {
  return {
    kind: BACKUP,
    lane: 'maintenance',
    leaderOnly: true,
    async run(context) {
      const { by, thin_out: thinOut } = context.arguments as unknown as BackupArguments
      try {
        const made = await backUp(deps, context)
        const deleted = thinOut ? await keepNewest(deps.directory, deps.settings().backup.retention_count) : []
        for (const name of deleted) context.line(`${name} is deleted: more than the settings keep`)
        const isComplete = made.missing === 0
        await deps.audit.record({
          ...{ action: 'BACKUP_CREATE', user: by, detail: made.name },
          result: isComplete ? 'SUCCESS' : 'WARNING',
          outcome: isComplete ? 'ok' : 'incomplete',
          extra: { ...made, deleted },
        })
        return { ...made, deleted }
      } catch (error) {
        if (!context.signal.aborted) {
          const { code, detail } = failureOf(error)
          await deps.audit.record({ action: 'BACKUP_CREATE', result: 'FAILURE', user: by, outcome: code, detail })
        }
        throw error
      }
    },
  }
}

async function backUp(deps: BackupDeps, { line, signal }: TaskContext) {
  const { clock, directory, paths } = deps
  const name = archiveName(clock.now())
  const { archive, partial, digest, missing: list, scratch } = archivePaths(directory, name)
  await ensurePrivateDirectory(directory)
  await removeUnfinished(directory)
  if (await exists(archive)) throw new Problem('already_running', `${name} is there already: one backup a second`)
  await mkdir(scratch, { mode: 0o700 })
  try {
    const written = await write()
    signal.throwIfAborted()
    line(`verifying ${written.sizeBytes} bytes`)
    const { packages, missing, proof } = await verifyArchive(partial)
    if (!proof) throw new Error(`${name} has no list of its entries`)
    if (missing.length > 0) await writeFile(list, textOfMissing(missing), { mode: 0o600 })
    await writeFile(digest, `${written.sha256}  ${name}\n`, { mode: 0o600 })
    await rename(partial, archive)
    await fsyncPath(directory)
    line(`${name}: ${packages} package files, ${written.sizeBytes} bytes`)
    for (const { filename } of missing) line(`${filename} is lost: the archive does not have it`)
    const { sizeBytes: size_bytes, sha256 } = written
    return { name, filename: name, size_bytes, sha256, packages, created_at: madeAt(name), ...shownMissing(missing) }
  } catch (error) {
    for (const beside of [digest, list]) await rm(beside, { force: true })
    if (isStorageFull(error)) throw new Problem('storage_full', 'the disk is full', {}, { cause: error })
    throw error
  } finally {
    await rm(partial, { force: true })
    await rm(scratch, { recursive: true, force: true })
  }

  async function write(): Promise<Written> {
    await deps.audit.flush()
    const hold = await holdRemovals(deps.db, signal)
    try {
      const begunAt = Date.now()
      const dump = join(scratch, DUMP)
      line('dumping the database')
      await deps.dump(dump, signal)
      hold.check()
      line('writing the archive')
      const state = await deps.stateOf(dump)
      const lost = { missing: [], list: join(scratch, MISSING) }
      const files = contentsOf(paths, deps.pool, dump, state, begunAt, lost)
      const proof = {
        about: { format: FORMAT, service: deps.version, created_at: madeAt(name), name: topOf(name) },
        list: join(scratch, LIST),
        totals: () => ({ missing: lost.missing.length, rows: state.rows }),
      }
      return await writeArchive(partial, proof, DIRECTORIES, files, { signal, onFile: hold.check })
    } finally {
      await hold.release().catch(() => {})
    }
  }
}
