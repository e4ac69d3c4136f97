// The command behind `npm run restore`: see operations/backup/restore-command.ts.
import { join } from 'node:path'
import { checkEmpty, loadDump } from './operations/backup/database/load-dump.ts'
import { readDump } from './operations/backup/database/read-dump.ts'
import { restoreCommand } from './operations/backup/restore-command.ts'
import type { RestoreDeps } from './operations/backup/restore.ts'
import { readPoolEnv } from './config/env.ts'
import { exists } from './kernel/files.ts'
import { openDatabase } from './store/db.ts'
import type { ObjectStore } from './store/objects/object-store.ts'
import { directoryOf } from './store/pglite/open.ts'
import { openObjectStore } from './app/wiring/object-store.ts'

/** @returns the exit code */
export async function restore(
  args: readonly string[],
  env: Record<string, string | undefined>,
  output: { print(line: string): void; complain(line: string): void },
): Promise<0 | 1 | 2> {
  process.umask(0o077)
  const { REPOS_DIR: reposDir, DATABASE_URL: databaseUrl } = env
  if (!reposDir || !databaseUrl) {
    output.complain('DATABASE_URL and REPOS_DIR must name the empty system')
    return 2
  }
  const load: RestoreDeps['load'] = async (path, database, rows) => {
    const dump = await readDump(path)
    await loadDump(dump, database, rows ? { rows } : {}).finally(() => dump.close())
  }
  const checkDatabase = async () => {
    // A refused archive leaves nothing behind: a directory that does not exist yet is not created.
    const directory = databaseUrl.startsWith('pglite://') ? directoryOf(databaseUrl) : ''
    if (directory === null || (directory !== '' && !(await exists(join(directory, 'PG_VERSION'))))) return
    const database = await openDatabase(databaseUrl)
    try {
      const lease = await database.acquire()
      await checkEmpty(lease).finally(() => lease.release())
    } finally {
      await database.close()
    }
  }
  const settingsKey = env['SETTINGS_ENCRYPTION_KEY']?.trim()
    ? env['SETTINGS_ENCRYPTION_KEY']
    : env['JWT_SECRET_KEY'] || null
  let store: ObjectStore | null
  try {
    store = await openObjectStore(readPoolEnv(env), { warn: output.complain })
  } catch (error) {
    output.complain((error as Error).message)
    return 2
  }
  return restoreCommand(args, { ...output, reposDir, databaseUrl, load, checkDatabase, settingsKey, store }).finally(
    () => store?.close(),
  )
}
