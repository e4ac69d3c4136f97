// Examines an installation without running processes: database, files and index must agree.
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { sql } from 'kysely'
import { isRefused } from '../../src/domain/transitions.ts'
import { findDistribution } from '../../src/formats/index.ts'
import { createPendingDeletions } from '../../src/packages/records/pending-deletions.ts'
import type { Offered } from '../../src/formats/format.ts'
import { createCleaner } from '../../src/publish/tree/cleaner.ts'
import { sweep } from '../../src/publish/tree/sweep.ts'
import { treeOf } from '../../src/publish/tree/tree.ts'
import { readAuditKey } from '../../src/publish/signing/audit-keys.ts'
import { verifyDirectory } from '../../src/audit/verify.ts'
import type { FileId, Area } from '../../src/store/files/pool.ts'
import { openDatabase, type Db } from '../../src/store/db.ts'
import { createManifests } from '../../src/packages/records/manifests.ts'
import type { PackageRow } from '../../src/store/tables.ts'
import { createPaths, type Paths } from '../../src/store/paths.ts'
import { readRepository, readDisk } from './read-repository.ts'
import { filesBelow, openStored, type Stored } from './stored.ts'

const DAY_MS = 86_400_000

export interface State {
  /** sorted records as `distribution name version arch status sha256`, with the digest of the file as received */
  records: string[]
  /** dates of the Release files by codename */
  dates: Record<string, number>
  /** descriptions of all faults */
  faults: string[]
}

export interface Examination {
  reposDir: string
  databaseUrl: string
  /** environment of the service: names its object store, if it has one */
  env?: Record<string, string>
  /** the service was killed: its temporary directories and audit entries not yet written to files are no faults */
  killed?: boolean
  /** examines the state one day later, after the collection of unused files */
  collected?: boolean
}

/** Examines an installation whose processes have all ended. */
export async function examine({
  reposDir,
  databaseUrl,
  env = {},
  killed = false,
  collected = false,
}: Examination): Promise<State> {
  const { db, close } = await openDatabase(databaseUrl, { poolSize: 2 })
  const paths = createPaths(reposDir)
  const stored = openStored(paths, env)
  try {
    if (collected) await collectTomorrow(db, paths, stored)
    const faults: string[] = []
    const rows = await db.selectFrom('records').selectAll().orderBy('id').execute()
    const dates = await examineTrees(db, paths, stored, rows, collected, faults)
    await examineHistory(db, rows, faults)
    await examineFiles(db, paths, stored, rows, collected, faults)
    await examineManifests(db, paths, rows, killed, faults)
    await examineTables(db, rows, faults)
    if (!killed) await examineAudit(db, paths, faults)
    await examineStaging(db, paths, killed, faults)
    return { records: rows.map(describe).sort(), dates, faults }
  } finally {
    stored.close()
    await close()
  }
}

export function describe(
  row: Pick<PackageRow, 'distribution' | 'name' | 'version' | 'arch' | 'status' | 'received_sha256'>,
): string {
  return [row.distribution, row.name, row.version, row.arch, row.status, row.received_sha256].join(' ')
}

/** The offers of each publication with this Release date: sorted `name version arch`. */
export async function offeredAt(databaseUrl: string, codename: string, date: number): Promise<string[][]> {
  const { db, close } = await openDatabase(databaseUrl, { poolSize: 1 })
  try {
    const { rows } = await sql<{ packages: string[] }>`
      select array(select concat_ws(' ', name, version, arch) from offers o where o.distribution = p.distribution
        and from_revision <= p.revision and (until_revision is null or until_revision > p.revision)) as packages
      from publications p where distribution = ${codename} and release_date = ${date}`.execute(db)
    return rows.map(({ packages }) => packages.sort())
  } finally {
    await close()
  }
}

async function collectTomorrow(db: Db, paths: Paths, { pool }: Stored): Promise<void> {
  await sql`update offers set unlink_at = unlink_at - interval '1 day'`.execute(db)
  // One day later, claims of recently killed processes are void, and deletions that waited for them are due.
  await sql`update blobs set removal_began_at = removal_began_at - interval '1 day'`.execute(db)
  await sql`update pending_deletions set due_at = due_at - interval '1 day'`.execute(db)
  const clock = { now: () => new Date(Date.now() + DAY_MS) }
  const checkpoint = () => {}
  const onError = (error: unknown) => {
    throw error
  }
  const offered = (codename: string) => findDistribution(codename) as Offered
  const cleaner = createCleaner({ db, paths, clock, offered, onError })
  const distributions = await db.selectFrom('distributions').select('codename').execute()
  for (const { codename } of distributions) {
    if (!findDistribution(codename)) continue
    await sweep({ db, paths, clock }, offered(codename))
    await cleanInTurns(() => cleaner.clean(codename))
  }
  const deletions = createPendingDeletions({
    db,
    clock,
    pool,
    manifests: createManifests(db, paths),
    checkpoint,
    onError,
  })
  await deletions.run()
  // Deletions that were just executed are a day old too: one that waited for the other replica may have been left to this run.
  await sql`update blobs set removal_ended_at = removal_ended_at - interval '1 day'`.execute(db)
  await deletions.sweep()
}

/** A minute of publishes leaves hundreds of generations: a claim ends after 5 s, and the service continues in its next turn. */
async function cleanInTurns(clean: () => Promise<void>): Promise<void> {
  for (;;)
    try {
      await clean()
      return
    } catch (error) {
      if (!(error as Error).message.endsWith('it goes on next time')) throw error
    }
}

/** The published trees match the records and contain nothing else. */
async function examineTrees(
  db: Db,
  paths: Paths,
  { store }: Stored,
  rows: PackageRow[],
  collected: boolean,
  faults: string[],
): Promise<Record<string, number>> {
  const publicKey = await readFile(join(paths.keys, 'gpg.key'), 'utf8')
  const dates: Record<string, number> = {}
  for (const distribution of await db.selectFrom('distributions').selectAll().execute()) {
    const { codename } = distribution
    const offered = findDistribution(codename)
    if (!offered) continue
    const { format } = offered
    const fault = (sentence: string) => void faults.push(`${codename}: ${sentence}`)
    const tree = treeOf(paths, format, offered.distribution)
    if (distribution.published_revision !== distribution.revision)
      fault(`revision ${distribution.revision}, published ${distribution.published_revision}`)
    const target = await readlink(tree.link).catch(() => 'no link')
    if (!target.split('/').includes(distribution.generation ?? ''))
      fault(`the link leads to ${target}, the record says ${distribution.generation}`)

    const served = rows.filter((row) => row.distribution === codename && row.served)
    try {
      const { date, packages } = await readRepository(readDisk(paths.root, store), codename, publicKey)
      dates[codename] = date
      const wanted = new Map(served.map((row) => [`${row.name} ${row.version} ${row.arch}`, row.sha256]))
      for (const [id, sha256] of wanted)
        if (packages.get(id)?.sha256 !== sha256)
          fault(`${id} is served, but the index has ${packages.get(id)?.sha256 ?? 'it not'}`)
      for (const id of packages.keys()) if (!wanted.has(id)) fault(`${id} is in the index without a served record`)
    } catch (error) {
      fault((error as Error).message)
    }

    // Unpublished files stay for the grace time. After that the tree holds only served files.
    const inTree = await filesBelow(tree.packages)
    const expected = new Set(served.flatMap((row) => format.packagePaths(row, offered.distribution)))
    const waiting = await db
      .selectFrom('offers')
      .selectAll()
      .where('distribution', '=', codename)
      .where('unlink_at', 'is not', null)
      .execute()
    for (const offer of waiting) for (const path of format.packagePaths(offer, offered.distribution)) expected.add(path)
    if (collected && waiting.length > 0) fault(`${waiting.length} withdrawn files were not collected`)
    // In formats with the index beside the packages, a temporary link that was never renamed is there too.
    const standing = new Set(tree.standing.map(({ path }) => path))
    const beside = (path: string) =>
      standing.has(join(tree.packages, path)) || (!collected && basename(path).startsWith('.'))
    for (const path of inTree)
      if (!expected.has(path) && !beside(path)) fault(`${path} is in the tree without a record`)

    const generations: string[] = []
    for (const name of await readdir(tree.base)) {
      if (/^r\d+-\d+-[0-9a-f]{8}$/.test(name)) generations.push(name)
      else if (
        ![basename(tree.packages), basename(tree.link), 'by-hash', 'background', 'blocks.cache'].includes(name) &&
        collected
      )
        fault(`${name} is an unexpected entry of ${tree.base}`)
    }
    if (collected && generations.length > 3) fault(`${generations.length} generations after a collection`)
    for (const name of await readdir(dirname(tree.link))) {
      if (collected && name.startsWith('.')) fault(`${name} is a temporary file left beside the link`)
    }
  }
  return dates
}

/** Offers and publications agree, and their current state matches the records. */
async function examineHistory(db: Db, rows: PackageRow[], faults: string[]): Promise<void> {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const offers = await db.selectFrom('offers').selectAll().orderBy('package_id').orderBy('from_revision').execute()
  for (const [i, offer] of offers.entries()) {
    const { package_id: id, from_revision: from, until_revision: until } = offer
    const what = `the offer of ${offer.name} ${offer.version} in ${offer.distribution} from ${from}`
    if (until !== null && until <= from) faults.push(`${what} ends at ${until}`)
    if ((until === null) !== (offer.ended_by === null)) faults.push(`${what} has an end and no cause, or the opposite`)
    const next = offers[i + 1]
    if (next?.package_id === id && (until === null || next.from_revision < until))
      faults.push(`${what} overlaps the next`)
    const record = byId.get(id)
    if (until === null && record?.sha256 !== offer.sha256) faults.push(`${what} is not of a record`)
    if (record && isRefused(record.status) && offer.keeps_bytes)
      faults.push(`${what} keeps bytes that were ${record.status}`)
  }
  for (const distribution of await db.selectFrom('distributions').selectAll().execute()) {
    const { codename, generation, published_revision: revision, release_date: date } = distribution
    const publications = await db
      .selectFrom('publications')
      .selectAll()
      .where('distribution', '=', codename)
      .orderBy('revision')
      .orderBy('release_date')
      .execute()
    const last = publications.at(-1)
    if (last?.generation !== (generation ?? undefined) || (last && last.revision !== revision))
      faults.push(`${codename} is at ${generation} of ${revision}, its last publication is ${last?.generation}`)
    if (last && last.release_date > date) faults.push(`the last publication of ${codename} has a later date`)
    for (const [i, { generation: name, release_date: own, causes }] of publications.entries()) {
      if (causes.length === 0) faults.push(`the publication ${name} has no cause`)
      if (own < (publications[i - 1]?.release_date ?? 0))
        faults.push(`the publication ${name} is older than the one before`)
    }
  }
}

/** Stored files in pool and quarantine match their rows, and files named by kept publications exist. */
async function examineFiles(
  db: Db,
  paths: Paths,
  stored: Stored,
  rows: PackageRow[],
  collected: boolean,
  faults: string[],
): Promise<void> {
  const past = await db
    .selectFrom('offers')
    .innerJoin('blobs', 'blobs.sha256', 'offers.sha256')
    .select(['blobs.sha256', 'blobs.format', 'blobs.filename', 'keeps_bytes'])
    .execute()
  const needed: Record<Area, Map<string, FileId>> = { pool: new Map(), quarantine: new Map() }
  for (const row of rows) needed[isRefused(row.status) ? 'quarantine' : 'pool'].set(row.sha256, row)
  for (const file of past) if (file.keeps_bytes) needed.pool.set(file.sha256, file)
  const used = new Set([...rows, ...past].map((row) => row.sha256))
  for (const place of ['pool', 'quarantine'] as const) {
    for (const [sha256, { format, filename }] of needed[place]) {
      const found = await stored.digest(place, { format, sha256, filename })
      if (found === null) faults.push(`${filename} (${sha256}) is missing in ${place}`)
      else if (found !== sha256) faults.push(`${filename} (${sha256}) has other bytes in ${place}`)
    }
    // A removal that is running or waiting may not have removed them yet.
    const wanted = collected ? [...needed[place].keys()] : [...used]
    for (const name of await stored.names(place))
      if (!wanted.some((sha256) => name.includes(sha256))) faults.push(`${name} in ${place} belongs to no record`)
    for (const path of await directoriesBelow(paths[place])) {
      if (/[0-9a-f]{64}$/.test(path) && (await readdir(join(paths[place], path))).length === 0)
        faults.push(`${relative(paths.root, join(paths[place], path))} is empty`)
    }
  }
  // The row of a removed file is kept for an hour, then the sweep deletes it.
  const blobs = await db.selectFrom('blobs').select(['sha256', 'removal_ended_at']).execute()
  for (const { sha256, removal_ended_at: endedAt } of blobs)
    if (!used.has(sha256) && (collected || endedAt === null)) faults.push(`the blob ${sha256} has no record`)
}

async function examineManifests(
  db: Db,
  paths: Paths,
  rows: PackageRow[],
  killed: boolean,
  faults: string[],
): Promise<void> {
  const manifests = createManifests(db, paths)
  const byKey = new Map(rows.map((row) => [manifests.key(row), row]))
  // A manifest that was being written when the process died is removed a quarter of an hour later.
  const isUnfinished = (path: string) => killed && /^\..*\.tmp$/.test(basename(path))
  for (const path of await filesBelow(paths.manifests))
    if (!byKey.has(path) && !isUnfinished(path)) faults.push(`manifests/${path} belongs to no record`)
  for await (const { key, manifest } of manifests.all()) {
    const row = byKey.get(key)
    if (!row) continue
    if (!manifest) faults.push(`manifests/${key} cannot be read`)
    else if (
      manifest.record.sha256 !== row.sha256 ||
      manifest.record.status !== row.status ||
      manifest.blob.sha256 !== row.sha256
    )
      faults.push(`manifests/${key} differs from its record`)
    byKey.delete(key)
  }
  for (const key of byKey.keys()) faults.push(`manifests/${key} is missing`)
  for (const row of rows)
    if (row.manifest_changes < row.changes) faults.push(`the manifest of ${row.name} ${row.version} is pending`)
}

/** Derived tables match the records. */
async function examineTables(db: Db, rows: PackageRow[], faults: string[]): Promise<void> {
  const pending = await db.selectFrom('pending_deletions').selectAll().execute()
  for (const { kind, key } of pending) faults.push(`a deletion is still pending: ${kind} ${key}`)
  for (const row of await db.selectFrom('distributions').selectAll().execute()) {
    const own = rows.filter((record) => record.distribution === row.codename)
    const count = (status: string) => own.filter((record) => record.status === status).length
    const stored = [row.published_count, row.pending_count, row.quarantined_count, row.rejected_count, row.size_bytes]
    const counted = [
      count('published'),
      count('pending_review'),
      count('quarantined'),
      count('rejected'),
      own.reduce((sum, record) => sum + record.size_bytes, 0),
    ]
    if (String(stored) !== String(counted))
      faults.push(`the counters of ${row.codename} are ${String(stored)}, not ${String(counted)}`)
  }
  const offered = rows.filter((row) => row.served).map((row) => row.id)
  const ids = (await db.selectFrom('capabilities').select('package_id').distinct().orderBy('package_id').execute()).map(
    (row) => row.package_id,
  )
  if (String(ids) !== String(offered))
    faults.push(`capabilities has rows of ${String(ids)}, but ${String(offered)} are served`)
  // Past offers have entries too.
  const { rows: apart } = await sql<{ id: number; until: number | null; offered: boolean }>`
    select package_id as id, until_revision as until, o.name is not null as offered
    from (select name, package_id, coalesce(until_revision, -1) as until_revision from offers) o
    full join (select package_id, coalesce(until_revision, -1) as until_revision, true as has from offer_entries
      union select package_id, coalesce(until_revision, -1), true from offer_entry_pieces) e using (package_id, until_revision)
    where o.name is null or has is null`.execute(db)
  for (const one of apart)
    faults.push(
      `${one.offered ? 'no entries of the offer' : 'entries without an offer'} of ${one.id} until ${one.until}`,
    )
  const artifacts = (await db.selectFrom('artifacts').select(['format', 'name', 'latest_id']).execute())
    .map((row) => `${row.format} ${row.name}`)
    .sort()
  const names = [...new Set(rows.map((row) => `${row.format} ${row.name}`))].sort()
  if (String(artifacts) !== String(names))
    faults.push(`artifacts has ${String(artifacts)}, but the records have ${String(names)}`)
}

/** The audit files contain every entry once, in one chain. */
async function examineAudit(db: Db, paths: Paths, faults: string[]): Promise<void> {
  const options = { key: await readAuditKey(paths.gnupg), isSigned: async () => true }
  const report = await verifyDirectory(paths.audit, options)
  for (const { where, what } of report.faults) faults.push(`audit/${where} ${what}`)
  const rows = await db.selectFrom('audit').select(['seq', 'hash', 'filed']).orderBy('seq').execute()
  const unfiled = rows.filter((row) => row.seq === null || !row.filed)
  if (unfiled.length > 0) faults.push(`${unfiled.length} audit entries are not in the files`)
  const last = rows.at(-1)
  if (last && last.hash !== report.head?.hash) faults.push('the audit files and the table end with different entries')
}

async function examineStaging(db: Db, paths: Paths, killed: boolean, faults: string[]): Promise<void> {
  const directories = await readdir(paths.incoming)
  for (const name of directories) {
    const arrivals = await readdir(join(paths.incoming, name)).catch(() => [name])
    // The files that a killed process was reading are in its own directory; those of earlier processes are counted below.
    if (arrivals.length > 0 && !killed) faults.push(`staging/incoming/${name} holds ${String(arrivals)}`)
  }
  const instances = await db.selectFrom('instances').select('id').execute()
  const allowed = killed ? 1 : 0
  if (directories.length > allowed) faults.push(`${directories.length} directories in staging/incoming`)
  if (instances.length > allowed) faults.push(`${instances.length} instances are known`)
}

async function directoriesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
}

/** Work of seconds takes minutes on a machine that stalls. */
const LONGEST_WAIT_MS = 600_000

/** Repeats a check until it returns a value. @throws after ten minutes */
export async function waitFor<T>(what: string, check: () => Promise<T | null | undefined | false>): Promise<T> {
  const deadline = Date.now() + LONGEST_WAIT_MS
  for (;;) {
    const found = await check()
    if (found) return found
    if (Date.now() > deadline) throw new Error(`${what} did not happen within ${LONGEST_WAIT_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Whether a path exists, of any kind. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
