// The parts that everything else needs: database, directories, leader, audit log, settings.
import { createLicense, type License } from '../../config/license.ts'
import type { Env } from '../../config/env.ts'
import { INACTIVE_VARIABLES } from '../../config/variables.ts'
import { formats } from '../../formats/index.ts'
import { createLeader, type Leader } from '../jobs/leader.ts'
import { createBus, type Bus } from '../../kernel/bus.ts'
import { createCheckpoint, type Checkpoint } from '../../kernel/checkpoint.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createSecretBox, type SecretBox } from '../../kernel/crypto.ts'
import type { Log } from '../../kernel/log.ts'
import type { Uncaught } from '../../kernel/uncaught.ts'
import { createSettings, type SettingsStore } from '../../config/settings/settings.ts'
import { openAuditKey } from '../../publish/signing/audit-keys.ts'
import { createAuditLog, type AuditLog } from '../../audit/log.ts'
import { asDatabaseClock, askDatabase, createDatabaseClock, type DatabaseClock } from '../../store/database-clock.ts'
import { createKeptAnswers, type KeptAnswers } from '../../store/kept-answers.ts'
import { migrate, openDatabase, type Database, type Db } from '../../store/db.ts'
import { createManifests, type Manifests } from '../../packages/records/manifests.ts'
import { createPaths, ensurePaths, type Paths } from '../../store/paths.ts'
import { createObjectPool } from '../../store/files/object-pool.ts'
import { createPool, type LocalPool, type Pool } from '../../store/files/pool.ts'
import type { ObjectStore } from '../../store/objects/object-store.ts'
import { claimStore } from '../../store/objects/ownership.ts'
import { openObjectStore } from './object-store.ts'
import { createStaging, type Staging } from '../../store/files/staging.ts'

/** The inputs of the process. */
export interface Process {
  env: Env
  /** for tests, which move it; by default everything uses the clock of the database */
  clock?: Clock
  log: Log
  /** counts of uncaught errors; left out if nobody watches them */
  uncaught?: Pick<Uncaught, 'counts'>
}

export interface Foundation extends Process {
  clock: DatabaseClock
  production: boolean
  onError(error: unknown): void
  checkpoint: Checkpoint
  bus: Bus
  license: License
  paths: Paths
  database: Database
  db: Db
  /** null while packages are stored on disk */
  objectStore: ObjectStore | null
  pool: Pool
  /** holds quarantine, and the pool unless there is an object store */
  localPool: LocalPool
  manifests: Manifests
  staging: Staging
  leader: Leader
  audit: AuditLog
  settings: SettingsStore
  /** seals secrets before they are stored */
  secretBox: SecretBox
  keptAnswers: KeptAnswers
}

/** Opens the database, brings its schema up to date and loads the settings. @throws when one of these steps fails */
export async function createFoundation({ env, clock: given, log }: Process): Promise<Foundation> {
  const onError = (error: unknown) => log.error({ err: error }, 'unexpected error')
  const checkpoint = createCheckpoint(env.dieAt ?? undefined)
  const bus = createBus(onError)
  const paths = createPaths(env.reposDir)
  await ensurePaths(
    paths,
    formats.map(({ serving }) => serving.tree.path),
  )
  const database = await openDatabase(env.databaseUrl, {
    onError: (error) => log.warn({ err: error }, 'database connection lost'),
  })
  const { db } = database
  const later = await migrate(db)
  if (later.length > 0)
    log.warn(
      { migrations: later },
      'a newer build has migrated the database; this one works on it, without what is new',
    )
  const clock = given ? asDatabaseClock(given) : await createDatabaseClock({ ask: () => askDatabase(db) })
  const objectStore = await openObjectStore(env, log)
  await claimStore(paths, objectStore)
  const localPool = createPool(paths)
  const newPath = () => staging.newPath()
  const pool = objectStore ? createObjectPool({ store: objectStore, local: localPool, newPath }) : localPool
  const staging: Staging = createStaging({ db, clock, paths, pool, exclusive: database.engine === 'pglite' })
  // Before anything listens: uploads are received into a directory that belongs to this process.
  await staging.register()
  const { instanceId, isDead } = staging
  const leader = createLeader({
    db,
    clock,
    instanceId,
    isDead,
    onFault: (fault) => log.error(`${fault}: it does not lead`),
  })
  const audit = createAuditLog({
    db,
    clock,
    directory: paths.audit,
    key: await openAuditKey(paths.gnupg),
    checkpoint,
    mayFile: leader.isLeader,
    onError,
  })
  const secretBox = createSecretBox(env.settingsEncryptionKey)
  const settings = createSettings({
    path: paths.settings,
    secretBox,
    clock,
    bus,
    repoFormat: env.repoFormat,
    edition: env.edition,
    mode: env.mode,
    inactiveVariables: INACTIVE_VARIABLES,
    onError,
  })
  for (const warning of (await settings.load()).warnings) log.warn(warning)
  return {
    env,
    clock,
    log,
    production: env.mode === 'production',
    onError,
    checkpoint,
    bus,
    license: createLicense(env.edition),
    paths,
    database,
    db,
    objectStore,
    pool,
    localPool,
    manifests: createManifests(db, paths),
    staging,
    leader,
    audit,
    settings,
    secretBox,
    keptAnswers: createKeptAnswers({ db, clock, secretBox, instanceId, isDead }),
  }
}
