// Which stored files were offered under a name, now or earlier: the only thing a log states of a request is its path.
import { sql } from 'kysely'
import { append } from '../../kernel/append.ts'
import type { Db } from '../db.ts'

export interface OfferedName {
  distribution: string
  filename: string
  sha256: string
  name: string
  version: string
  arch: string
  size_bytes: number
}

/** Offers of these file names in any distribution; those in force first, then the latest. */
export async function offersOfNames(db: Db, filenames: readonly string[]): Promise<OfferedName[]> {
  // Each half reads a separate index.
  const half = (condition: string) => sql`select o.distribution, o.filename, o.sha256, o.name, o.version, o.arch,
      b.size_bytes, o.until_revision, o.from_revision
    from offers o join blobs b using (sha256)
    where o.filename = any(${[...filenames]}::text[]) and o.until_revision ${sql.raw(condition)}`
  const { rows } = await sql<OfferedName>`
    select distribution, filename, sha256, name, version, arch, size_bytes
    from (${half('is null')} union all ${half('is not null')}) found
    order by until_revision is null desc, from_revision desc`.execute(db)
  return rows
}

/** The members of groups among these repositories, in their order. */
export async function membersOf(db: Db, repositories: readonly string[]): Promise<Map<string, string[]>> {
  const members = new Map<string, string[]>()
  if (repositories.length === 0) return members
  const rows = await db
    .selectFrom('repository_members')
    .select(['repository', 'member'])
    .where('repository', 'in', repositories)
    .orderBy('repository')
    .orderBy('position')
    .execute()
  for (const { repository, member } of rows) append(members, repository, member)
  return members
}
