// A publisher over a test database and a temporary directory, and records to publish with it.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { factsToMatch, type PackageFacts } from '../domain/package.ts'
import { findDistribution } from '../formats/index.ts'
import type { Offered } from '../formats/format.ts'
import type { Signers } from '../formats/intake-format.ts'
import { createBus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { measure } from '../kernel/digests.ts'
import { createAuditLog } from '../audit/log.ts'
import type { Database } from '../store/db.ts'
import { createObjectPool } from '../store/files/object-pool.ts'
import { createPool, type Pool } from '../store/files/pool.ts'
import type { ObjectStore } from '../store/objects/object-store.ts'
import { createPaths, ensurePaths } from '../store/paths.ts'
import { renderNew } from '../packages/records/entries.ts'
import { insertRecords } from '../packages/records/insert-records.ts'
import { blobRow } from '../packages/records/stored-file.ts'
import { openKeys } from './signing/keys.ts'
import { createTestDatabase } from '../../test/database.ts'
import { createPublisher, type Publisher, type PublisherDeps } from './publisher.ts'
import { ensureDistributions } from './initialize.ts'
import { treeOf } from './tree/tree.ts'

/** The parts that the tests of a file share, because creating them takes longer than creating a house. */
export interface Site {
  database: Database
  signers: Signers
  /** the directory of the keys */
  keys: string
  close(): Promise<void>
}

export async function openSite(): Promise<Site> {
  const database = await createTestDatabase()
  const keys = await mkdtemp(join(tmpdir(), 'keys-'))
  return {
    database,
    signers: await openKeys(keys, new Date()),
    keys,
    async close() {
      await database.close()
      await rm(keys, { recursive: true })
    },
  }
}

export type PublishingHouse = Awaited<ReturnType<typeof createPublishingHouse>>

/**
 * @param database emptied first
 * @param start of the test clock; `clock.advance` moves it
 * @param store keeps the packages, instead of the disk
 */
export async function createPublishingHouse(
  { db }: Database,
  signers: Signers,
  codenames: readonly string[],
  start = new Date(),
  store: ObjectStore | null = null,
) {
  const root = await mkdtemp(join(tmpdir(), 'publisher-'))
  await sql`truncate distributions, blobs, packages, offers, offer_entries, offer_entry_pieces, publications, superseded_generations, pending_deletions, package_counts,
    finding_counts, artifacts, audit cascade`.execute(db)
  const paths = createPaths(root)
  await ensurePaths(paths, ['dists', 'rpm', 'apk'])
  let now = start.getTime()
  const clock: Clock & { advance(ms: number): void } = {
    now: () => new Date(now),
    advance: (ms) => void (now += ms),
  }
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const local = createPool(paths)
  const newPath = () => join(paths.incoming, randomUUID())
  const pool: Pool = store ? createObjectPool({ store, local, newPath }) : local
  const audit = createAuditLog({
    db,
    clock,
    directory: paths.audit,
    key: 'k',
    checkpoint: () => {},
    mayFile: () => false,
    onError,
  })
  const offered = (codename: string) => findDistribution(codename) as Offered
  const deps: PublisherDeps & { pool: Pool } = {
    db,
    clock,
    paths,
    pool,
    signers,
    bus: createBus(onError),
    checkpoint: () => {},
    offered,
    known: (codename) => findDistribution(codename) !== null,
    onError,
  }
  await ensureDistributions(db, clock, codenames.map(offered))
  const publishers: Publisher[] = []
  /** Another publisher on the same tree, which `close` waits for. */
  function addPublisher(changed: Partial<PublisherDeps> = {}): Publisher {
    const publisher = createPublisher({ ...deps, ...changed })
    publishers.push(publisher)
    return publisher
  }

  /** Stores a file and the row of a published record, as an upload does, but without the gate. */
  async function addPackage(
    codename: string,
    name: string,
    files: readonly string[] = [],
    { version = '1.0', requirements = [] }: Partial<Pick<PackageFacts, 'version' | 'requirements'>> = {},
  ): Promise<void> {
    const { format } = offered(codename)
    const bytes = Buffer.from(`${codename} ${name} ${version}`)
    const digest = (algorithm: string) => createHash(algorithm).update(bytes).digest('hex')
    const sha256 = digest('sha256')
    const filename = `${name}_${version}_amd64.${format.id}`
    const staged = join(paths.incoming, sha256)
    await writeFile(staged, bytes)
    const facts: PackageFacts = {
      ...factsToMatch({
        format: format.id,
        name,
        version,
        arch: 'amd64',
        sourcePackage: null,
        sourceVersion: null,
      }),
      files: [...files],
      requirements: [...requirements],
      record: {
        fields: [
          ['Package', name],
          ['Version', version],
          ['Architecture', 'amd64'],
        ],
      },
    }
    const digests = { sha256, sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') }
    await insert(codename, facts, { path: staged, digests, filename, sizeBytes: bytes.length })
  }

  /** The same with the bytes of a package file. @returns its facts */
  async function addFile(codename: string, bytes: Uint8Array): Promise<PackageFacts> {
    const { format } = offered(codename)
    const path = newPath()
    await writeFile(path, bytes)
    const facts = await format.read(path)
    await insert(codename, facts, { ...(await measure(path)), filename: format.filename(facts) })
    return facts
  }

  async function insert(
    codename: string,
    facts: PackageFacts,
    file: Awaited<ReturnType<typeof measure>> & { filename: string },
  ): Promise<void> {
    const { format, distribution } = offered(codename)
    const { name, version, arch } = facts
    const { filename } = file
    const { sha256 } = file.digests
    const blob = blobRow(file, facts, clock.now())
    const row = { imported_at: clock.now() }
    const [outcome] = await insertRecords(db, audit, { format, distribution }, [
      {
        ensureBytes: () => pool.keep(file.path, { format: format.id, sha256, filename }),
        audit: { action: 'UPLOAD', result: 'SUCCESS', user: 'test' },
        blob,
        evidence: [],
        review: null,
        entries: await renderNew(row, blob, facts, { format, distribution }),
        record: {
          distribution: codename,
          format: format.id,
          name,
          version,
          arch,
          status: 'published',
          cve_status: 'approved',
          held_reason: null,
          sha256,
          received_sha256: sha256,
          ...row,
          imported_by: 'test',
          import_method: 'upload',
          pipeline: '{}',
          validation_steps: '[]',
          coverage: '{}',
          deps_missing: '[]',
          tags: '[]',
        },
      },
    ])
    if (!outcome || outcome instanceof Error) throw new Error('the record was not inserted', { cause: outcome })
  }

  return {
    db,
    clock,
    paths,
    errors,
    local,
    deps,
    audit,
    publisher: addPublisher(),
    addPublisher,
    addPackage,
    addFile,
    tree(codename: string) {
      const { format, distribution } = offered(codename)
      return treeOf(paths, format, distribution)
    },
    /** removes the directory; the database stays */
    async close() {
      for (const publisher of publishers) await publisher.settled()
      await rm(root, { recursive: true, force: true })
    },
  }
}
