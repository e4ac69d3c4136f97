// Imports many packages of catalogs into one distribution: downloads a few at a time, then accepts them as uploads are.
import type { Origin } from '../domain/audit.ts'
import type { Policy } from '../domain/decide.ts'
import { noOutcomes, type ImportOutcome } from '../domain/import-outcome.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import type { Scopes } from '../domain/scopes.ts'
import type { PackageStatus } from '../domain/status.ts'
import { archsOf } from '../formats/architectures.ts'
import type { Offered } from '../formats/format.ts'
import type { IntakeResult, Meta, Source } from '../packages/arrival.ts'
import { openDistribution, type FormatRegistry } from '../packages/identify.ts'
import type { Intake } from '../intake/intake.ts'
import { recheckMissing } from '../packages/recheck-missing.ts'
import { reservedProblem } from '../packages/reserved-names.ts'
import { eventOf } from '../packages/new-record.ts'
import type { Clock } from '../kernel/clock.ts'
import { failureOf } from '../kernel/failure.ts'
import { createSemaphore } from '../kernel/semaphore.ts'
import { createSerial } from '../kernel/serial.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import { reservationsOf } from '../store/reservations.ts'
import type { CatalogRow, SourceRow } from '../store/tables.ts'
import type { Upstream, Upstreams } from '../upstream/upstream.ts'
import { listingOf, sourceOf, type Listed } from './fetch-entry.ts'
import { presentRecords, type PresentRecord } from './present-records.ts'
import { upstreamOf } from './source-view.ts'

/** Transfers from one source at the same time. */
const PER_SOURCE = 8
/** Packages that are looked up in the distribution in one query. */
const LOOKED_UP = 200

export type Wanted = Listed

export interface ImportManyMeta {
  method: 'import' | 'mirror'
  /** the import group of new records */
  group: string | null
  /** user name */
  by: string
  /** of the token that asked for it */
  scopes?: Scopes | null
  origin: Origin
  /** when the work began, also in an earlier process; by default now */
  begunAt?: Date
}

/** What became of one package. */
export interface ImportedPackage {
  source_id: number
  package: string
  version: string
  arch: string
  status: ImportOutcome
  size_bytes: number
  /** status of the record; null after an error */
  record_status: PackageStatus | null
  /** of an error, or why the package was not stored again */
  code: string | null
  /** one sentence */
  detail: string | null
}

export type ImportTally = Record<ImportOutcome, number>

/**
 * Returns when each package is published, held or refused. A failure does not stop the other packages; `onResult` receives
 * it. Calls of `onResult` do not overlap. At the end, missing dependencies that arrived later are checked again. After a
 * crash, request the packages without a result again: those that are there by then are skipped.
 * @param onResult also receives the element of `wanted` that the result is about
 * @param signal stops the downloads; packages received by then are published
 * @throws Problem('unknown_distribution', 'distribution_inactive'), the signal's reason, and what `wanted` or `onResult` throw
 */
export type ImportMany = <W extends Wanted>(
  wanted: AsyncIterable<W> | Iterable<W>,
  distribution: string,
  meta: ImportManyMeta,
  onResult: (result: ImportedPackage, about: W) => Promise<void> | void,
  signal?: AbortSignal,
) => Promise<ImportTally>

export interface ImportManyDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
  registry: FormatRegistry
  upstreams: Pick<Upstreams, 'open'>
  intake: Pick<Intake, 'acceptAll'>
  settings(): Policy
  /** a new path in staging */
  newPath(): string
  /** called for a failure that is a bug, not a Problem */
  onError(error: unknown): void
}

export function createImportMany(deps: ImportManyDeps): ImportMany {
  return async <W extends Wanted>(
    wanted: AsyncIterable<W> | Iterable<W>,
    codename: string,
    meta: ImportManyMeta,
    onResult: (result: ImportedPackage, about: W) => Promise<void> | void,
    signal?: AbortSignal,
  ) => {
    const target = openDistribution(deps.registry, codename)
    const begunAt = meta.begunAt ?? deps.clock.now()
    const { method, by: importedBy, origin, group, scopes = null } = meta
    const intakeMeta: Meta = { method, importedBy, origin, group, scopes }
    const open = createOpener(deps.upstreams, signal)
    const serially = createSerial()
    const tally = noOutcomes()
    const begun = new Map<number, W>()
    let taken = 0

    const report = (result: ImportedPackage, about: W) =>
      serially(async () => {
        tally[result.status]++
        await onResult(result, about)
      })

    async function refuse(one: W, problem: Problem): Promise<void> {
      const { entry } = one
      const event = { result: 'FAILURE' as const, outcome: problem.code, detail: problem.detail }
      await deps.audit.record(eventOf(intakeMeta, { codename, listing: listingOf(one) }, event))
      await report(failed(entry, problem), one)
    }

    /** The packages that have to be fetched; the others are reported here. */
    async function* sources(): AsyncGenerator<Source, void, undefined> {
      for await (const batch of batchesOf(wanted)) {
        signal?.throwIfAborted()
        const present = await presentRecords(deps.db, target, batch)
        const reservations = await reservationsOf(deps.db, target.format.id)
        for (const one of batch) {
          signal?.throwIfAborted()
          const record = present.get(one)
          const refusal =
            unfit(one, target) ??
            reservedProblem(reservations, target.format, one.entry, one.source.id) ??
            (record && conflict(one, record, codename))
          if (refusal) await refuse(one, refusal)
          else if (record) await report(alreadyThere(one.entry, record.status, codename), one)
          else {
            begun.set(taken++, one)
            yield sourceOf(one, codename, () => open(one.source), deps.newPath)
          }
        }
      }
    }

    for await (const end of deps.intake.acceptAll(sources(), intakeMeta)) {
      const one = begun.get(end.index) as W
      const { entry } = one
      begun.delete(end.index)
      if ('result' in end) await report(ended(entry, end.result), one)
      // A stopped transfer has no result: it is repeated when the work continues.
      else if (!signal?.aborted || isProblem(end.error)) {
        if (!isProblem(end.error)) deps.onError(end.error)
        await report(failed(entry, end.error, codename), one)
      }
    }
    if (tally.added > 0 || meta.begunAt) await recheckMissing(deps.db, deps.settings(), target, begunAt)
    signal?.throwIfAborted()
    return tally
  }
}

/** Opens each source once, and limits its transfers. */
function createOpener(upstreams: ImportManyDeps['upstreams'], signal: AbortSignal | undefined) {
  const opened = new Map<number, Promise<Pick<Upstream, 'fetchPackage'>>>()
  return (source: SourceRow): Promise<Pick<Upstream, 'fetchPackage'>> => {
    let upstream = opened.get(source.id)
    if (!upstream) {
      const limited = createSemaphore(PER_SOURCE)
      upstream = upstreams.open(upstreamOf(source), signal).then(({ fetchPackage }) => ({
        fetchPackage: (entry, to) => limited(() => fetchPackage(entry, to)),
      }))
      opened.set(source.id, upstream)
    }
    return upstream
  }
}

async function* batchesOf<W>(wanted: AsyncIterable<W> | Iterable<W>): AsyncGenerator<W[], void, undefined> {
  let batch: W[] = []
  for await (const one of wanted) {
    if (batch.push(one) < LOOKED_UP) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Why an entry need not be fetched: the distribution takes no such package. */
function unfit({ source, entry }: Wanted, { format, distribution }: Offered): Problem | null {
  const { codename } = distribution
  if (source.type !== format.repoFormat)
    return new Problem(
      'format_mismatch',
      `${codename} takes ${format.id} packages, ${source.name} is of type ${source.type}`,
    )
  const taken = archsOf(format, distribution)
  if (taken.includes(entry.arch)) return null
  return new Problem('arch_mismatch', `${codename} takes ${taken.join(' and ')}, this package is for ${entry.arch}`)
}

function conflict({ entry }: Wanted, { status, sha256, isSame }: PresentRecord, codename: string): Problem | null {
  if (isSame) return null
  return new Problem('duplicate_conflict', `${entry.name} ${entry.version} is in ${codename} with other bytes`, {
    existing_sha256: sha256,
    status,
  })
}

const about = ({ source_id, name, version, arch, size_bytes }: CatalogRow) => ({
  ...{ source_id, package: name, version, arch, size_bytes },
})

/** Rejected bytes count as blocked, not as present: nobody can install them. */
const alreadyThere = (entry: CatalogRow, status: PackageStatus, codename: string): ImportedPackage => ({
  ...about(entry),
  status: status === 'rejected' ? 'blocked' : 'skipped',
  record_status: status,
  code: status === 'rejected' ? 'rejected_bytes' : 'already_exists',
  detail: status === 'rejected' ? `these bytes were rejected in ${codename}` : `already in ${codename}: ${status}`,
})

const OUTCOMES: Record<PackageStatus, ImportOutcome> = {
  published: 'added',
  pending_review: 'pending_review',
  quarantined: 'blocked',
  rejected: 'blocked',
}

const ended = (entry: CatalogRow, { status, message }: IntakeResult): ImportedPackage => ({
  ...about(entry),
  status: OUTCOMES[status],
  record_status: status,
  code: status === 'rejected' ? 'rejected_bytes' : null,
  detail: status === 'published' ? null : message,
})

function failed(entry: CatalogRow, error: unknown, codename = ''): ImportedPackage {
  // The same package arrived in another way meanwhile.
  if (isProblem(error, 'already_exists')) return alreadyThere(entry, error.extra['status'] as PackageStatus, codename)
  const { code, detail } = failureOf(error)
  return { ...about(entry), status: 'error', record_status: null, code, detail }
}
