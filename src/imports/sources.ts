// Import sources: the upstream repositories that packages come from. Created, changed and deleted by people.
import type { Insertable } from 'kysely'
import type { Origin } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { PackageFormat } from '../formats/format.ts'
import type { FormatRegistry } from '../packages/identify.ts'
import type { Clock } from '../kernel/clock.ts'
import { isForbiddenHost } from '../kernel/forbidden-addresses.ts'
import { openTasks } from '../tasks/task-query.ts'
import type { Upstreams } from '../upstream/upstream.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import type { SourceRow, SourcesTable } from '../store/tables.ts'
import { transaction } from '../store/transaction.ts'
import { unlessTaken } from '../store/unique.ts'
import { lacksKey, upstreamOf } from './source-view.ts'

/** The kind of the task that reads the catalog of a source; its key is the id. */
export const SYNC = 'sync'

/** The fields of a source that people set. */
export interface SourceFields {
  name?: string | undefined
  url?: string | undefined
  mirrors?: 'metalink' | 'mirrorlist' | null | undefined
  distribution?: string | null | undefined
  components?: string[] | undefined
  arch?: string | undefined
  architectures?: string[] | undefined
  gpg_key?: string | null | undefined
  allow_unsigned?: boolean | undefined
  /** codename of the distribution that takes its packages */
  target?: string | null | undefined
  enabled?: boolean | undefined
  security?: boolean | undefined
}

/** Receives the source before a change, and throws to refuse it. */
type Check = (before: SourceRow) => void

export interface Sources {
  all(): Promise<SourceRow[]>
  /** Whether runs of several sources include it: it is enabled, in the settings too, and its format is served. */
  isEnabled(source: SourceRow): boolean
  /** @param id number or key @throws Problem('not_found') */
  find(id: string): Promise<SourceRow>
  create(
    fields: SourceFields & { name: string; type: string; url: string },
    by: Caller,
    origin: Origin,
  ): Promise<SourceRow>
  /** Changes the given fields. After another address, key or selection, the next sync reads everything again. */
  change(id: string, fields: SourceFields, by: Caller, origin: Origin, check?: Check): Promise<SourceRow>
  /** Deletes a source and its catalog; packages that were imported stay. @throws Problem('built_in_source') */
  remove(id: string, by: Caller, origin: Origin, check?: Check): Promise<SourceRow>
}

export interface SourceDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
  formats: readonly PackageFormat[]
  upstreams: Pick<Upstreams, 'open'>
  registry: FormatRegistry
  settings(): Pick<Settings, 'sources'>
  /** whether sources may have loopback and private addresses */
  mayBePrivate: boolean
}

export function createSources(deps: SourceDeps): Sources {
  const { db, clock } = deps

  async function find(id: string): Promise<SourceRow> {
    const isNumber = /^\d{1,15}$/.test(id)
    const row = await db
      .selectFrom('sources')
      .selectAll()
      .where(isNumber ? 'id' : 'key', '=', isNumber ? Number(id) : id)
      .executeTakeFirst()
    if (!row) throw new Problem('not_found', `there is no import source ${id.slice(0, 100)}`)
    return (await withoutDeadSyncs(db, [row]))[0]!
  }

  const recorded = (action: string, row: Pick<SourceRow, 'id' | 'name' | 'url'>, by: Caller, origin: Origin) =>
    deps.audit.record({
      action,
      result: 'SUCCESS',
      user: by.name,
      detail: `${row.name}: ${row.url}`,
      ip: origin.ip,
      requestId: origin.requestId,
      extra: { source_id: row.id },
    })

  return {
    find,
    isEnabled({ key, enabled, target }) {
      const toggles: Partial<Record<string, boolean>> = deps.settings().sources
      return enabled && (key === null || toggles[key] !== false) && (target === null || deps.registry.isActive(target))
    },
    all: async () => withoutDeadSyncs(db, await db.selectFrom('sources').selectAll().orderBy('id').execute()),
    async create({ type, ...fields }, by, origin) {
      const format = deps.formats.find((one) => one.repoFormat === type && one.catalog)
      if (!format) throw invalidField('type', 'must be apt, rpm or apk')
      const target = fields.target ?? suiteOf(deps.registry, type, fields.distribution)
      const row: Insertable<SourcesTable> = {
        type,
        name: fields.name,
        url: fields.url,
        mirrors: fields.mirrors ?? null,
        distribution: fields.distribution ?? null,
        components: fields.components ?? (type === 'apt' && !fields.distribution?.endsWith('/') ? ['main'] : []),
        architectures: architecturesIn(fields) ?? [
          ...(deps.registry.find(target ?? '')?.distribution.architectures ?? [
            format.architectures['amd64'] ?? 'x86_64',
          ]),
        ],
        target,
        keys: JSON.stringify(keysOf(fields.gpg_key)),
        allow_unsigned: fields.allow_unsigned ?? false,
        enabled: fields.enabled ?? true,
        security: fields.security ?? false,
        created_at: clock.now(),
        created_by: by.name,
      }
      checkTarget(deps.registry, type, row.target)
      await checkReadable(deps, { ...row, keys: keysOf(fields.gpg_key) })
      const created = await unlessTaken(
        db.insertInto('sources').values(row).returningAll().executeTakeFirstOrThrow(),
        TAKEN,
      )
      await recorded('SOURCE_CREATE', created, by, origin)
      return created
    },
    async change(id, fields, by, origin, check) {
      const before = await find(id)
      const { arch: _arch, architectures: _architectures, gpg_key: key, ...same } = fields
      const architectures = architecturesIn(fields)
      const keys = key === undefined ? before.keys : keysOf(key)
      const given = Object.fromEntries(Object.entries(same as object).filter(([, value]) => value !== undefined))
      const set = { ...given, ...(architectures ? { architectures } : {}) }
      checkTarget(deps.registry, before.type, fields.target)
      const [lacked, lacks] = [lacksKey(before), lacksKey({ ...before, ...set, keys })]
      if (lacks && !lacked) throw invalidField('gpg_key', 'is required unless `allow_unsigned` is true')
      const readable = lacked && !lacks ? { status: 'never' as const, error: null } : {}
      await checkReadable(deps, { ...before, ...set, keys })
      const row = await unlessTaken(
        transaction(db, async (tx) => {
          check?.(await locked(tx, before.id))
          return tx
            .updateTable('sources')
            .set({
              ...set,
              ...readable,
              ...trustedAnew(fields),
              ...comparedAnew(fields),
              keys: JSON.stringify(keys),
              changed_at: clock.now(),
            })
            .where('id', '=', before.id)
            .returningAll()
            .executeTakeFirstOrThrow()
        }),
        TAKEN,
      )
      await recorded('SOURCE_UPDATE', row, by, origin)
      return row
    },
    async remove(id, by, origin, check) {
      const row = await find(id)
      if (row.key !== null)
        throw new Problem('built_in_source', `${row.name} is part of the service; it can be disabled`, { key: row.key })
      await transaction(db, async (tx) => {
        check?.(await locked(tx, row.id))
        await tx.deleteFrom('sources').where('id', '=', row.id).execute()
      })
      await recorded('SOURCE_DELETE', row, by, origin)
      return row
    },
  }
}

/** @throws Problem('not_found') when it was deleted meanwhile */
async function locked(tx: Db, id: number): Promise<SourceRow> {
  const row = await tx.selectFrom('sources').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
  if (!row) throw new Problem('not_found', `there is no import source ${id}`)
  return row
}

/** A person accepts an unsigned index: it counts as never signed, so its packages must be signed (`packages/fit`). */
const trustedAnew = ({ allow_unsigned: isAllowed }: SourceFields) => (isAllowed === true ? { signed_by: [] } : {})

/** A sync whose processes all died could not record its end: its source is `syncing`, but no such task is open. */
async function withoutDeadSyncs(db: Db, rows: SourceRow[]): Promise<SourceRow[]> {
  if (!rows.some(({ status }) => status === 'syncing')) return rows
  const open = new Set((await openTasks(db, SYNC)).map(({ key }) => key))
  const error = 'the last sync did not end: its processes died'
  return rows.map((row) =>
    row.status === 'syncing' && !open.has(String(row.id)) ? { ...row, status: 'error', error } : row,
  )
}

const TAKEN = 'another import source has this name, or this address and distribution'

/** The distribution of an apt suite: `bookworm` of `bookworm-security`. */
function suiteOf(registry: FormatRegistry, type: string, suite: string | null | undefined): string | null {
  for (const codename of [suite ?? '', (suite ?? '').replace(/[-/].*$/, '')])
    if (registry.find(codename)?.format.repoFormat === type) return codename
  return null
}

/** @throws Problem('validation_error') */
function checkTarget(registry: FormatRegistry, type: string, codename: string | null | undefined): void {
  if (codename === null || codename === undefined) return
  if (registry.find(codename)?.format.repoFormat !== type)
    throw invalidField('target', `must be a distribution that takes ${type} packages`)
}

/** Another distribution has not been compared yet. */
const comparedAnew = ({ target }: SourceFields) => (target === undefined ? {} : { compared_revision: null })

const architecturesIn = ({ arch, architectures }: SourceFields) => architectures ?? (arch ? [arch] : undefined)
const keysOf = (key: string | null | undefined) => (key ? [{ name: null, text: key }] : [])

/**
 * Fails early for a source that no sync could read.
 * @throws Problem('validation_error', 'forbidden_target')
 */
async function checkReadable(
  { upstreams, mayBePrivate }: SourceDeps,
  row: Parameters<typeof upstreamOf>[0],
): Promise<void> {
  // Everybody who may import reads the addresses of sources.
  const { username, password, hostname } = parsed(row.url)
  if (username || password) throw invalidField('url', 'must not hold a user name or a password')
  if (row.type === 'apt' && !row.distribution) throw invalidField('distribution', 'is required for apt: the suite')
  // A name may get such an address later, so each sync looks again.
  if (isForbiddenHost(hostname, mayBePrivate))
    throw new Problem('forbidden_target', `${hostname} must not be reached from here`)
  if (row.url.startsWith('file:')) await upstreams.open({ ...upstreamOf(row), allowUnsigned: true })
}

function parsed(url: string): URL {
  if (!URL.canParse(url)) throw invalidField('url', 'is not an address')
  return new URL(url)
}
