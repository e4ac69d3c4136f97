// Reports what a deletion, promotion or migration would break, before it happens.
import { additionBreaks, breakageWarning, removalBreaks, type Breakage } from '../gate/breakage.ts'
import { createOffersOf, missingIn, type OffersOf } from '../gate/dependencies.ts'
import { isProblem, type Problem } from '../domain/problem.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Db } from '../store/db.ts'
import { comparedOffers } from '../store/records/served-query.ts'
import type { PackageStatus } from '../domain/status.ts'
import { headRows, recordsOf, type RecordSelector } from '../store/records/artifact-query.ts'
import { unpackFacts } from '../domain/packed-facts.ts'
import { unknownPackage } from '../packages/delete-packages.ts'
import type { FormatRegistry } from '../packages/identify.ts'
import { MOST_LISTED as MOST_MIGRATED, type MigrationResult } from '../packages/copies/migrate.ts'
import { choosePromoted, openPair, type PromotionRequest } from '../packages/copies/promote.ts'
import type { SeveralPromotions } from '../packages/copies/promote-several.ts'

/** Broken packages that an answer lists. */
const MOST_LISTED = 100
/** Sentences about one change. */
const MOST_WARNINGS = 20

export interface Preview {
  /** the first of them */
  would_break: Breakage[]
  would_break_total: number
  /** sentences for people */
  warnings: string[]
}

export interface RemovalPreview extends Preview {
  packages: { version: string; distribution: string; arch: string }[]
}

export interface PromotionPreview extends Preview {
  packages: { version: string; arch: string; isPresent: boolean }[]
}

export interface SeveralPreview extends Preview {
  /** for each package, in their order */
  packages: (PromotionPreview['packages'] | Problem)[]
}

export interface Previews {
  /** @throws Problem('not_found') */
  removal(selector: RecordSelector): Promise<RemovalPreview>
  /** @throws Problem as the promotion does, except for faults that only its transaction finds */
  promotion(request: PromotionRequest): Promise<PromotionPreview>
  /** For packages that are promoted in one request: each may need the others. @throws Problem as `openPair` */
  promotions(request: SeveralPromotions): Promise<SeveralPreview>
  /** @throws Problem as the migration does before it begins */
  migration(from: string, to: string): Promise<MigrationPreview>
}

/** What a migration would do, without what only its transactions find. */
export type MigrationPreview = Omit<MigrationResult, 'manifests_updated'>

export function createPreviews({ db, registry }: { db: Db; registry: FormatRegistry }): Previews {
  return {
    async removal(selector) {
      const rows = await headRows(db, selector)
      if (rows.length === 0) throw unknownPackage(selector)
      const breaks: Breakage[] = []
      for (const codename of new Set(rows.map((row) => row.distribution))) {
        const offered = registry.find(codename)
        const ids = rows.filter((row) => row.served && row.distribution === codename).map((row) => row.id)
        if (offered) breaks.push(...(await removalBreaks(db, offered, ids)))
      }
      return { packages: rows, ...previewOf(breaks, []) }
    },
    async promotion(request) {
      const { from, to } = openPair(registry, request.from_dist, request.to_dist)
      return previewCopies(db, to, await choosePromoted(db, request, from))
    },
    async promotions({ packages: wanted, ...places }) {
      const { from, to } = openPair(registry, places.from_dist, places.to_dist)
      const chosen: (number[] | Problem)[] = []
      for (const one of wanted) chosen.push(await choosePromoted(db, { ...places, ...one }, from).catch(orProblem))
      const ids = [...new Set(chosen.flatMap((one) => (Array.isArray(one) ? one : [])))]
      const { packages, ...preview } = await previewCopies(db, to, ids)
      const byId = new Map(packages.map(({ id, ...one }) => [id, one]))
      const of = (one: number[]) => one.flatMap((id) => byId.get(id) ?? [])
      return { packages: chosen.map((one) => (Array.isArray(one) ? of(one) : one)), ...preview }
    },
    async migration(fromCodename, toCodename) {
      openPair(registry, fromCodename, toCodename)
      const preview: MigrationPreview = { migrated: 0, skipped: 0, failed: 0, packages: [], errors: [] }
      for await (const rows of comparedOffers(db, fromCodename, toCodename)) {
        for (const { name, version, arch, taken, status, rejected } of rows) {
          const fault = faultOf(taken, status, rejected)
          if (fault) {
            preview.failed++
            const message = `${name} ${version} (${arch}) ${fault.message}`
            if (preview.errors.length < MOST_MIGRATED)
              preview.errors.push({ package: name, version, code: fault.code, message })
          } else if (taken === null) {
            preview.migrated++
            if (preview.packages.length < MOST_MIGRATED) preview.packages.push({ package: name, version, arch })
          } else preview.skipped++
        }
      }
      return preview
    },
  }
}

function orProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  throw error
}

/** @param ids of the records that would be copied in one request */
async function previewCopies(db: Db, to: Placed, ids: readonly number[]) {
  const rows = await recordsOf(db, ids)
  if (rows.length === 0) return { packages: [], ...previewOf([], []) }
  // Records that vanish meanwhile are left to the promotion itself.
  const sha256 = rows.map((row) => row.sha256)
  const blobs = await db.selectFrom('blobs').select(['facts', 'files']).where('sha256', 'in', sha256).execute()
  const facts = blobs.map((blob) => unpackFacts(blob))
  const missing: string[] = []
  const read = offersWith(db, ids)
  const { codename } = to.distribution
  for (const one of facts) {
    const texts = (await missingIn(db, one, to, [], read)).map(({ text }) => text)
    if (texts.length > 0)
      missing.push(`${one.name} ${one.version} needs what ${codename} lacks: ${texts.slice(0, 10).join('; ')}`)
  }
  const present = await db
    .selectFrom('packages')
    .select(['name', 'version', 'arch', 'sha256'])
    .where('distribution', '=', codename)
    .where('sha256', 'in', sha256)
    .execute()
  const packages = rows.map(({ id, name, version, arch, sha256 }) => ({
    ...{ id, version, arch },
    isPresent: present.some(
      (one) => one.name === name && one.version === version && one.arch === arch && one.sha256 === sha256,
    ),
  }))
  return { packages, ...previewOf(await additionBreaks(db, to, facts), missing) }
}

/** What a distribution offers, and what these records do. */
function offersWith(db: Db, ids: readonly number[]): OffersOf {
  const published = createOffersOf(db)
  return async (codename, names) => {
    const offers = new Map(await published(codename, names))
    const coming = await db
      .selectFrom('capabilities')
      .select(['name', 'version', 'arch', 'multi_arch as multiArch'])
      .where('package_id', 'in', [...ids])
      .where('name', 'in', names.length > 0 ? [...names] : [''])
      .execute()
    for (const one of coming) offers.set(one.name, [...(offers.get(one.name) ?? []), one])
    return offers
  }
}

/** @param taken whether the target has the same bytes under this name, version and architecture; null: it has nothing there */
function faultOf(taken: boolean | null, status: PackageStatus | null, rejected: boolean) {
  if (rejected) return { code: 'rejected_bytes', message: 'has bytes that were rejected' }
  if (taken === false) return { code: 'duplicate_conflict', message: 'is there with other bytes' }
  if (taken && status !== 'published') return { code: 'not_published', message: `is ${status} there` }
  return null
}

function previewOf(breaks: Breakage[], others: readonly string[]): Preview {
  const warning = breakageWarning(breaks)
  return {
    would_break: breaks.slice(0, MOST_LISTED),
    would_break_total: breaks.length,
    warnings: [...(warning === null ? [] : [warning]), ...others].slice(0, MOST_WARNINGS),
  }
}
