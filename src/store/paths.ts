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
  dists: string
  rpm: string
  apk: string
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
    dists: join(root, 'dists'),
    rpm: join(root, 'rpm'),
    apk: join(root, 'apk'),
  }
}

/** Makes every directory the service writes to; those that hold secrets or held bytes are closed to others. */
export async function ensurePaths(paths: Paths): Promise<void> {
  for (const open of [
    paths.pool,
    paths.manifests,
    paths.keys,
    paths.generations,
    paths.dists,
    paths.rpm,
    paths.apk,
    paths.logs,
  ]) {
    await ensureDirectory(open)
  }
  for (const closed of [paths.incoming, paths.quarantine, paths.audit, paths.gnupg, paths.security]) {
    await ensureDirectory(closed, 0o700)
  }
}
