// The places of everything below REPOS_DIR (specification, "Storage directories").
import { dirname, join } from 'node:path'
import { ensureDirectory, ensurePrivateDirectory } from '../kernel/files.ts'

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
  /** what listeners know about who may read private distributions */
  access: string
  settings: string
  /** names the object store of this installation; missing while packages are kept on the disk */
  poolNote: string
  /** public keys that clients fetch */
  keys: string
  generations: string
  /** what clients read about the names of repositories */
  listings: string
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
    access: join(root, 'access'),
    settings: join(root, 'settings.json'),
    poolNote: join(root, 'pool-store.json'),
    keys: join(root, 'keys'),
    generations: join(root, '.generations'),
    listings: join(root, '.listings'),
  }
}

/**
 * Creates every directory the service writes to. Directories that are not served are closed to other users (0700), even if an
 * earlier version or a person created them; the published trees stay readable for a web server.
 * @param trees the directories of published trees, relative to the root
 */
export async function ensurePaths(paths: Paths, trees: readonly string[]): Promise<void> {
  const served = [paths.root, paths.keys, paths.generations, ...trees.map((tree) => join(paths.root, tree))]
  for (const path of served) await ensureDirectory(path)
  const { pool, manifests, incoming, quarantine, audit, logs, gnupg, security, listings, access } = paths
  const staging = dirname(incoming)
  for (const path of [pool, manifests, staging, incoming, quarantine, audit, logs, gnupg, security, listings, access])
    await ensurePrivateDirectory(path)
}
