// Import groups: packages that were imported under one group name, and are listed and deleted as a group.
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { TaskKind, TaskRequest } from '../domain/tasks.ts'
import type { DeleteIds } from '../packages/delete-packages.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'

export const GROUP_DELETE = 'import_group_delete'
/** Records deleted in one transaction, and packages that a group lists. */
const TOGETHER = 50
const MOST_LISTED = 50
/** Groups that an answer lists, newest first. */
const MOST_GROUPS = 200

export interface ImportGroup {
  name: string
  package_count: number
  total_size_bytes: number
  /** of its newest record */
  imported_at: Date
  packages: { name: string; version: string; arch: string; distribution: string; status: string }[]
}

export async function importGroups(db: Db): Promise<{ groups: ImportGroup[]; total: number }> {
  const { rows } = await sql<ImportGroup & { total: number }>`
    with found as (
      select import_group as name, count(*)::int as package_count, sum(b.size_bytes)::float8 as total_size_bytes,
        max(p.imported_at) as imported_at, count(*) over ()::int as total
      from packages p join blobs b using (sha256) where import_group is not null group by import_group
    )
    select found.*, (select jsonb_agg(listed) from (
        select name, version, arch, distribution, status from packages where import_group = found.name
        order by id limit ${MOST_LISTED}) as listed) as packages
    from (select * from found order by imported_at desc, name limit ${MOST_GROUPS}) as found
    order by imported_at desc, name`.execute(db)
  return { total: rows[0]?.total ?? 0, groups: rows.map(({ total: _total, ...group }) => group) }
}

/** The request for the task that deletes a group. @throws Problem('not_found') */
export async function groupDeletion(db: Db, name: string, caller: Caller, origin: Origin): Promise<TaskRequest> {
  if ((await nextIds(db, name, 1)).length === 0)
    throw new Problem('not_found', `there is no import group ${name.slice(0, 100)}`)
  return {
    kind: GROUP_DELETE,
    key: name,
    arguments: { by: caller.name, ip: origin.ip, request_id: origin.requestId },
    createdBy: caller.name,
    requestId: origin.requestId,
  }
}

export interface GroupDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  deleteIds: DeleteIds
}

/** Deletes every record of a group; its key is the group's name. Continues after a crash: deleted records are not listed. */
export function groupDeleteKind({ db, audit, deleteIds }: GroupDeps): TaskKind {
  return {
    kind: GROUP_DELETE,
    lane: 'interactive',
    leaderOnly: false,
    async run(context) {
      const { by, ip, request_id: requestId } = context.arguments as { by: string; ip: string; request_id: string }
      const origin = { ip, requestId }
      let deleted = (context.cursor as { deleted: number } | null)?.deleted ?? 0
      for (;;) {
        const ids = await nextIds(db, context.key, TOGETHER)
        if (ids.length === 0) break
        deleted += (await deleteIds(ids, by, origin)).length
        await context.save({ deleted })
        context.line(`${deleted} packages deleted`, { deleted })
      }
      await audit.record({
        ...{ action: 'IMPORT_GROUP_DELETE', result: 'SUCCESS', user: by, ip, requestId },
        detail: `${context.key}: ${deleted} packages`,
        extra: { import_group: context.key, deleted },
      })
      return { deleted }
    },
  }
}

async function nextIds(db: Db, name: string, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('packages')
    .select('id')
    .where('import_group', '=', name)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
