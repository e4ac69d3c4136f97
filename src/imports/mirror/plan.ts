// The dry run of a mirror: what would be imported, its size, the policy's verdict on it, and what upstream withdrew.
import { ACTIONS, type PolicyAction } from '../../domain/finding.ts'
import type { NotCarried } from '../../domain/not-carried.ts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import type { OsvMatcher } from '../../gate/engines/osv/matcher.ts'
import type { Db } from '../../store/db.ts'
import { compareWithRecords, type Presence } from './compare.ts'
import { GIB } from '../room.ts'
import { createRefusedCount, leftOut, unmatched, type LeftOut, type Unmatched } from './left-out.ts'
import type { Mirror } from './mirrors.ts'
import { previewPolicy, type Preview } from './policy-preview.ts'
import { createRefusals, type MirrorRefusal } from './refusals.ts'
import { reservedPaths } from './reserved.ts'
import { inPieces, selected, type Selected } from './select.ts'
import { dependenciesOf, type Dependencies } from './with-dependencies.ts'
import { withdrawn } from './withdrawn.ts'

/** Packages that each list names. */
const MOST_NAMED = 200

interface Named {
  name: string
  version: string
  arch: string
}

export interface MirrorPlan {
  source_id: number
  distribution: string
  /** selected packages by what the distribution has of them */
  selected: number
  present: number
  missing: number
  conflicts: number
  rejected: number
  /** the gate refused these bytes before, under the same rules: they are not fetched */
  refused: number
  /** an import would refuse them: their names are reserved for another way of arrival */
  reserved: number
  missing_bytes: number
  /** what the selection names and no run imports, and what the source has besides packages */
  left_out: LeftOut[]
  not_carried: NotCarried[]
  unmatched: Unmatched
  /**
   * How many of the selected and of the missing packages come only because others need them, and which requirements neither
   * the distribution nor the source meets; null for a selection without dependencies.
   */
  dependencies: (Pick<Dependencies, 'unresolved' | 'truncated'> & { selected: number; missing: number }) | null
  /** the first missing packages */
  packages: (Named & { size_bytes: number; action: PolicyAction; findings: number; needed_by: string | null })[]
  conflicting: Named[]
  reserved_packages: Named[]
  refused_packages: (Named & { code: string; detail: string | null; refused_at: string })[]
  policy: {
    actions: Record<PolicyAction, number>
    /** packages that the advisories cannot judge, already counted under their action */
    unscanned: number
    blocked: (Named & { findings: number })[]
    held: (Named & { findings: number })[]
  }
  withdrawn: { total: number; removed: boolean; packages: (Named & { status: string })[] }
  limits: { packages_per_run: number; runs: number; free_bytes: number; needed_bytes: number; fits: boolean }
}

export interface PlanDeps {
  db: Db
  clock: Clock
  matcher: Pick<OsvMatcher, 'scanAll'>
  settings(): Settings
  canScanMalware(): Promise<boolean>
  /** free bytes on the disk of the pool */
  freeBytes(): Promise<number>
}

/** Reads the catalog as of its last sync and fetches nothing. @throws Problem('index_empty') before the first sync */
export async function planMirror(deps: PlanDeps, mirror: Mirror, signal?: AbortSignal): Promise<MirrorPlan> {
  const { source, selection, target } = mirror
  const settings = deps.settings()
  if (!source.last_sync) throw new Problem('index_empty', `${source.name} was never synced`, { source_id: source.id })
  const counts: Record<Presence, number> = { missing: 0, present: 0, conflict: 0, rejected: 0, refused: 0 }
  const plan = await emptyPlan(deps.db, mirror, settings)
  const canScanMalware = await deps.canScanMalware()
  const refusals = await createRefusals(deps.db, mirror, settings, deps.clock.now())
  const unfit = createRefusedCount()
  const needed = await dependenciesOf(deps.db, mirror, refusals, signal)
  if (needed) {
    const { paths, unresolved, truncated } = needed
    plan.dependencies = { selected: paths.size, missing: 0, unresolved, truncated }
  }
  const selecting = { db: deps.db, sourceId: source.id, selection, target, onRefused: unfit.note }
  const all = selected({ ...selecting, dependencies: needed?.paths }, { after: null, upTo: null })
  for await (const batch of inPieces(all)) {
    signal?.throwIfAborted()
    const refused = await refusals.among(batch)
    const standings = await compareWithRecords(deps.db, target, batch, refused)
    for (const standing of standings) counts[standing]++
    const absent = batch.filter((_, index) => standings[index] === 'missing')
    const reserved = await reservedPaths(deps.db, mirror, absent)
    plan.reserved += reserved.size
    name(plan.reserved_packages, absent.filter(({ path }) => reserved.has(path)).map(namesOf))
    const missing = absent.filter(({ path }) => !reserved.has(path))
    const previews = await previewPolicy(deps.matcher, target, missing, settings, deps.clock.now(), canScanMalware)
    missing.forEach((one, index) => addMissing(plan, one, previews[index]!, needed?.paths.get(one.path) ?? null))
    name(
      plan.refused_packages,
      batch
        .filter((_, index) => standings[index] === 'refused')
        .map((one) => withRefusal(one, refused.get(one.digest)!)),
    )
    name(plan.conflicting, batch.filter((_, index) => standings[index] === 'conflict').map(namesOf))
  }
  plan.left_out.push(...unfit.list())
  for await (const rows of withdrawn(deps.db, mirror)) {
    plan.withdrawn.total += rows.length
    name(
      plan.withdrawn.packages,
      rows.map((row) => ({ ...namesOf(row), status: row.status })),
    )
  }
  const { present, conflict: conflicts, rejected, refused } = counts
  const missing = counts.missing - plan.reserved
  const freeBytes = await deps.freeBytes()
  const neededBytes = plan.missing_bytes + settings.mirror.min_free_disk_gb * GIB
  return {
    ...plan,
    selected: counts.missing + present + conflicts + rejected + refused,
    ...{ missing, present, conflicts, rejected, refused },
    limits: {
      packages_per_run: settings.mirror.max_packages_per_run,
      runs: Math.ceil(missing / settings.mirror.max_packages_per_run),
      ...{ free_bytes: freeBytes, needed_bytes: neededBytes, fits: neededBytes <= freeBytes },
    },
  }
}

/** The plan of a selection of which nothing is counted yet. */
async function emptyPlan(db: Db, mirror: Mirror, settings: Settings): Promise<MirrorPlan> {
  const { source, selection, target } = mirror
  return {
    ...{ source_id: source.id, distribution: target.distribution.codename },
    ...{ selected: 0, present: 0, missing: 0, conflicts: 0, rejected: 0, refused: 0, reserved: 0, missing_bytes: 0 },
    ...{ left_out: await leftOut(db, mirror), not_carried: source.not_carried ?? [] },
    unmatched: await unmatched(db, mirror),
    dependencies: null,
    packages: [],
    conflicting: [],
    reserved_packages: [],
    refused_packages: [],
    policy: {
      actions: Object.fromEntries(ACTIONS.map((action) => [action, 0])) as Record<PolicyAction, number>,
      ...{ unscanned: 0, blocked: [], held: [] },
    },
    withdrawn: { total: 0, removed: selection.remove_withdrawn, packages: [] },
    limits: {
      packages_per_run: settings.mirror.max_packages_per_run,
      ...{ runs: 0, free_bytes: 0, needed_bytes: 0, fits: true },
    },
  }
}

function addMissing(
  plan: MirrorPlan,
  one: Selected,
  { action, unscanned, findings }: Preview,
  neededBy: string | null,
): void {
  if (plan.dependencies && neededBy !== null) plan.dependencies.missing++
  plan.missing_bytes += one.size_bytes
  plan.policy.actions[action]++
  if (unscanned) plan.policy.unscanned++
  name(plan.packages, [{ ...namesOf(one), size_bytes: one.size_bytes, action, findings, needed_by: neededBy }])
  if (action === 'block') name(plan.policy.blocked, [{ ...namesOf(one), findings }])
  if (action === 'review') name(plan.policy.held, [{ ...namesOf(one), findings }])
}

function name<T>(list: T[], more: readonly T[]): void {
  list.push(...more.slice(0, MOST_NAMED - list.length))
}

const withRefusal = (one: Selected, { code, detail, refused_at: at }: MirrorRefusal) => ({
  ...namesOf(one),
  ...{ code, detail, refused_at: isoTime(at) },
})

const namesOf = ({ name, version, arch }: Named): Named => ({ name, version, arch })
