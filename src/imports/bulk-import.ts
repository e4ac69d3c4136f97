// Bulk import: many packages that people name, as a task. The requests and their results are rows, so a crash loses none.
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { noOutcomes, type ImportOutcome } from '../domain/import-outcome.ts'
import type { Scopes } from '../domain/scopes.ts'
import type { TaskContext, TaskKind, TaskRequest } from '../domain/tasks.ts'
import { openDistribution, type FormatRegistry } from '../packages/identify.ts'
import type { Db } from '../store/db.ts'
import type { TaskRow } from '../store/tables.ts'
import { taskById } from '../tasks/task-query.ts'
import type { PackageRequest } from './choose-entries.ts'
import type { ImportTally } from './import-many.ts'
import type { ImportRequested, RequestedResult } from './import-requested.ts'

export const IMPORT_BULK = 'import_bulk'
/** Requests in one statement. */
const BATCH = 500
/** Results stored in one batch; the results of one publish come at the same time. */
const STORED_TOGETHER = 100
/** Failed packages that get a log line of their own. */
const MOST_NAMED = 100

interface Arguments {
  distribution: string
  group: string | null
  with_dependencies: boolean
  total: number
  /** who asked for it, from where */
  by: string
  ip: string | null
  request_id: string | null
  /** of the token that asked for it; absent in tasks of older builds */
  scopes?: Scopes | null
}

export interface BulkRequest {
  distribution: string
  group: string | null
  withDependencies: boolean
  packages: readonly PackageRequest[]
}

interface Numbered extends PackageRequest {
  n: number
}

/**
 * The request for a task, and what stores its packages in the same transaction.
 * @param key unique among bulk imports
 * @throws Problem('unknown_distribution', 'distribution_inactive')
 */
export function bulkRequest(
  registry: FormatRegistry,
  { distribution, group, withDependencies, packages }: BulkRequest,
  key: string,
  caller: Caller,
  origin: Origin,
): { request: TaskRequest; store: (tx: Db, taskId: number) => Promise<void> } {
  openDistribution(registry, distribution)
  const total = packages.length
  const from = { by: caller.name, ip: origin.ip, request_id: origin.requestId, scopes: caller.scopes ?? null }
  return {
    request: {
      kind: IMPORT_BULK,
      key,
      arguments: {
        ...{ distribution, group, with_dependencies: withDependencies, total, ...from },
        label: `import of ${total} packages`,
      },
      createdBy: caller.name,
      requestId: origin.requestId,
    },
    async store(tx, taskId) {
      for (let at = 0; at < total; at += BATCH) {
        const rows = packages.slice(at, at + BATCH).map((one, i) => ({
          ...{ task_id: taskId, n: at + i, source_id: one.source_id, package: one.package },
          ...{ version: one.version ?? null, arch: one.arch ?? null },
        }))
        await tx.insertInto('import_requests').values(rows).execute()
      }
    },
  }
}

export interface BulkImportDeps {
  db: Db
  importRequested: ImportRequested
}

export function bulkImportKind(deps: BulkImportDeps): TaskKind {
  return {
    kind: IMPORT_BULK,
    lane: 'bulk',
    leaderOnly: false,
    atOnce: 2,
    async run(context) {
      const args = context.arguments as unknown as Arguments
      await run(deps, args, context)
      return { counts: await resultCounts(deps.db, context.id), total: args.total }
    },
  }
}

/** Imports what has no result yet. */
async function run({ db, importRequested }: BulkImportDeps, args: Arguments, context: TaskContext): Promise<void> {
  const { distribution, group, by, ip, request_id: requestId, scopes = null } = args
  const begunAt = (await taskById(db, context.id))?.created_at
  const meta = { method: 'import' as const, group, by, scopes, origin: { ip, requestId }, ...(begunAt && { begunAt }) }
  let waiting: RequestedResult<Numbered>[] = []
  let ended = args.total - (await openRequests(db, context.id))
  let named = 0

  async function* requests() {
    for (let after = -1; ;) {
      const page = await nextRequests(db, context.id, after)
      const last = page.at(-1)
      if (!last) return
      yield page
      after = last.n
    }
  }

  async function store(): Promise<void> {
    const results = waiting
    waiting = []
    if (results.length === 0) return
    await storeResults(db, context.id, results)
    ended += results.filter(({ request }) => request !== null).length
    context.line(`${ended} of ${args.total} packages`, { done: ended, total: args.total })
  }

  try {
    await importRequested(
      requests(),
      distribution,
      meta,
      async (result) => {
        if (result.status === 'error' && named++ < MOST_NAMED)
          context.line(`${result.package} ${result.version}: ${result.detail ?? ''}`, { code: result.code })
        if (waiting.push(result) >= STORED_TOGETHER) await store()
      },
      { withDependencies: args.with_dependencies, signal: context.signal },
    )
  } finally {
    await store()
  }
}

async function openRequests(db: Db, taskId: number): Promise<number> {
  const { n } = await db
    .selectFrom('import_requests')
    .select(sql<number>`count(*)::int`.as('n'))
    .where('task_id', '=', taskId)
    .where('status', 'is', null)
    .executeTakeFirstOrThrow()
  return n
}

async function nextRequests(db: Db, taskId: number, after: number): Promise<Numbered[]> {
  return db
    .selectFrom('import_requests')
    .select(['n', 'source_id', 'package', 'version', 'arch'])
    .where('task_id', '=', taskId)
    .where('status', 'is', null)
    .where('n', '>', after)
    .orderBy('n')
    .limit(BATCH)
    .execute()
}

async function storeResults(db: Db, taskId: number, results: readonly RequestedResult<Numbered>[]): Promise<void> {
  const rows = results.flatMap(({ request, status, version, arch, code, detail }) =>
    request ? [{ n: request.n, status, version, arch, code, detail: detail?.slice(0, 500) ?? null }] : [],
  )
  await sql`update import_requests i set status = r.status, version = nullif(r.version, ''), arch = nullif(r.arch, ''), code = r.code, detail = r.detail
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (n int, status text, version text, arch text, code text, detail text)
    where i.task_id = ${taskId} and i.n = r.n`.execute(db)
}

/** How many packages of a bulk import had each result. */
export async function resultCounts(db: Db, taskId: number): Promise<ImportTally> {
  const rows = await db
    .selectFrom('import_requests')
    .select(['status', sql<number>`count(*)::int`.as('n')])
    .where('task_id', '=', taskId)
    .where('status', 'is not', null)
    .groupBy('status')
    .execute()
  const counts = noOutcomes()
  for (const { status, n } of rows) counts[status as ImportOutcome] = n
  return counts
}

/** A page of the results of a bulk import, in the order of the request. @param only those with this result */
export async function bulkResults(
  db: Db,
  taskId: number,
  { from, limit, only }: { from: number; limit: number; only?: ImportOutcome },
) {
  return db
    .selectFrom('import_requests')
    .select(['source_id', 'package', 'version', 'arch', 'status', 'code', 'detail'])
    .where('task_id', '=', taskId)
    .where('n', '>=', from)
    .where('status', only ? '=' : 'is not', only ?? null)
    .orderBy('n')
    .limit(limit)
    .execute()
}

/** The total of a bulk import. */
export const totalOf = (task: TaskRow): number => (task.arguments as { total?: number }).total ?? 0
