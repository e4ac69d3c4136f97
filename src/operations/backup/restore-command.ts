// The command behind `npm run restore`: its arguments, its usage, its exit code.
import { isProblem } from '../../domain/problem.ts'
import { restore, WITHOUT_PROOF, WITHOUT_SECRETS, type RestoreDeps } from './restore.ts'

const USAGE = `usage: npm run restore -- [${WITHOUT_PROOF}] [${WITHOUT_SECRETS}] ARCHIVE

DATABASE_URL and REPOS_DIR name the empty system.
${WITHOUT_PROOF}  restores an archive of an older build too, of which nobody can tell whether it is whole
${WITHOUT_SECRETS}  leaves settings unset that SETTINGS_ENCRYPTION_KEY does not decrypt, because the old key is lost`

/** @returns the exit code: 0 when it was restored, 1 when it was not, 2 for wrong usage */
export async function restoreCommand(
  args: readonly string[],
  deps: RestoreDeps & { complain(line: string): void },
): Promise<0 | 1 | 2> {
  const [archive, ...others] = args.filter((arg) => arg !== WITHOUT_PROOF && arg !== WITHOUT_SECRETS)
  if (archive === undefined || archive.startsWith('-') || others.length > 0) {
    deps.complain(USAGE)
    return 2
  }
  try {
    const withoutSecrets = args.includes(WITHOUT_SECRETS)
    await restore(archive, deps, { withoutProof: args.includes(WITHOUT_PROOF), withoutSecrets })
    return 0
  } catch (error) {
    deps.complain(isProblem(error) ? error.detail : (error as Error).message)
    return 1
  }
}
