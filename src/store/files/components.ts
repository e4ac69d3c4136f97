// Components found in stored files, by SHA-256, and the records whose components still have to be read or matched.
import { sql } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Db } from '../db.ts'
import { transaction } from '../transaction.ts'
import type { ComponentRow } from '../tables.ts'
import { append } from '../../kernel/append.ts'

/** The result of reading one stored file. */
export interface ComponentsOf {
  components: readonly Omit<ComponentRow, 'sha256'>[]
  filesSeen: number
  bytes: number
  skipped: readonly { name: string; reason: string }[]
}

/** A record whose components are not matched yet. */
export interface ComponentWork {
  id: number
  sha256: string
  distribution: string
  format: FormatId
  status: PackageStatus
  filename: string
  /** packed paths of its files (`unpackFiles`); null when its stored file was read before */
  files: Uint8Array | null
}

/** Names of components by ecosystem; null for all of an ecosystem. */
export type ComponentNames = ReadonlyMap<string, readonly string[] | null>

export interface Components {
  /** Records to read or match, in the order of their ids. @param unreadOnly leaves out those whose file was read */
  work(after: number, limit: number, unreadOnly: boolean): Promise<ComponentWork[]>
  /** Marks a record's components as done, unless its bytes have changed meanwhile. */
  done(work: Pick<ComponentWork, 'id' | 'sha256'>): Promise<void>
  /** The same, in one statement, for records whose file names show that they have no components. */
  nothingInside(work: readonly Pick<ComponentWork, 'id' | 'sha256'>[], at: Date): Promise<void>
  /** null until the stored file is read */
  of(sha256: string): Promise<ComponentsOf | null>
  /** The same for several; files that were not read are missing. */
  ofMany(sha256s: readonly string[]): Promise<Map<string, ComponentsOf>>
  /** Stores the components of a file. Idempotent; does nothing when the file was deleted. */
  keep(sha256: string, of: ComponentsOf, at: Date): Promise<void>
  /** components of these files, in a fixed order */
  ofFiles(sha256s: readonly string[]): Promise<Map<string, ComponentRow[]>>
  /** Ids of records with one of these components, without rejected ones. */
  recordsWith(names: ComponentNames): Promise<number[]>
  /** Ids of records with components and with this vulnerability, without rejected ones. */
  recordsAbout(cve: string): Promise<number[]>
  /** Those of these records that have components. */
  recordsAmong(ids: readonly number[]): Promise<number[]>
}

/** Most rows in one statement. */
const BATCH = 1000

export function createComponents(db: Db): Components {
  async function ofFiles(sha256s: readonly string[]): Promise<Map<string, ComponentRow[]>> {
    const of = new Map<string, ComponentRow[]>()
    if (sha256s.length === 0) return of
    const { rows } = await sql<ComponentRow>`select sha256, ecosystem, name, version, key, path, license from components
      where sha256 = any(${[...new Set(sha256s)]}::text[]) order by sha256, ecosystem, name, version`.execute(db)
    for (const row of rows) {
      append(of, row.sha256, row)
    }
    return of
  }

  async function ofMany(sha256s: readonly string[]): Promise<Map<string, ComponentsOf>> {
    const reads = await db
      .selectFrom('component_reads')
      .selectAll()
      .where(sql<boolean>`sha256 = any(${[...sha256s]}::text[])`)
      .execute()
    const components = await ofFiles(reads.map((read) => read.sha256))
    return new Map(
      reads.map(({ sha256, files_seen, bytes, skipped }) => [
        sha256,
        { components: components.get(sha256) ?? [], filesSeen: files_seen, bytes, skipped },
      ]),
    )
  }

  return {
    async work(after, limit, unreadOnly) {
      const { rows } =
        await sql<ComponentWork>`select w.package_id as id, w.sha256, p.distribution, p.format, p.status, b.filename,
          case when r.sha256 is null then b.files end as files
        from component_work w join packages p on p.id = w.package_id and p.sha256 = w.sha256 join blobs b on b.sha256 = w.sha256
          left join component_reads r on r.sha256 = w.sha256
        where w.package_id > ${after} ${unreadOnly ? sql`and r.sha256 is null` : sql``} order by w.package_id limit ${limit}`.execute(
          db,
        )
      return rows
    },

    async done({ id, sha256 }) {
      await db.deleteFrom('component_work').where('package_id', '=', id).where('sha256', '=', sha256).execute()
    },

    async nothingInside(work, at) {
      if (work.length === 0) return
      const [ids, sha256s] = [work.map((one) => one.id), work.map((one) => one.sha256)]
      await sql`with ended as (delete from component_work w using unnest(${ids}::bigint[], ${sha256s}::text[]) as d (id, sha256)
          where w.package_id = d.id and w.sha256 = d.sha256)
        insert into component_reads (sha256, read_at, files_seen, bytes, skipped)
          select sha256, ${at}::timestamptz, 0, 0, '[]' from blobs where sha256 = any(${sha256s}::text[]) order by sha256 for key share
          on conflict do nothing`.execute(db)
    },

    of: async (sha256) => (await ofMany([sha256])).get(sha256) ?? null,
    ofMany,

    async keep(sha256, { components, filesSeen, bytes, skipped }, at) {
      await transaction(db, async (tx) => {
        const { rows } = await sql`select sha256 from blobs where sha256 = ${sha256} for key share`.execute(tx)
        if (rows.length === 0) return
        const read = { sha256, read_at: at, files_seen: filesSeen, bytes, skipped: JSON.stringify(skipped) }
        const added = await tx
          .insertInto('component_reads')
          .values(read)
          .onConflict((c) => c.doNothing())
          .returning('sha256')
          .executeTakeFirst()
        // Another process has stored them.
        if (!added) return
        for (let from = 0; from < components.length; from += BATCH) {
          await sql`insert into components (sha256, ecosystem, name, version, key, path, license)
            select ${sha256}, ecosystem, name, version, key, path, license
            from jsonb_to_recordset(${JSON.stringify(components.slice(from, from + BATCH))}::jsonb)
              as c (ecosystem text, name text, version text, key text, path text, license text)
            on conflict do nothing`.execute(tx)
        }
      })
    },

    ofFiles,

    async recordsWith(names) {
      const ids = new Set<number>()
      for (const [ecosystem, keys] of names) {
        for (let from = 0; from < (keys?.length ?? 1); from += BATCH) {
          const named = keys ? sql`and c.key = any(${keys.slice(from, from + BATCH)}::text[])` : sql``
          const { rows } = await sql<{
            id: number
          }>`select distinct p.id from components c join packages p on p.sha256 = c.sha256
            where c.ecosystem = ${ecosystem} ${named} and p.status <> 'rejected'`.execute(db)
          for (const { id } of rows) ids.add(id)
        }
      }
      return [...ids].sort((a, b) => a - b)
    },

    async recordsAmong(ids) {
      const { rows } = await sql<{ id: number }>`select p.id from packages p
        where p.id = any(${[...ids]}::bigint[]) and exists (select from components c where c.sha256 = p.sha256) order by 1`.execute(
        db,
      )
      return rows.map(({ id }) => id)
    },

    async recordsAbout(cve) {
      const { rows } = await sql<{
        id: number
      }>`select f.package_id as id from findings f join packages p on p.id = f.package_id
        where f.cve = ${cve} and p.status <> 'rejected' and exists (select from components c where c.sha256 = p.sha256) order by 1`.execute(
        db,
      )
      return rows.map(({ id }) => id)
    },
  }
}
