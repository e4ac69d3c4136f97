// The command behind `npm run restore`: see backup/restore.ts.
import { loadDump } from './backup/database/load.ts'
import { restoreCommand } from './backup/restore.ts'
import { readEnv } from './config/env.ts'

/** @returns the exit code */
export async function restore(
  args: readonly string[],
  env: Record<string, string | undefined>,
  output: { print(line: string): void; complain(line: string): void },
): Promise<0 | 1 | 2> {
  process.umask(0o077)
  const { reposDir, databaseUrl } = readEnv(env).env
  return restoreCommand(args, { ...output, reposDir, databaseUrl, load: loadDump })
}
