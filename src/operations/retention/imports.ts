// Removes what imports leave: ended tasks with their lines and results, files in staging, and half-read catalogs.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ifMissing } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import type { Db } from '../../store/db.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { RetentionStep } from './step.ts'

/** Identified uploads have three parts; the sweep of dead processes removes them together with their pool files. */
const IDENTIFIED = /\..+\./

/**
 * Transfers remove their files when they end, and the staging directories of dead processes are swept, so old files are rare.
 * @param deps.directory `staging/incoming/` below REPOS_DIR
 * @param deps.syncKind kind of the tasks that read catalogs; their key is the id of the source
 */
export function importsStep(deps: {
  db: Db
  clock: Clock
  directory: string
  tasks: () => Pick<Tasks, 'deleteEnded' | 'countEnded'>
  syncKind: string
  settings(): Pick<Settings, 'retention'>
}): RetentionStep {
  const { db, clock, directory } = deps

  /** Files and directories in staging that nobody has written to for the kept days. */
  async function oldFiles(): Promise<string[]> {
    const before = clock.now().getTime() - deps.settings().retention.import_cleanup_days * DAY_MS
    const found: string[] = []
    for (const instance of await readdir(directory)) {
      for (const name of await namesIn(join(directory, instance))) {
        const path = join(directory, instance, name)
        const info = await stat(path).catch(ifMissing(null))
        if (info && info.mtimeMs < before && !IDENTIFIED.test(name)) found.push(path)
      }
    }
    return found
  }

  /** A resumed sync begins again, so rows of a source that no task reads are useless. @returns their number */
  async function dropHalfRead(): Promise<number> {
    const idle = sql`not exists (select from tasks t where t.kind = ${deps.syncKind} and t.key = source_id::text
      and t.state in ('queued', 'running', 'cancelling'))`
    const { numAffectedRows } = await sql`delete from catalog_incoming where ${idle}`.execute(db)
    await sql`delete from catalog_incoming_runs where ${idle}`.execute(db)
    const firstOnes = sql`source_id in (select id from sources where last_sync is null) and ${idle}`
    const { numAffectedRows: firstRows } = await sql`delete from catalog where ${firstOnes}`.execute(db)
    await sql`delete from catalog_runs where ${firstOnes}`.execute(db)
    return Number(numAffectedRows ?? 0) + Number(firstRows ?? 0)
  }

  return {
    name: 'imports',
    plan: async () => ({ tasks: await deps.tasks().countEnded(), files: (await oldFiles()).length }),
    async run({ line, signal }) {
      const tasks = await deps.tasks().deleteEnded()
      const files = await oldFiles()
      for (const path of files) {
        signal.throwIfAborted()
        await rm(path, { recursive: true, force: true })
      }
      const catalogRows = await dropHalfRead()
      line(`${tasks} tasks and ${files.length} files are deleted`)
      return { tasks, files: files.length, catalog_rows: catalogRows }
    },
  }
}
