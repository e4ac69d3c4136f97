// Where everything lies below REPOS_DIR (specification, "Storage directories").
import { join } from 'node:path'
import { ensureDirectory } from '../kernel/files.ts'

export interface Paths {
  root: string
  pool: string
  manifests: string
  /** arrivals; one directory for each running process */
  incoming: string
  quarantine: string
  audit: string
  logs: string
  gnupg: string
  security: string
  settings: string
  /** public keys that clients fetch */
  keys: string
  generations: string
}

export function createPaths(root: string): Paths {
  return {
    root,
    pool: join(root, 'pool'),
    manifests: join(root, 'manifests'),
    incoming: join(root, 'staging', 'incoming'),
    quarantine: join(root, 'staging', 'quarantine'),
    audit: join(root, 'audit'),
    logs: join(root, 'logs'),
    gnupg: join(root, 'gnupg'),
    security: join(root, 'security'),
    settings: join(root, 'settings.json'),
    keys: join(root, 'keys'),
    generations: join(root, '.generations'),
  }
}

/**
 * Makes every directory the service writes to; those that hold secrets or held bytes are closed to others.
 * @param trees the directories of published trees, relative to the root
 */
export async function ensurePaths(paths: Paths, trees: readonly string[]): Promise<void> {
  for (const open of [
    paths.pool,
    paths.manifests,
    paths.keys,
    paths.generations,
    ...trees.map((tree) => join(paths.root, tree)),
    paths.logs,
  ]) {
    await ensureDirectory(open)
  }
  for (const closed of [paths.incoming, paths.quarantine, paths.audit, paths.gnupg, paths.security]) {
    await ensureDirectory(closed, 0o700)
  }
}
