// What is mirrored of each source: its selection and the distribution that takes the packages.
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { selectionOf, type MirrorSelection } from '../../domain/mirror-selection.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Offered } from '../../formats/format.ts'
import { openDistribution, type FormatRegistry } from '../../packages/identify.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import type { MirrorRow, SourceRow } from '../../store/tables.ts'
import type { Sources } from '../sources.ts'

/** A mirror that can run. */
export interface Mirror {
  source: SourceRow
  row: MirrorRow
  selection: MirrorSelection
  target: Offered
}

export interface MirrorFields {
  /** null: the distribution that a built-in source belongs to */
  distribution: string | null
  enabled: boolean
  selection: MirrorSelection
}

export interface Mirrors {
  /** Every source with its mirror, in the order of their ids. */
  all(): Promise<{ source: SourceRow; row: MirrorRow | null; enabled: boolean }[]>
  /** Whether the daily run includes a source: `settings.mirror.sources` takes precedence over its mirror's own switch. */
  isEnabled(source: SourceRow, row: MirrorRow | null): boolean
  /** @throws Problem('not_found') without a source or a mirror of it, 'unknown_distribution', 'distribution_inactive' */
  find(id: string): Promise<Mirror>
  /** The mirror as `put` would store it. @throws as `put` */
  preview(id: string, fields: MirrorFields): Promise<Mirror>
  /**
   * @param check receives the row that the change would replace, and throws to refuse the change
   * @throws Problem('not_found', 'validation_error', 'format_mismatch', 'unknown_distribution', 'distribution_inactive')
   */
  put(
    id: string,
    fields: MirrorFields,
    by: Caller,
    origin: Origin,
    check?: (before: MirrorRow | null) => void,
  ): Promise<Mirror>
  /** Removes the mirror; packages that it imported stay. @throws Problem('not_found') */
  remove(id: string, by: Caller, origin: Origin, check?: (before: MirrorRow) => void): Promise<SourceRow>
  /** Sets the name after which the next run begins. */
  continueAfter(sourceId: number, name: string | null): Promise<void>
}

export interface MirrorsDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
  sources: Pick<Sources, 'find' | 'all' | 'isEnabled'>
  registry: FormatRegistry
  settings(): Settings
}

export function createMirrors(deps: MirrorsDeps): Mirrors {
  const { db, clock, registry } = deps

  const rowOf = async (sourceId: number) =>
    (await db.selectFrom('mirrors').selectAll().where('source_id', '=', sourceId).executeTakeFirst()) ?? null

  async function preview(id: string, { enabled, selection, ...fields }: MirrorFields): Promise<Mirror> {
    const source = await deps.sources.find(id)
    const distribution = fields.distribution ?? source.target
    if (distribution === null) throw invalidField('distribution', 'is required')
    const target = openDistribution(registry, distribution)
    if (target.format.repoFormat !== source.type)
      throw new Problem(
        'format_mismatch',
        `${distribution} takes ${target.format.id} packages, the source is ${source.type}`,
      )
    if (selection.names.length + selection.globs.length + selection.sections.length === 0)
      throw invalidField('globs', 'is required unless names or sections are given; `*` selects everything')
    const row = {
      ...{ source_id: source.id, distribution, enabled, selection },
      ...{ continue_after: null, updated_at: clock.now(), updated_by: '' },
    }
    return { source, row, selection, target }
  }

  const recorded = (source: SourceRow, detail: string, by: Caller, origin: Origin, extra: object) =>
    deps.audit.record({
      action: 'SOURCE_UPDATE',
      result: 'SUCCESS',
      user: by.name,
      detail: `${source.name}: ${detail}`,
      ip: origin.ip,
      requestId: origin.requestId,
      extra: { source_id: source.id, ...extra },
    })

  function isEnabled(source: SourceRow, row: MirrorRow | null): boolean {
    if (!row || !deps.sources.isEnabled(source)) return false
    const toggles: Readonly<Record<string, boolean>> = deps.settings().mirror.sources
    return (source.key === null ? undefined : toggles[source.key]) ?? toggles[String(source.id)] ?? row.enabled
  }

  return {
    isEnabled,
    preview,
    async all() {
      const stored = await db.selectFrom('mirrors').selectAll().execute()
      const rows = new Map(stored.map((row) => [row.source_id, { ...row, selection: selectionOf(row.selection) }]))
      return (await deps.sources.all()).map((source) => {
        const row = rows.get(source.id) ?? null
        return { source, row, enabled: isEnabled(source, row) }
      })
    },
    async find(id) {
      const source = await deps.sources.find(id)
      const row = await rowOf(source.id)
      if (!row) throw notMirrored(source)
      return {
        source,
        row,
        selection: selectionOf(row.selection),
        target: openDistribution(registry, row.distribution),
      }
    },
    async put(id, fields, by, origin, check) {
      const mirror = await preview(id, fields)
      const row = { ...mirror.row, selection: JSON.stringify(mirror.selection), updated_by: by.name }
      await transaction(db, async (tx) => {
        // Locks the source, because a new mirror has no row to lock.
        const source = tx.selectFrom('sources').select('id').where('id', '=', row.source_id).forUpdate()
        if (!(await source.executeTakeFirst())) throw new Problem('not_found', `there is no import source ${id}`)
        const now = tx.selectFrom('mirrors').selectAll().where('source_id', '=', row.source_id)
        check?.((await now.executeTakeFirst()) ?? null)
        await tx
          .insertInto('mirrors')
          .values(row)
          .onConflict((c) => c.column('source_id').doUpdateSet(row))
          .execute()
      })
      const { distribution, enabled } = mirror.row
      const { keep_latest, with_dependencies, remove_withdrawn } = mirror.selection
      await recorded(mirror.source, `mirrored into ${distribution}`, by, origin, {
        mirror: { distribution, enabled, keep_latest, with_dependencies, remove_withdrawn },
      })
      return { ...mirror, row: { ...mirror.row, updated_by: by.name } }
    },
    async remove(id, by, origin, check) {
      const source = await deps.sources.find(id)
      await transaction(db, async (tx) => {
        const gone = await tx.deleteFrom('mirrors').where('source_id', '=', source.id).returningAll().executeTakeFirst()
        if (!gone) throw notMirrored(source)
        check?.(gone)
      })
      await recorded(source, 'no longer mirrored', by, origin, { mirror: null })
      return source
    },
    async continueAfter(sourceId, name) {
      await db.updateTable('mirrors').set({ continue_after: name }).where('source_id', '=', sourceId).execute()
    },
  }
}

const notMirrored = (source: SourceRow) =>
  new Problem('not_found', `${source.name} has no mirror: its selection was not set`)
