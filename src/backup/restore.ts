// The command behind `npm run restore`: an archive into an empty system, either database.
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sql } from 'kysely'
import type { FormatId } from '../domain/package.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import { systemClock } from '../kernel/clock.ts'
import { createFile, ensureDirectory, ensurePrivateDirectory, exists, fsyncPath, ifMissing } from '../kernel/files.ts'
import { openDatabase, type Database, type Db } from '../store/db.ts'
import { createManifests } from '../store/records/manifests.ts'
import { objectKey, type ObjectStore } from '../store/objects/object-store.ts'
import { claimStore } from '../store/objects/ownership.ts'
import { createPaths, type Paths } from '../store/paths.ts'
import { createAuditLog } from '../store/audit-log.ts'
import { BACKUP } from './backup-task.ts'
import { QUARANTINE } from './contents.ts'
import type { MissingFile } from './missing.ts'
import { DUMP, readArchive, SETTINGS, verifyArchive } from './read-archive.ts'
import { withdrawMissing } from './withdraw-missing.ts'

export interface RestoreDeps {
  reposDir: string
  databaseUrl: string
  /** Loads a dump into an empty database of either engine: all of it or nothing. @throws Problem */
  load(dump: string, database: Database): Promise<void>
  print(line: string): void
  /** where package files are kept; null for the disk */
  store: ObjectStore | null
}

/** pool/<format>/<2 hex>/<SHA-256>/<file name>; `verifyArchive` has compared the bytes with the digest. */
const POOLED = /^pool\/([a-z]+)\/[0-9a-f]{2}\/([0-9a-f]{64})\/[^/]+$/

/** Records whose manifests are looked up at a time. */
const PAGE = 1000

/**
 * @throws Problem('validation_error') for what is no whole archive of this service, for one of a newer version, and for a
 * system that is not empty; nothing is written then
 */
export async function restore(archive: string, deps: RestoreDeps): Promise<void> {
  const { reposDir, databaseUrl, print } = deps
  const paths = createPaths(resolve(reposDir))
  print(`verifying ${archive}`)
  const { packages, missing } = await verifyArchive(archive)
  if (missing.length > 0) print(`the archive lacks ${missing.length} package files, which were lost when it was made`)
  await requireEmpty(paths)
  await ensureDirectory(paths.root)
  await claimStore(paths, deps.store)
  const scratch = join(paths.root, '.restore')
  await rm(scratch, { recursive: true, force: true })
  await ensurePrivateDirectory(scratch)
  try {
    print(`unpacking ${packages} package files`)
    await unpack(archive, scratch, deps.store)
    print('loading the database')
    const database = await openDatabase(databaseUrl, {})
    try {
      await deps.load(join(scratch, DUMP), database)
      await moveIntoPlace(scratch, paths, deps.store)
      await withdraw(database.db, paths, missing, print)
      await settle(database.db, paths)
    } finally {
      await database.close()
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  print('restored; the indexes are built and signed when the service starts')
}

/** @throws Problem('validation_error') */
async function requireEmpty(paths: Paths): Promise<void> {
  const { pool, manifests, audit, gnupg, security, quarantine, settings } = paths
  for (const directory of [pool, manifests, audit, gnupg, security, quarantine]) {
    const names = await readdir(directory).catch(ifMissing([]))
    if (names.length > 0)
      throw new Problem('validation_error', `${directory} is not empty: restore into an empty REPOS_DIR`)
  }
  if (await exists(settings))
    throw new Problem('validation_error', `${settings} exists: restore into an empty REPOS_DIR`)
}

/** Package files go to the store one by one: the disk need not have room for all. An object is harmless until a record names it. */
async function unpack(archive: string, scratch: string, store: ObjectStore | null): Promise<void> {
  for await (const { name, type, mode, content } of readArchive(archive)) {
    const path = join(scratch, name)
    if (type === 'directory') {
      await ensureDirectory(path, 0o700)
      continue
    }
    await ensureDirectory(dirname(path), 0o700)
    const file = createFile(path, mode)
    try {
      for await (const chunk of content) await file.write(chunk)
      await file.flush()
    } finally {
      file.close()
    }
    const [, format, sha256] = POOLED.exec(name) ?? []
    if (!store || !sha256) continue
    await store.put(objectKey({ format: format as FormatId, sha256 }), path, sha256)
    await rm(path)
  }
}

async function moveIntoPlace(scratch: string, paths: Paths, store: ObjectStore | null): Promise<void> {
  const moves: [string, string][] = [
    [QUARANTINE, paths.quarantine],
    ...(store ? [] : [['pool', paths.pool] as [string, string]]),
    ['manifests', paths.manifests],
    ['audit', paths.audit],
    ['security', paths.security],
    ['gnupg', paths.gnupg],
    [SETTINGS, paths.settings],
  ]
  for (const [name, to] of moves) {
    const from = join(scratch, name)
    if (!(await exists(from))) continue
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    // An empty directory may be there.
    if (name !== SETTINGS) await rm(to, { recursive: true, force: true })
    await rename(from, to)
    await fsyncPath(dirname(to))
  }
}

/** The service chains the entries when it starts: it has the key. */
async function withdraw(
  db: Db,
  paths: Paths,
  missing: readonly MissingFile[],
  print: RestoreDeps['print'],
): Promise<void> {
  const onError = (error: unknown) => {
    throw error
  }
  const options = { key: '', checkpoint: () => {}, mayFile: () => false, onError }
  const audit = createAuditLog({ db, clock: systemClock, directory: paths.audit, ...options })
  const withdrawn = await withdrawMissing({ db, clock: systemClock, audit }, missing)
  for (const { filename, sha256 } of missing) print(`missing: ${filename} (SHA-256 ${sha256})`)
  for (const one of withdrawn) print(`quarantined: ${one}, until it is deleted and uploaded again`)
}

/** What the processes of the old system had begun does not go on here. */
async function settle(db: Db, paths: Paths): Promise<void> {
  await sql`update tasks set state = 'cancelled', finished_at = now(), holder = null
    where kind = ${BACKUP} and state in ('queued', 'running', 'cancelling')`.execute(db)
  await sql`delete from removal_holds`.execute(db)
  await sql`delete from leases`.execute(db)
  const manifests = createManifests(db, paths)
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom('packages')
      .select(['id', 'distribution', 'name', 'version', 'arch'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute()
    const last = rows.at(-1)
    if (!last) return
    const missing: number[] = []
    for (const row of rows) if (!(await manifests.has(manifests.key(row)))) missing.push(row.id)
    await manifests.write(missing)
    after = last.id
  }
}

/** @returns the exit code: 0 when it was restored, 1 when not, 2 for wrong use */
export async function restoreCommand(
  args: readonly string[],
  deps: RestoreDeps & { complain(line: string): void },
): Promise<0 | 1 | 2> {
  const [archive, ...others] = args
  if (archive === undefined || others.length > 0) {
    deps.complain('usage: npm run restore -- ARCHIVE\n\nDATABASE_URL and REPOS_DIR name the empty system.')
    return 2
  }
  try {
    await restore(archive, deps)
    return 0
  } catch (error) {
    deps.complain(isProblem(error) ? error.detail : (error as Error).message)
    return 1
  }
}
