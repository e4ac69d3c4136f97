// Migration: every published package of a distribution is copied into another, as a task; one index build at the end.
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import { isProblem } from '../../domain/problem.ts'
import type { TaskKind, TaskProgress, TaskRequest } from '../../domain/tasks.ts'
import type { Manifests } from '../records/manifests.ts'
import type { Publisher } from '../../publish/publisher.ts'
import { BEFORE_ALL, nextOffers, type OfferPlace } from '../../store/records/served-query.ts'
import { copyRecords, type Copied } from './copy-records.ts'
import type { CopyMeta } from './copied-record.ts'
import { announcePromoted, openPair, type PromoteDeps } from './promote.ts'

export const MIGRATE = 'migrate'
/** Records copied in one transaction, and between two saves of the cursor. */
const TOGETHER = 20
/** Packages and errors that the result lists. */
export const MOST_LISTED = 200

export interface MigrationResult {
  migrated: number
  /** packages that the target had already */
  skipped: number
  failed: number
  /** the first migrated packages */
  packages: { package: string; version: string; arch: string }[]
  errors: { package: string; version: string; code: string; message: string }[]
  manifests_updated: number
}

interface Arguments {
  from_dist: string
  to_dist: string
  /** who asked for the migration, and from where */
  by: string
  ip: string | null
  request_id: string | null
}

interface Cursor extends MigrationResult {
  after: OfferPlace
}

interface MigrateDeps extends Omit<PromoteDeps, 'publishRecords'> {
  manifests: Pick<Manifests, 'write'>
  publisher: Pick<Publisher, 'converge'>
}

/** The request for the task of `POST /distributions/migrate`. @throws Problem as `openPair` */
export function migrationRequest(
  registry: PromoteDeps['registry'],
  { from_dist, to_dist }: { from_dist: string; to_dist: string },
  caller: Caller,
  origin: Origin,
): TaskRequest {
  openPair(registry, from_dist, to_dist)
  return {
    kind: MIGRATE,
    key: `${from_dist} ${to_dist}`,
    arguments: { from_dist, to_dist, by: caller.name, ip: origin.ip, request_id: origin.requestId },
    createdBy: caller.name,
    requestId: origin.requestId,
  }
}

export function migrateKind(deps: MigrateDeps): TaskKind {
  return {
    kind: MIGRATE,
    lane: 'bulk',
    leaderOnly: false,
    async run(context) {
      const { from_dist, to_dist, by, ip, request_id } = context.arguments as unknown as Arguments
      const meta: CopyMeta = { method: 'migration', importedBy: by, origin: { ip, requestId: request_id } }
      const { after: _after, ...result } = await migrate(deps, from_dist, to_dist, meta, context)
      return { ...result }
    },
  }
}

/** @param context its cursor continues an interrupted migration */
async function migrate(
  deps: MigrateDeps,
  fromCodename: string,
  toCodename: string,
  meta: CopyMeta,
  context: TaskProgress,
): Promise<Cursor> {
  const { from, to } = openPair(deps.registry, fromCodename, toCodename)
  const nothing = { migrated: 0, skipped: 0, failed: 0, packages: [], errors: [], manifests_updated: 0 }
  const state: Cursor = (context.cursor as Cursor | null) ?? { after: BEFORE_ALL, ...nothing }
  for (;;) {
    const page = await nextOffers(deps.db, fromCodename, state.after, TOGETHER)
      .select(['package_id', 'name', 'version'])
      .execute()
    const last = page.at(-1)
    if (!last) break
    const copied = await copyPage(page)
    const rows = copied.flatMap(({ row }) => row ?? [])
    await deps.manifests.write(rows.map((row) => row.id))
    state.migrated += rows.length
    state.manifests_updated += rows.length
    state.skipped += copied.length - rows.length
    const room = MOST_LISTED - state.packages.length
    state.packages.push(...rows.slice(0, room).map(({ name, version, arch }) => ({ package: name, version, arch })))
    announcePromoted(deps.bus, rows)
    state.after = { name: last.name, package_id: last.package_id }
    await context.save({ ...state, after: { ...state.after } })
    context.signal.throwIfAborted()
  }
  await deps.publisher.converge(toCodename)
  context.line(`${state.migrated} packages migrated, ${state.skipped} were there, ${state.failed} failed`)
  return state

  /** Copies the page together, or each package alone when one of them cannot be copied. */
  async function copyPage(page: readonly { package_id: number; name: string; version: string }[]): Promise<Copied[]> {
    try {
      return await copyRecords(
        deps,
        page.map((row) => row.package_id),
        from,
        to,
        meta,
      )
    } catch (error) {
      if (!isProblem(error)) throw error
    }
    const copied: Copied[] = []
    for (const { package_id, name, version } of page) {
      try {
        copied.push(...(await copyRecords(deps, [package_id], from, to, meta)))
      } catch (error) {
        if (!isProblem(error)) throw error
        state.failed++
        if (state.errors.length < MOST_LISTED)
          state.errors.push({ package: name, version, code: error.code, message: error.detail })
      }
    }
    return copied
  }
}
