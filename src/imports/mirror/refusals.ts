// Packages that a mirror fetched and the gate refused. They are not fetched again until the package or the rules change.
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { reservedProblem } from '../../packages/reserved-names.ts'
import type { Db } from '../../store/db.ts'
import { reservationsOf } from '../../store/reservations.ts'
import type { ImportedPackage, Wanted } from '../import-many.ts'
import type { Mirror } from './mirrors.ts'
import type { Selected } from './select.ts'

/** After these days a package is fetched once more, because advisories and scanners change. */
const REMEMBERED_DAYS = 30

/** Refusals that the same bytes would get again. Failures of an upstream or a disk are tried again in each run. */
const LASTING = new Set(['invalid_package', 'format_mismatch', 'arch_mismatch', 'file_too_large', 'rejected_bytes'])

export interface MirrorRefusal {
  digest: string
  code: string
  detail: string | null
  refused_at: Date
}

export interface Refusals {
  /** The refusals among these packages, by digest: they need not be fetched. */
  among(packages: readonly Selected[]): Promise<ReadonlyMap<string, MirrorRefusal>>
  /** Remembers the end of an import when it is such a refusal. */
  note(result: ImportedPackage, about: Wanted): Promise<void>
}

/** The refusals of a mirror under the present settings and reservations; others do not count. */
export async function createRefusals(
  db: Db,
  { source, target }: Pick<Mirror, 'source' | 'target'>,
  settings: Settings,
  now: Date,
): Promise<Refusals> {
  const { codename } = target.distribution
  const reservations = await reservationsOf(db, target.format.id)
  const rules = digestOf([settings.validation, settings.cve_policy, reservations])
  const since = new Date(now.getTime() - REMEMBERED_DAYS * DAY_MS)
  return {
    async among(packages) {
      const rows = await db
        .selectFrom('mirror_refusals')
        .select(['digest', 'code', 'detail', 'refused_at'])
        .where('source_id', '=', source.id)
        .where('distribution', '=', codename)
        .where('rules', '=', rules)
        .where('refused_at', '>', since)
        .where('digest', 'in', packages.length > 0 ? packages.map(({ digest }) => digest) : [''])
        .execute()
      return new Map(rows.map((row) => [row.digest, row]))
    },
    async note(result, { entry }) {
      const code = lastingCode(result)
      if (code === null) return
      // If the catalog already shows the reserved name, the next run finds it again without fetching.
      if (code === 'name_reserved' && reservedProblem(reservations, target.format, entry, source.id)) return
      const { digest } = entry
      const refusal = { rules, code, detail: result.detail?.slice(0, 500) ?? null, refused_at: now }
      await db
        .insertInto('mirror_refusals')
        .values({ source_id: source.id, distribution: codename, digest, ...refusal })
        .onConflict((c) => c.columns(['source_id', 'distribution', 'digest']).doUpdateSet(refusal))
        .execute()
    },
  }
}

/** Forgets old refusals. A refusal under other rules stays until it is old, and counts again when those rules return. */
export async function forgetRefusals(db: Db, sourceId: number, now: Date): Promise<void> {
  await db
    .deleteFrom('mirror_refusals')
    .where('source_id', '=', sourceId)
    .where('refused_at', '<=', new Date(now.getTime() - REMEMBERED_DAYS * DAY_MS))
    .execute()
}

function lastingCode({ status, code, record_status: record }: ImportedPackage): string | null {
  if (record === 'quarantined') return 'quarantined'
  if (code === 'name_reserved') return code
  return status !== 'skipped' && code !== null && LASTING.has(code) ? code : null
}

const digestOf = (value: unknown) => sha256Hex(JSON.stringify(value))
