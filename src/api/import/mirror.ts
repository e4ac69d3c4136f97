// /import/mirror: the mirror of each source, the plan of a run, and the schedule.
import type { FastifyRequest } from 'fastify'
import { selectionOf, type MirrorSelection } from '../../domain/mirror-selection.ts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { PackageFormat } from '../../formats/format.ts'
import type { Mirror, MirrorFields, Mirrors } from '../../imports/mirror/mirrors.ts'
import type { MirrorPlan } from '../../imports/mirror/plan.ts'
import { MIRROR } from '../../imports/mirror/run.ts'
import { isoTimeOrNull } from '../../kernel/clock.ts'
import type { SettingsStore } from '../../config/settings/settings.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import type { MirrorRow, SourceRow, TaskRow } from '../../store/tables.ts'
import { lastTask, lastTasks } from '../../tasks/task-query.ts'
import {
  deleteImportMirrorSourcesId,
  getImportMirrorSchedule,
  getImportMirrorSources,
  getImportMirrorSourcesId,
  getImportMirrorSourcesIdPlan,
  postImportMirrorSchedule,
  postImportMirrorSources,
  postImportMirrorSourcesIdPlan,
  putImportMirrorSourcesId,
} from './mirror.contract.ts'
import { mirrorJobOf } from './mirror-jobs.ts'
import { requireMatch, stateOf, tagged } from '../http/if-match.ts'
import { handle, type Route } from '../http/route.ts'
import { recordChange } from '../settings/settings.ts'

export interface ImportMirrorDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  formats: readonly PackageFormat[]
  mirrors: Mirrors
  plan(mirror: Mirror, signal?: AbortSignal): Promise<MirrorPlan>
  settings: Pick<SettingsStore, 'current' | 'patch'>
  /** time of the next daily run; null when it is switched off */
  nextRun(): string | null
}

export function importMirrorRoutes(deps: ImportMirrorDeps): Route[] {
  const { mirrors, settings } = deps
  return [
    handle(getImportMirrorSources, () => listed(deps)),
    handle(postImportMirrorSources, async (call) => {
      const known = (await mirrors.all()).flatMap(({ source: { id, key } }) => [
        String(id),
        ...(key === null ? [] : [key]),
      ])
      const unknown = Object.keys(call.body.sources).filter((id) => !known.includes(id))
      if (unknown.length > 0)
        throw new Problem('unknown_key', `there is no import source ${unknown[0]!.slice(0, 100)}`, {
          errors: unknown.slice(0, 20).map((id) => ({ field: `sources.${id}`, message: 'is not an import source' })),
        })
      const { changedKeys } = await settings.patch({ mirror: { sources: call.body.sources } }, call.caller.name)
      await recordChange(deps.audit, call, changedKeys)
      return listed(deps)
    }),
    handle(getImportMirrorSourcesId, async ({ params, reply }) => {
      const mirror = await mirrors.find(params.id)
      return tagged(reply, mirrorState(mirror.row), await one(deps, mirror))
    }),
    handle(putImportMirrorSourcesId, async ({ params, body, caller, origin, raw, reply }) => {
      const mirror = await mirrors.put(params.id, fieldsOf(body), caller, origin, unchanged(raw))
      return tagged(reply, mirrorState(mirror.row), await one(deps, mirror))
    }),
    handle(deleteImportMirrorSourcesId, async ({ params, caller, origin, raw }) => {
      const { id, name } = await mirrors.remove(params.id, caller, origin, unchanged(raw))
      return { status: 'deleted', id, name }
    }),
    handle(getImportMirrorSourcesIdPlan, async ({ params, reply }) =>
      deps.plan(await mirrors.find(params.id), closing(reply)),
    ),
    handle(postImportMirrorSourcesIdPlan, async ({ params, body, reply }) =>
      deps.plan(await mirrors.preview(params.id, fieldsOf(body)), closing(reply)),
    ),
    handle(getImportMirrorSchedule, async () => schedule(deps)),
    handle(postImportMirrorSchedule, async (call) => {
      const { changedKeys } = await settings.patch({ mirror: call.body }, call.caller.name)
      await recordChange(deps.audit, call, changedKeys)
      return schedule(deps)
    }),
  ]
}

/** What people edit of a mirror. */
const editedOf = ({ distribution, enabled, selection }: MirrorRow) => ({
  ...{ distribution, enabled },
  selection: selectionOf(selection),
})

/** The state of a mirror for `ETag`. */
const mirrorState = (row: MirrorRow | null) =>
  row ? stateOf({ ...row, ...editedOf(row) }, ['distribution', 'enabled', 'selection', 'updated_at']) : 'none'

/** Refuses a change if the mirror changed since its sender read it and the request names the state that was read. */
const unchanged = (request: FastifyRequest) => (before: MirrorRow | null) =>
  requireMatch(request, mirrorState(before), {
    ...(before && { current: editedOf(before) }),
    updated_at: isoTimeOrNull(before?.updated_at),
    updated_by: before?.updated_by ?? null,
  })

/** Aborts when the client leaves. */
function closing(reply: { raw: NodeJS.EventEmitter }): AbortSignal {
  const closed = new AbortController()
  reply.raw.on('close', () => closed.abort())
  return closed.signal
}

type Fields = Partial<MirrorSelection> & { distribution?: string; enabled?: boolean }

function fieldsOf({ distribution, enabled = true, ...selection }: Fields): MirrorFields {
  return { distribution: distribution ?? null, enabled, selection: selectionOf(selection) }
}

function schedule({ settings, nextRun }: ImportMirrorDeps): Settings['mirror'] & { next_run: string | null } {
  return { ...settings.current().mirror, next_run: nextRun() }
}

async function listed(deps: ImportMirrorDeps) {
  const last = await lastTasks(deps.db, MIRROR)
  const all = await deps.mirrors.all()
  return {
    sources: all.map(({ source, row, enabled }) => {
      const { names, ...selection } = row?.selection ?? { names: [] }
      return {
        ...viewOf(deps, source, row, enabled),
        last_job: jobOrNull(last.get(String(source.id))),
        selection: row && selection,
        names_total: names.length,
      }
    }),
    total: all.length,
  }
}

async function one(deps: ImportMirrorDeps, { source, row, selection }: Mirror) {
  const enabled = deps.mirrors.isEnabled(source, row)
  const last = await lastTask(deps.db, MIRROR, String(source.id))
  return { ...viewOf(deps, source, row, enabled), last_job: jobOrNull(last), selection }
}

const jobOrNull = (task: TaskRow | null | undefined) => (task ? mirrorJobOf(task) : null)

function viewOf({ formats }: ImportMirrorDeps, source: SourceRow, row: MirrorRow | null, enabled: boolean) {
  return {
    id: source.id,
    key: source.key,
    label: source.name,
    format: formats.find(({ repoFormat }) => repoFormat === source.type)?.id ?? source.type,
    enabled,
    distribution: row?.distribution ?? null,
    continue_after: row?.continue_after ?? null,
    updated_at: isoTimeOrNull(row?.updated_at),
    updated_by: row?.updated_by ?? null,
  }
}
