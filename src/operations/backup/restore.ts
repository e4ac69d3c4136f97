// Restores an archive into an empty system, with either database.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sql } from 'kysely'
import { Problem } from '../../domain/problem.ts'
import { systemClock } from '../../kernel/clock.ts'
import { createFile, ensureDirectory, ensurePrivateDirectory, exists, fsyncPath } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import { openDatabase, type Database, type Db } from '../../store/db.ts'
import { createManifests } from '../../packages/records/manifests.ts'
import { objectKey, type ObjectStore } from '../../store/objects/object-store.ts'
import { claimStore } from '../../store/objects/ownership.ts'
import { createPaths, type Paths } from '../../store/paths.ts'
import { createAuditLog } from '../../audit/log.ts'
import { BACKUP } from './backup-task.ts'
import { QUARANTINE } from './contents.ts'
import type { MissingFile } from './missing.ts'
import { DUMP, readArchive, requireArchive, SETTINGS } from './read-archive.ts'
import { unreadableSecrets, withoutSecrets } from './sealed-settings.ts'
import { verifyArchive, type Verified } from './verify-archive.ts'
import { quarantineMissing } from './quarantine-missing.ts'

export interface RestoreDeps {
  reposDir: string
  databaseUrl: string
  /**
   * Loads a dump into an empty database of either engine: all of it or nothing.
   * @param rows number that each table must have then; null when nobody counted them
   * @throws Problem
   */
  load(dump: string, database: Database, rows: Readonly<Record<string, number>> | null): Promise<void>
  /** @throws when the database is not empty */
  checkDatabase(): Promise<void>
  /** the key with which the service of this system will seal its secrets; null when it is not known here */
  settingsKey: string | null
  print(line: string): void
  /** where package files are kept; null for the disk */
  store: ObjectStore | null
}

/** pool/<format>/<2 hex>/<SHA-256>/<file name>; `verifyArchive` has compared the bytes with the digest. */
const POOLED = /^pool\/([a-z]+)\/[0-9a-f]{2}\/([0-9a-f]{64})\/[^/]+$/

/** Records whose manifests are looked up at a time. */
const PAGE = 1000

/** How the command line names the two options. */
export const WITHOUT_PROOF = '--without-proof'
export const WITHOUT_SECRETS = '--without-secrets'

export interface RestoreOptions {
  /** also restores an archive of an older build, which does not prove that it is complete */
  withoutProof: boolean
  /** leaves secrets unset that the key of this system does not open */
  withoutSecrets: boolean
}

/**
 * @throws Problem('validation_error') for a file that is no complete archive of this service, for an archive of a newer version,
 * and for a system that is not empty; nothing is written then
 */
export async function restore(archive: string, deps: RestoreDeps, options: RestoreOptions): Promise<void> {
  const { reposDir, databaseUrl, print } = deps
  const paths = createPaths(resolve(reposDir))
  await requireArchive(archive)
  await requireEmpty(paths)
  await deps.checkDatabase()
  print(`verifying ${archive}`)
  const verified = await verifyArchive(archive)
  const { packages, missing, proof } = verified
  sayProof(verified, options, print)
  if (missing.length > 0) print(`the archive lacks ${missing.length} package files, which were lost when it was made`)
  const unreadable = unreadableSecrets(verified.settings, deps.settingsKey)
  saySecrets(unreadable, deps, options)
  await ensureDirectory(paths.root)
  await claimStore(paths, deps.store)
  const scratch = join(paths.root, '.restore')
  await rm(scratch, { recursive: true, force: true })
  await ensurePrivateDirectory(scratch)
  try {
    print(`unpacking ${packages} package files`)
    await unpack(archive, scratch, deps.store)
    if (unreadable.length > 0)
      await writeFile(join(scratch, SETTINGS), withoutSecrets(verified.settings, unreadable), { flush: true })
    print('loading the database')
    const database = await openDatabase(databaseUrl, {})
    try {
      await deps.load(join(scratch, DUMP), database, proof && proof.rows)
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

/** @throws Problem('validation_error') for an archive without proof, unless `withoutProof` is set */
function sayProof({ entries, proof }: Verified, { withoutProof }: RestoreOptions, print: RestoreDeps['print']): void {
  if (proof) {
    print(`the archive is whole: made at ${proof.created_at} by version ${proof.service}, ${entries} entries as listed`)
    return
  }
  if (!withoutProof)
    throw new Problem(
      'validation_error',
      `the archive does not list what it has: an older build made it, or its beginning is gone. It cannot be known whether it is whole; ${WITHOUT_PROOF} restores it nevertheless`,
    )
  print('the archive does not list what it has, because an older build made it. It cannot be known')
  print('- whether packages, manifests, keys, settings or days of the audit log are missing or were exchanged')
  print('- whether its database and its files are of the same moment')
  print('Known are: package files have the digests in their names, and the dump can be read to its end.')
}

/** @throws Problem('validation_error') when secrets cannot be read, unless `withoutSecrets` is set */
function saySecrets(names: readonly string[], { settingsKey, print }: RestoreDeps, options: RestoreOptions): void {
  if (names.length === 0) return
  if (!options.withoutSecrets)
    throw new Problem(
      'validation_error',
      settingsKey === null
        ? `the archive has encrypted settings (${names.join(', ')}): set SETTINGS_ENCRYPTION_KEY (or JWT_SECRET_KEY, where it was unset) to that of the old system; ${WITHOUT_SECRETS} restores without them`
        : `SETTINGS_ENCRYPTION_KEY (or JWT_SECRET_KEY, where that is unset) is not the one that ${names.join(', ')} in the archive were encrypted with: set it to that of the old system; ${WITHOUT_SECRETS} restores without them`,
    )
  for (const name of names) print(`left out: ${name}; set it again when the service runs`)
  print(
    'Codes of authenticator apps are encrypted with the same key: sign in with a recovery code, or let an admin reset them.',
  )
}

/** @throws Problem('validation_error') */
async function requireEmpty(paths: Paths): Promise<void> {
  const { pool, manifests, audit, gnupg, security, quarantine, settings } = paths
  for (const directory of [pool, manifests, audit, gnupg, security, quarantine]) {
    if ((await namesIn(directory)).length > 0)
      throw new Problem('validation_error', `${directory} is not empty: restore into an empty REPOS_DIR`)
  }
  if (await exists(settings))
    throw new Problem('validation_error', `${settings} exists: restore into an empty REPOS_DIR`)
}

/** Package files go to the store one by one: the disk need not have room for all. No record names the objects yet. */
async function unpack(archive: string, scratch: string, store: ObjectStore | null): Promise<void> {
  for await (const { name, type, content } of readArchive(archive)) {
    const path = join(scratch, name)
    const [, format, sha256] = POOLED.exec(name) ?? []
    if (type === 'directory') {
      await ensureDirectory(path, 0o700)
      continue
    }
    await ensureDirectory(dirname(path), 0o700)
    // The modes of the archive do not count. A web server reads packages through the published trees (store/files/pool.ts).
    const file = await createFile(path, sha256 ? 0o644 : 0o600)
    try {
      for await (const chunk of content) await file.write(chunk)
      await file.flush()
    } finally {
      await file.close()
    }
    if (!store || !sha256 || !format) continue
    await store.put(objectKey({ format, sha256 }), path, sha256)
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
    // An empty directory may exist there.
    if (name !== SETTINGS) await rm(to, { recursive: true, force: true })
    await rename(from, to)
    await fsyncPath(dirname(to))
  }
}

/** The service chains the entries when it starts, because it has the key. */
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
  const withdrawn = await quarantineMissing({ db, clock: systemClock, audit }, missing)
  for (const { filename, sha256 } of missing) print(`missing: ${filename} (SHA-256 ${sha256})`)
  for (const one of withdrawn) print(`quarantined: ${one}, until it is deleted and uploaded again`)
}

/** Ends the unfinished work of the old system's processes. */
async function settle(db: Db, paths: Paths): Promise<void> {
  await sql`update tasks set state = 'cancelled', finished_at = now(), holder = null
    where kind = ${BACKUP} and state in ('queued', 'running', 'cancelling')`.execute(db)
  await sql`delete from removal_holds`.execute(db)
  await sql`delete from leases`.execute(db)
  // The archive has no listings: each name is published again.
  await sql`update listings set published_revision = 0`.execute(db)
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
