// Reads the catalog of a source, as a task: verifies it, writes only differences, and replaces it in one transaction.
import { sql } from 'kysely'
import { otherPackages, sentenceOf, type NotCarried } from '../domain/not-carried.ts'
import type { TaskContext, TaskKind } from '../domain/tasks.ts'
import { archsOf } from '../formats/architectures.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { failureOf } from '../kernel/failure.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import type { SourceRow } from '../store/tables.ts'
import type { SeenState } from '../upstream/source.ts'
import type { FormatRegistry } from '../packages/identify.ts'
import type { Upstreams } from '../upstream/upstream.ts'
import { dropFirst, dropIncoming, firstCatalog, replaceCatalog, type Counts } from './catalog.ts'
import { findSecurityUpdates } from './security-updates.ts'
import { upstreamOf } from './source-view.ts'
import { SYNC, type Sources } from './sources.ts'

/** Packages between two lines of progress. */
const LINE_EVERY = 5000
/** Unreadable packages that log lines name. */
const MOST_NAMED = 20

export interface SyncDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
  sources: Pick<Sources, 'find'>
  upstreams: Pick<Upstreams, 'open'>
  registry: Pick<FormatRegistry, 'find'>
}

/** The task of one source; its key is the id of the source. Lines have `status` and `count` as data. */
export function syncKind(deps: SyncDeps): TaskKind {
  return {
    kind: SYNC,
    lane: 'sync',
    leaderOnly: false,
    atOnce: 2,
    async run(context) {
      const source = await deps.sources.find(context.key)
      const by = (context.arguments as { by?: string }).by ?? 'scheduler'
      await deps.db.updateTable('sources').set({ status: 'syncing' }).where('id', '=', source.id).execute()
      try {
        const read = await sync(deps, source, context)
        const target = source.security && source.target ? deps.registry.find(source.target) : null
        const updates = target ? await findSecurityUpdates(deps.db, source, target.format, deps.clock.now()) : null
        if (updates !== null) context.line(`${updates} published packages have a newer version here`)
        await recorded(deps, source, by, read)
        return {
          source_id: source.id,
          count: read.total,
          left_out: read.leftOut,
          ...(updates === null ? {} : { updates }),
        }
      } catch (error) {
        await (source.last_sync ? dropIncoming : dropFirst)(deps.db, source.id).catch(() => {})
        const isInterrupted = context.signal.aborted
        await deps.db
          .updateTable('sources')
          .set(
            isInterrupted
              ? { status: source.last_sync ? 'ok' : 'never' }
              : { status: 'error', error: failureOf(error).detail },
          )
          .where('id', '=', source.id)
          .execute()
        if (!isInterrupted) await recorded(deps, source, by, null, error)
        throw error
      }
    },
  }
}

/** @returns how many packages the source offers, how many of them are new or changed, and how many are left out */
async function sync(
  { db, clock, upstreams, registry }: SyncDeps,
  source: SourceRow,
  context: TaskContext,
): Promise<Counts & { changed: number }> {
  const line = (status: string, count: number, message: string) =>
    context.line(message, { status, count, source_id: source.id })
  line('started', source.pkg_count, `reading ${source.name}`)
  const upstream = await upstreams.open(upstreamOf(source), context.signal)
  const checked = await upstream.check(seenOf(source))
  const done = { status: 'ok' as const, error: null, last_sync: clock.now(), seen: JSON.stringify(checked.seen) }
  if (checked.state === 'unchanged') {
    const { signedBy, notCarried } = checked
    const all = [...(notCarried ?? []), ...(await otherArchs(db, source, registry))]
    const signed = signedBy === null ? {} : { signed_by: signedBy, not_carried: JSON.stringify(all) }
    await db
      .updateTable('sources')
      .set({ ...done, ...signed })
      .where('id', '=', source.id)
      .execute()
    line('verifying', source.pkg_count, 'nothing changed since the last sync')
    return { total: source.pkg_count, leftOut: source.left_out, changed: 0 }
  }
  line('downloading', 0, `${checked.sizeBytes} bytes of indexes`)
  const staged = await checked.stage()
  try {
    line('verifying', 0, checked.signedBy.length > 0 ? `signed by ${checked.signedBy.join(', ')}` : 'unsigned')
    const replacement = await (source.last_sync ? replaceCatalog : firstCatalog)(db, source.id, clock.now())
    let count = 0
    let named = 0
    let writing = Promise.resolve()
    for await (const batch of staged.packages(await replacement.known())) {
      context.signal.throwIfAborted()
      for (const { name, unreadable } of batch.unreadable)
        if (++named <= MOST_NAMED) context.line(`${name ?? 'a package'} is left out: ${unreadable}`)
      // The next packages are read while these are written.
      await writing
      writing = replacement.add(batch)
      writing.catch(() => {})
      const before = count
      count += batch.runs.reduce((sum, { size }) => sum + size, 0)
      if (Math.floor(before / LINE_EVERY) < Math.floor(count / LINE_EVERY)) line('syncing', count, `${count} packages`)
    }
    await writing
    let notCarried = checked.notCarried
    const replaced = await replacement.commit(async (tx, { total, leftOut }) => {
      notCarried = [...checked.notCarried, ...(await otherArchs(tx, source, registry))]
      const counts = { pkg_count: total, left_out: leftOut, not_carried: JSON.stringify(notCarried) }
      await tx
        .updateTable('sources')
        .set({ ...done, ...counts, signed_by: checked.signedBy })
        .where('id', '=', source.id)
        .execute()
    })
    line(
      'syncing',
      replaced.total,
      `${packagesOf(replaced)}, upstream's state of ${checked.date ? isoTime(checked.date) : 'unknown date'}`,
    )
    if (notCarried.length > 0)
      context.line(`the source also has, and nothing takes: ${notCarried.map(sentenceOf).join('; ')}`)
    return replaced
  } finally {
    await staged.remove()
  }
}

/** What the previous sync saw, if its packages are still there. */
function seenOf({ last_sync, seen, signed_by }: SourceRow): SeenState | null {
  return last_sync && seen ? { ...(seen as unknown as SeenState), signed: signed_by.length > 0 } : null
}

/** Architectures of the source that its target does not take, for example i686 beside x86_64. */
async function otherArchs(db: Db, { id, target }: SourceRow, registry: SyncDeps['registry']): Promise<NotCarried[]> {
  const offered = target === null ? null : registry.find(target)
  if (!offered) return []
  const taken = archsOf(offered.format, offered.distribution)
  const { rows } = await sql<{ arch: string; n: number }>`select arch, count(*)::int as n from catalog
    where source_id = ${id} and arch <> all(${taken}::text[]) group by arch order by n desc, arch`.execute(db)
  return otherPackages(rows)
}

async function recorded(
  deps: SyncDeps,
  source: SourceRow,
  by: string,
  read: (Counts & { changed: number }) | null,
  error?: unknown,
): Promise<void> {
  const failure = read ? null : failureOf(error)
  const said = read ? `${packagesOf(read)}; ${read.changed} new or changed` : failureOf(error).detail
  await deps.audit.record({
    action: 'SYNC',
    result: failure ? 'FAILURE' : 'SUCCESS',
    user: by,
    outcome: failure?.code ?? 'ok',
    detail: `${source.name}: ${said}`,
    extra: {
      source_id: source.id,
      ...(read ? { count: read.total, left_out: read.leftOut, changed: read.changed } : {}),
    },
  })
}

const packagesOf = ({ total, leftOut }: Counts) =>
  `${total} packages${leftOut === 0 ? '' : `, and ${leftOut} left out`}`
