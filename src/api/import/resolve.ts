// /import/resolve: what a package of a source needs.
import { ACTIONS, type PolicyAction } from '../../domain/finding.ts'
import type { Settings } from '../../domain/settings.ts'
import type { PackageStatus } from '../../domain/status.ts'
import { previewPolicy, type Preview } from '../../imports/mirror/policy-preview.ts'
import { presentRecords } from '../../imports/present-records.ts'
import { resolve } from '../../imports/resolve.ts'
import { resolveIo, rootEntry, sourcesFor } from '../../imports/resolve-query.ts'
import { openDistribution, type FormatRegistry } from '../../packages/identify.ts'
import type { Clock } from '../../kernel/clock.ts'
import { groupsOf } from '../../kernel/in-groups.ts'
import type { OsvMatcher } from '../../gate/engines/osv/matcher.ts'
import type { Db } from '../../store/db.ts'
import type { CatalogRow } from '../../store/tables.ts'
import { getImportResolvePackage } from './resolve.contract.ts'
import { handle, type Route } from '../http/route.ts'

export interface ResolveRouteDeps {
  db: Db
  clock: Clock
  registry: FormatRegistry
  matcher: Pick<OsvMatcher, 'scanAll'>
  settings(): Settings
  canScanMalware(): Promise<boolean>
}

const MOST_PACKAGES = 1000
/** Packages that each list of the policy names. */
const MOST_NAMED = 200
/** Packages that are matched at a time. */
const TOGETHER = 200
const MOST_MISSING = 200

export function importResolveRoutes({ db, clock, registry, matcher, ...deps }: ResolveRouteDeps): Route[] {
  return [
    handle(getImportResolvePackage, async ({ params, query }) => {
      const target = openDistribution(registry, query.distribution)
      const { version, arch, source_id: sourceId } = query
      const root = await rootEntry(db, target, { name: params.package, version, arch }, sourceId)
      const sources = await sourcesFor(db, target, [root.source_id])
      const { needed, met, missing, isCut } = await resolve([root], target, resolveIo(db, target, sources))
      const wanted = needed.flatMap(({ candidate, neededBy }) => (neededBy === null ? [] : [{ candidate, neededBy }]))
      const canScan = await deps.canScanMalware()
      const entries = needed.map(({ candidate }) => ({ entry: candidate }))
      const previews = new Map<CatalogRow, Judged>()
      for (const group of groupsOf(entries, TOGETHER)) {
        const candidates = group.map(({ entry }) => entry)
        const judged = await previewPolicy(matcher, target, candidates, deps.settings(), clock.now(), canScan)
        const records = await presentRecords(db, target, group)
        for (const [at, one] of group.entries())
          previews.set(one.entry, { ...(judged[at] as Preview), recordStatus: records.get(one)?.status ?? null })
      }
      const packages = [
        ...wanted.map(({ candidate, neededBy }) => {
          const { name, version, arch, source_id, size_bytes } = candidate
          const { action, findings, recordStatus } = previews.get(candidate) as Judged
          return {
            ...{ name, version, arch, source_id, size_bytes, already_in_repo: false, needed_by: neededBy },
            ...{ action, findings, record_status: recordStatus },
          }
        }),
        ...met.map(({ name, package: by, neededBy }) => ({
          ...{ name, version: null, arch: null, source_id: null, size_bytes: null },
          ...{
            action: null,
            findings: null,
            record_status: null,
            already_in_repo: true,
            virtual: name !== by,
            needed_by: neededBy,
          },
        })),
      ]
      return {
        success: missing.length === 0 && !isCut,
        ...{ package: root.name, version: root.version, arch: root.arch, source_id: root.source_id },
        distribution: query.distribution,
        total_deps: packages.length,
        already_in_repo: met.length,
        to_download: wanted.length,
        download_bytes: wanted.reduce((sum, { candidate }) => sum + candidate.size_bytes, 0),
        packages: packages.slice(0, MOST_PACKAGES),
        missing: missing.slice(0, MOST_MISSING).map(({ text, neededBy }) => ({ name: text, needed_by: neededBy })),
        truncated: isCut,
        policy: policyOf(previews),
      }
    }),
  ]
}

interface Judged extends Preview {
  /** status of a record of the package that the distribution has and does not offer */
  recordStatus: PackageStatus | null
}

/** The policy's action for the package and for what would come with it. The status of an existing record takes precedence. */
function policyOf(previews: ReadonlyMap<CatalogRow, Judged>) {
  const all = [...previews].map(([{ name, version, arch }, judged]) => ({
    ...{ name, version, arch, findings: judged.findings },
    action: judged.recordStatus === null ? judged.action : ACTION_OF[judged.recordStatus],
    isUnscanned: judged.unscanned,
  }))
  const named = (action: PolicyAction) =>
    all
      .filter((one) => one.action === action)
      .slice(0, MOST_NAMED)
      .map(({ name, version, arch, findings }) => ({ name, version, arch, findings }))
  return {
    actions: Object.fromEntries(
      ACTIONS.map((action) => [action, all.filter((one) => one.action === action).length]),
    ) as Record<PolicyAction, number>,
    unscanned: all.filter(({ isUnscanned }) => isUnscanned).length,
    blocked: named('block'),
    held: named('review'),
  }
}

const ACTION_OF: Record<PackageStatus, PolicyAction> = {
  published: 'allow',
  pending_review: 'review',
  quarantined: 'block',
  rejected: 'block',
}
