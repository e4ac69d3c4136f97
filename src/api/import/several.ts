// Importing several packages: in one answer, as a stream, and as a task.
import { randomUUID } from 'node:crypto'
import type { Caller } from '../../domain/caller.ts'
import { noOutcomes } from '../../domain/import-outcome.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import type { Origin } from '../../domain/audit.ts'
import type { FormatRegistry } from '../../packages/identify.ts'
import { openDistribution } from '../../packages/identify.ts'
import { bulkRequest, bulkResults, IMPORT_BULK, resultCounts, totalOf } from '../../imports/bulk-import.ts'
import type { PackageRequest } from '../../imports/choose-entries.ts'
import type { ImportTally } from '../../imports/import-many.ts'
import type { ImportRequested } from '../../imports/import-requested.ts'
import type { Log } from '../../kernel/log.ts'
import type { Db } from '../../store/db.ts'
import type { TaskRow } from '../../store/tables.ts'
import { taskById } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { getImportBulkId, postImport, postImportBatch, postImportBulk, postImportFetch } from './several.contract.ts'
import { problemOf } from '../http/problems.ts'
import { jobOf } from './jobs.ts'
import { handle, type Route } from '../http/route.ts'
import { errorEvent, openStream } from '../http/sse.ts'

export interface SeveralRouteDeps {
  db: Db
  log: Log
  registry: FormatRegistry
  importRequested: ImportRequested
  tasks: Pick<Tasks, 'enqueue'>
}

/** Results in one answer about a task. */
const MOST_RESULTS = 200

interface SeveralBody {
  packages: (string | Partial<PackageRequest>)[]
  source_id?: number | undefined
  distribution: string
  group?: string | undefined
  with_dependencies?: boolean | undefined
}

interface Result {
  source_id: number
  package: string
  version: string | null
  arch: string | null
  status: string
  code: string | null
  detail: string | null
}

export function severalRoutes(deps: SeveralRouteDeps): Route[] {
  const { db, registry } = deps

  /** @param onResult called with each result as it comes */
  async function importSeveral(body: SeveralBody, caller: Caller, origin: Origin, onResult: (result: Result) => void) {
    const meta = {
      method: 'import' as const,
      group: body.group ?? null,
      by: caller.name,
      origin,
      scopes: caller.scopes ?? null,
    }
    return deps.importRequested(
      [requestsOf(body)],
      body.distribution,
      meta,
      (result) => onResult(importResult(result)),
      {
        withDependencies: body.with_dependencies ?? false,
      },
    )
  }

  const streamed = (declaration: typeof postImportFetch) =>
    handle(declaration, async ({ body, caller, origin, raw, reply }) => {
      // These errors are answered with their HTTP status.
      openDistribution(registry, body.distribution)
      requestsOf(body)
      const stream = openStream(reply, { heartbeat: true })
      try {
        const counts = await importSeveral(body, caller, origin, (result) => stream.send(result, 'result'))
        stream.send({ status: 'done', ...summaryOf(counts) }, 'end')
      } catch (error) {
        const { problem, isBug } = problemOf(error, raw.id)
        if (isBug) deps.log.error({ request_id: raw.id, err: error }, 'import failed')
        stream.send(errorEvent(problem), 'end')
      }
      stream.close()
      return undefined
    })

  return [
    handle(postImport, async ({ body, caller, origin }) => {
      const results: Result[] = []
      const counts = await importSeveral(body, caller, origin, (result) => void results.push(result))
      return { ...summaryOf(counts), results, error_details: results.filter(({ status }) => status === 'error') }
    }),
    streamed(postImportFetch),
    streamed(postImportBatch),
    handle(postImportBulk, async ({ body, caller, origin }) => {
      const bulk = {
        distribution: body.distribution,
        group: body.group ?? null,
        withDependencies: body.with_dependencies ?? false,
        packages: requestsOf(body),
      }
      const { request, store } = bulkRequest(registry, bulk, randomUUID(), caller, origin)
      const { id } = await deps.tasks.enqueue(request, store)
      const task = await bulkTask(db, id)
      return jobOf(task, progressOf(task, noOutcomes()))
    }),
    handle(getImportBulkId, async ({ params: { id }, query: { from } }) => {
      const task = await bulkTask(db, id)
      const { distribution, group } = task.arguments as { distribution: string; group: string | null }
      const counts = await resultCounts(db, id)
      return {
        ...jobOf(task, progressOf(task, counts)),
        ...{ distribution, group },
        ...summaryOf(counts),
        results: await bulkResults(db, id, { from, limit: MOST_RESULTS }),
        error_details: await bulkResults(db, id, { from: 0, limit: MOST_RESULTS, only: 'error' }),
      }
    }),
  ]
}

/** @throws Problem('validation_error') for a package without a source */
function requestsOf({ packages, source_id }: SeveralBody): PackageRequest[] {
  return packages.map((one) => {
    const { package: name, ...rest } = typeof one === 'string' ? { package: one } : one
    const request = { source_id, ...rest, package: name ?? '' }
    if (request.source_id === undefined)
      throw invalidField('source_id', 'is required, for all packages or for each of them')
    return { ...request, source_id: request.source_id }
  })
}

/** A result as answers show it. */
export const importResult = ({ source_id, package: name, version, arch, status, code, detail }: Result): Result => ({
  ...{ source_id, package: name, version: version || null, arch: arch || null, status, code, detail },
})

const summaryOf = (counts: ImportTally) => ({
  success: counts.error === 0,
  imported: counts.added + counts.pending_review,
  errors: counts.error,
  counts,
})

async function bulkTask(db: Db, id: number): Promise<TaskRow> {
  const task = await taskById(db, id)
  if (task?.kind !== IMPORT_BULK) throw new Problem('not_found', `there is no bulk import ${id}`)
  return task
}

const progressOf = (task: TaskRow, counts: ImportTally) => ({
  total: totalOf(task),
  done_count: Object.values(counts).reduce((sum, n) => sum + n, 0),
  error_count: counts.error,
})
