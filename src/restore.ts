// The command behind `npm run restore`: see backup/restore.ts.
import { loadDump } from './backup/database/load-dump.ts'
import { readDump } from './backup/database/read-dump.ts'
import { restoreCommand } from './backup/restore.ts'
import { readPoolEnv } from './config/env.ts'
import type { Database } from './store/db.ts'
import type { ObjectStore } from './store/objects/object-store.ts'
import { openObjectStore } from './wiring/object-store.ts'

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
  const load = async (path: string, database: Database) => {
    const dump = await readDump(path)
    await loadDump(dump, database).finally(() => dump.close())
  }
  let store: ObjectStore | null
  try {
    store = await openObjectStore(readPoolEnv(env), { warn: output.complain })
  } catch (error) {
    output.complain((error as Error).message)
    return 2
  }
  return restoreCommand(args, { ...output, reposDir, databaseUrl, load, store }).finally(() => store?.close())
}
