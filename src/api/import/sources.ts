// /import: sources, their catalogs, and importing packages from them.
import { Problem } from '../../domain/problem.ts'
import type { PackageFormat } from '../../formats/format.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { searchCatalog } from '../../imports/catalog-query.ts'
import type { ImportPackage } from '../../imports/import-package.ts'
import { sourceView } from '../../imports/source-view.ts'
import { SYNC, type Sources } from '../../imports/sources.ts'
import type { Db } from '../../store/db.ts'
import type { SourceRow } from '../../store/tables.ts'
import { openTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import {
  deleteImportSourcesId,
  getImportSearch,
  getImportSources,
  getImportSourcesId,
  patchImportSourcesId,
  postImportPackages,
  postImportSources,
  postImportSourcesIdSync,
} from './sources.contract.ts'
import { importResult } from './several.ts'
import { shortened } from '../http/list-stream.ts'
import { problemOf } from '../http/problems.ts'
import { handle, type Route } from '../http/route.ts'
import { errorEvent, openStream } from '../http/sse.ts'

export interface ImportRouteDeps {
  db: Db
  log: Log
  formats: readonly PackageFormat[]
  sources: Sources
  importPackage: ImportPackage
  tasks: Pick<Tasks, 'enqueue' | 'ended'>
}

/** Requirements of one result of a search. */
const MOST_DEPENDS = 50

export function importRoutes(deps: ImportRouteDeps): Route[] {
  const { db, sources } = deps
  const view = (source: SourceRow) => sourceView(source, sources.isEnabled(source))
  return [
    handle(getImportSources, async () => {
      const all = await sources.all()
      return { sources: all.map(view), total: all.length }
    }),
    handle(getImportSourcesId, async ({ params }) => view(await sources.find(params.id))),
    handle(postImportSources, async ({ body, caller, origin }) => view(await sources.create(body, caller, origin))),
    handle(patchImportSourcesId, async ({ params, body, caller, origin, unchanged }) =>
      view(await sources.change(params.id, body, caller, origin, (before) => unchanged(view(before)))),
    ),
    handle(deleteImportSourcesId, async ({ params, caller, origin, unchanged }) => {
      const { id, name } = await sources.remove(params.id, caller, origin, (before) => unchanged(view(before)))
      return { status: 'deleted', id, name }
    }),
    handle(postImportSourcesIdSync, async ({ params, caller, origin, raw, reply }) => {
      const { id } = await sources.find(params.id)
      // Joins a sync that is already running.
      const open = await openTask(db, SYNC, String(id))
      const request = { kind: SYNC, key: String(id), arguments: { by: caller.name }, createdBy: caller.name }
      const task = open ?? (await deps.tasks.enqueue({ ...request, requestId: origin.requestId }))
      const stream = openStream(reply)
      const send = (status: unknown, count: unknown, message: string, more: object = {}) =>
        stream.send({ status, count, message, source_id: id, ...more })
      try {
        const { count, left_out } = await deps.tasks.ended(task.id, ({ data, message }) => {
          const { status, count } = (data ?? {}) as { status?: unknown; count?: unknown }
          if (status !== undefined) send(status, count, message)
        })
        send('done', count, `${String(count)} packages`, { left_out })
      } catch (error) {
        const { problem, isBug } = problemOf(error, raw.id)
        if (isBug) deps.log.error({ request_id: raw.id, err: error }, 'sync failed')
        stream.send({ ...errorEvent(problem), count: 0, message: problem.detail, source_id: id })
      }
      stream.close()
      return undefined
    }),
    handle(getImportSearch, async ({ query }) => {
      const { q, limit, source_id: sourceId, format, distro: distribution } = query
      await requireSynced(sources, sourceId)
      const types =
        format === undefined ? format : deps.formats.filter((one) => one.id === format).map((one) => one.repoFormat)
      const { total, results, sources: searched } = await searchCatalog(db, { q, limit, sourceId, types, distribution })
      const formatOf = (type: string) => deps.formats.find((one) => one.repoFormat === type)?.id ?? type
      return {
        query: q,
        count: results.length,
        total,
        more: results.reduce((sum, { source_ids: ids }) => sum + ids.length, 0) < total,
        results: results.map((row) => ({
          ...{ name: row.name, version: row.version, arch: row.arch, section: row.section },
          description: shortened(row.description),
          depends: row.requirements
            .filter((requirement) => requirement.strong)
            .slice(0, MOST_DEPENDS)
            .map((requirement) => requirement.text),
          size: row.size_bytes,
          sha256: row.digest_algorithm === 'sha256' ? row.digest : null,
          distro: row.distribution,
          source_id: row.source_id,
          synced_at: isoTime(row.synced_at),
          security: row.security,
          format: formatOf(row.type),
          sources: searched
            .filter(({ id }) => row.source_ids.includes(id))
            .map((one) => ({ source_id: one.id, distro: one.distribution, security: one.security })),
        })),
      }
    }),
    handle(postImportPackages, async ({ body, caller, origin, reply }) => {
      const { result, source, dependencies } = await deps.importPackage(body, caller, origin)
      reply.code(result.status === 'rejected' ? 200 : 201).header('x-package-status', result.status)
      const { id, name, url } = source
      const results = body.with_dependencies ? { results: dependencies.map(importResult) } : {}
      return { ...result, method: 'import', source: { id, name, url }, ...results }
    }),
  ]
}

/** @throws Problem('index_empty') when the source that is searched, or every source, was never synced */
async function requireSynced(sources: Sources, sourceId: number | undefined): Promise<void> {
  const all = await sources.all()
  if (all.some((source) => source.last_sync && (sourceId === undefined || source.id === sourceId))) return
  const extra = sourceId === undefined ? {} : { source_id: sourceId }
  throw new Problem('index_empty', 'no catalog to search: the sources were never synced', extra)
}
