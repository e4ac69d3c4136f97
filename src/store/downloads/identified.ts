// Finds the rows of the clients, agents, packages and files of a batch of downloads, and inserts missing ones.
import { sql } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../db.ts'

/** A file that a distribution offered. */
export interface DownloadedFile {
  distribution: string
  format: FormatId
  sha256: string
  filename: string
  name: string
  version: string
  arch: string
  sizeBytes: number
}

/** Downloads of one file by a client with one user agent on one day. */
export interface Given {
  file: DownloadedFile
  /** the client: its address, and after a blank who signed in there */
  address: string
  agent: string
  clientType: string
  /** days since 1970 */
  day: number
  whole: number
  beganWithRange: boolean
  bytes: number
}

/** The last day of rows that this transaction adds: none yet. */
export const NEVER = -1

/** Downloads with the ids of their rows. */
export interface IdentifiedDownloads {
  given: Given
  client: number
  agent: number
  pkg: number
  fileId: number
  downloads: number
  /** the last days before this batch; -1 for none */
  clientLast: number
  packageLast: number
  /** the last days of this client */
  ofPackageLast: number
  ofFileLast: number
}

interface CountedRow {
  id: number
  last_day: number
}

export const fileKey = (file: Pick<DownloadedFile, 'distribution' | 'sha256'>) => `${file.distribution} ${file.sha256}`
const nameKey = (file: Pick<DownloadedFile, 'format' | 'name'>) => `${file.format} ${file.name}`

/** @param given each file, address, agent and day once */
export async function identified(tx: Db, given: readonly Given[]): Promise<IdentifiedDownloads[]> {
  const clients = await clientsOf(tx, [...new Set(given.map(({ address }) => address))])
  const agents = await agentsOf(tx, new Map(given.map(({ agent, clientType }) => [agent, clientType])))
  const files = new Map(given.map(({ file }) => [fileKey(file), file]))
  const names = await packagesOf(tx, [...new Map([...files.values()].map((file) => [nameKey(file), file])).values()])
  const fileIds = await filesOf(tx, [...files.values()], names)
  const rows = given.map((one): IdentifiedDownloads => {
    const client = clients.get(one.address) as CountedRow
    const pkg = names.get(nameKey(one.file)) as CountedRow
    return {
      given: one,
      client: client.id,
      agent: agents.get(one.agent) as number,
      pkg: pkg.id,
      fileId: fileIds.get(fileKey(one.file)) as number,
      downloads: one.whole + Number(one.beganWithRange),
      clientLast: client.last_day,
      packageLast: pkg.last_day,
      ofPackageLast: NEVER,
      ofFileLast: NEVER,
    }
  })
  // New clients and new packages have no earlier rows.
  const old = rows.filter((row) => row.clientLast !== NEVER && row.packageLast !== NEVER)
  if (old.length === 0) return rows
  const before = await sql<{ of_package: number | null; of_file: number | null; began: boolean }>`
    select
      (select max(day) from downloads d where d.package_id = t.p and d.client_id = t.c) as of_package,
      (select max(day) from downloads d where d.package_id = t.p and d.client_id = t.c and d.file_id = t.f) as of_file,
      t.began and exists (select from downloads d where d.package_id = t.p and d.client_id = t.c and d.file_id = t.f
        and d.agent_id = t.a and d.day between t.day - 1 and t.day) as began
    from unnest(${old.map((row) => row.pkg)}::bigint[], ${old.map((row) => row.client)}::bigint[],
      ${old.map((row) => row.fileId)}::bigint[], ${old.map((row) => row.agent)}::bigint[],
      ${old.map((row) => row.given.day)}::int[], ${old.map((row) => row.given.beganWithRange)}::boolean[])
      with ordinality as t (p, c, f, a, day, began, nth)
    order by t.nth`.execute(tx)
  for (const [i, row] of old.entries()) {
    const { of_package, of_file, began } = before.rows[i]!
    row.ofPackageLast = of_package ?? NEVER
    row.ofFileLast = of_file ?? NEVER
    // This is the rest of an interrupted download, or a further part of one that is fetched in parts.
    if (began) row.downloads--
  }
  return rows
}

async function clientsOf(tx: Db, addresses: string[]): Promise<Map<string, CountedRow>> {
  await sql`insert into download_clients (address, last_day) select *, ${NEVER}::int from unnest(${addresses}::text[])
    on conflict (address) do nothing`.execute(tx)
  const rows = await tx
    .selectFrom('download_clients')
    .selectAll()
    .where('address', '=', sql<string>`any(${addresses}::text[])`)
    .execute()
  return new Map(rows.map((row) => [row.address, row]))
}

async function agentsOf(tx: Db, agents: ReadonlyMap<string, string>): Promise<Map<string, number>> {
  const names = [...agents.keys()]
  await sql`insert into download_agents (agent, client_type, last_day)
    select *, ${NEVER}::int from unnest(${names}::text[], ${[...agents.values()]}::text[]) on conflict (agent) do nothing`.execute(
    tx,
  )
  const rows = await tx
    .selectFrom('download_agents')
    .select(['id', 'agent'])
    .where('agent', '=', sql<string>`any(${names}::text[])`)
    .execute()
  return new Map(rows.map((row) => [row.agent, row.id]))
}

async function packagesOf(tx: Db, files: readonly DownloadedFile[]): Promise<Map<string, CountedRow>> {
  const names = files.map(({ name }) => name)
  await sql`insert into download_packages (name, format, last_day)
    select *, ${NEVER}::int from unnest(${names}::text[], ${files.map(({ format }) => format)}::text[])
    on conflict (name, format) do nothing`.execute(tx)
  const rows = await tx
    .selectFrom('download_packages')
    .selectAll()
    .where('name', '=', sql<string>`any(${names}::text[])`)
    .execute()
  return new Map(rows.map((row) => [nameKey(row), row]))
}

async function filesOf(
  tx: Db,
  files: readonly DownloadedFile[],
  names: ReadonlyMap<string, CountedRow>,
): Promise<Map<string, number>> {
  const digests = files.map(({ sha256 }) => sha256)
  await sql`insert into download_files (package_id, distribution, sha256, filename, version, arch, size_bytes, last_day)
    select *, ${NEVER}::int from unnest(${files.map((file) => names.get(nameKey(file))!.id)}::bigint[],
      ${files.map(({ distribution }) => distribution)}::text[], ${digests}::text[], ${files.map(({ filename }) => filename)}::text[],
      ${files.map(({ version }) => version)}::text[], ${files.map(({ arch }) => arch)}::text[],
      ${files.map(({ sizeBytes }) => sizeBytes)}::bigint[])
    on conflict (distribution, sha256) do nothing`.execute(tx)
  const { rows } = await sql<{ id: number; distribution: string; sha256: string }>`
    select f.id, f.distribution, f.sha256 from download_files f
    join unnest(${files.map(({ distribution }) => distribution)}::text[], ${digests}::text[]) as t (distribution, sha256)
      using (distribution, sha256)`.execute(tx)
  return new Map(rows.map((row) => [fileKey(row), row.id]))
}
