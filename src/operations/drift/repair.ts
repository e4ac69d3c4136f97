// Repairs the findings of the drift scan. An interrupted repair begins again: findings stay open until they are sound.
import { isRepository } from '../../domain/repositories.ts'
import type { TaskContext, TaskKind } from '../../domain/tasks.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { countFindings, noteFinding, openFindings, resolveFinding, type Finding } from './findings.ts'
import { removeDamaged } from './index-files.ts'
import type { Confirm } from './inspection.ts'
import { noRemedy, remedyFor, type Remedy, type RemedyDeps } from './remedies.ts'

export const DRIFT_REPAIR = 'drift_repair'

export interface RepairDeps {
  remedies: RemedyDeps
  confirm: Confirm
  audit: Pick<AuditLog, 'record'>
  publisher: { rebuild(codename: string): Promise<void> }
}

export interface RepairArguments {
  by: string
  dry_run: boolean
  /** how many files may be given up, and how many deleted; 100 by default */
  max_removed?: number
}

/** The result of the repair of one finding; in a dry run, the planned repair. */
export interface Repaired {
  subject: string
  area: string
  fault: string
  action: Remedy['action']
  detail: string
  /** null in a dry run; false when the finding is still open */
  resolved: boolean | null
}

export interface RepairResult {
  findings: number
  resolved: number
  results: Repaired[]
}

/** Most results in the answer. */
const SHOWN = 50
const MOST_REMEMBERED = 10_000
/** If there are more lost or unknown files, a disk may not be mounted, or the database may be an older one. */
const MOST_REMOVED = 100
/**
 * Lost bytes are first: an index can be written only when all package files in it exist, and an unknown file may be
 * an intact copy. Quarantine is before the pool, whose lost files become findings of the quarantine.
 */
const PHASES: readonly ((finding: Finding) => boolean)[] = [
  ({ area, fault }) => area === 'quarantine' && fault !== 'unknown',
  ({ area, fault }) => area === 'pool' && fault !== 'unknown',
  ({ area, fault }) => (area !== 'quarantine' && area !== 'pool') || fault === 'unknown',
]

export function driftRepairKind(deps: RepairDeps): TaskKind {
  return {
    kind: DRIFT_REPAIR,
    lane: 'maintenance',
    leaderOnly: true,
    run: async (context) => ({ ...(await repair(deps, context)) }),
  }
}

async function repair(deps: RepairDeps, context: TaskContext): Promise<RepairResult> {
  const { by, dry_run: isDryRun, max_removed: most = MOST_REMOVED } = context.arguments as unknown as RepairArguments
  const refused = await tooMany(deps.remedies.db, most)
  const result: RepairResult = { findings: 0, resolved: 0, results: [] }
  const toRebuild = new Set<string>()
  for (const isInPhase of PHASES) {
    for await (const findings of openFindings(deps.remedies.db)) {
      const done: Repaired[] = []
      for (const finding of findings) {
        if (!isInPhase(finding)) continue
        context.signal.throwIfAborted()
        done.push(await remedy(deps, finding, toRebuild, { by, isDryRun, refused }))
      }
      result.findings += done.length
      result.results.push(...done.slice(0, SHOWN - result.results.length))
      for (const { action, subject, detail } of done) context.line(`${subject}: ${action}, ${detail}`)
      if (!isDryRun && done.length > 0) await record(deps, by, done)
    }
  }
  if (isDryRun) return result
  for (const codename of toRebuild) {
    context.signal.throwIfAborted()
    await rebuild(deps, codename, context)
  }
  const resolved = await resolveSound(deps, context.signal)
  for (const one of result.results) one.resolved = resolved.subjects.has(one.subject)
  return { ...result, resolved: resolved.total }
}

async function remedy(
  { remedies }: RepairDeps,
  finding: Finding,
  toRebuild: Set<string>,
  { by, isDryRun, refused }: { by: string; isDryRun: boolean; refused: ReadonlySet<string> },
): Promise<Repaired> {
  const { subject, area, fault } = finding
  const chosen = await remedyFor(remedies, finding)
  const remedy = refused.has(chosen.action) ? noRemedy(TOO_MANY) : chosen
  const done: Repaired = {
    ...{ subject, area, fault, action: remedy.action, detail: remedy.detail },
    resolved: isDryRun ? null : false,
  }
  if (isDryRun) return done
  try {
    await remedy.run(by)
    for (const codename of remedy.rebuild) toRebuild.add(codename)
    return done
  } catch (error) {
    // A failure does not affect the other repairs.
    return { ...done, detail: `${remedy.detail}; failed: ${(error as Error).message}` }
  }
}

const TOO_MANY =
  'too many files are lost or unknown: check that the disk is mounted and the database is not an older one, then repeat with a greater max_removed'

/** Actions that remove something and are refused because there are too many findings. */
async function tooMany(db: Db, most: number): Promise<ReadonlySet<Remedy['action']>> {
  const counts = (await countFindings(db)).filter(({ area }) => area === 'pool' || area === 'tree')
  const sum = (isUnknown: boolean) =>
    counts.reduce((total, { fault, n }) => ((fault === 'unknown') === isUnknown ? total + n : total), 0)
  const refused = new Set<Remedy['action']>()
  if (sum(true) > most) refused.add('delete')
  if (sum(false) > most) refused.add('quarantine')
  return refused
}

/** Publishes a distribution again. After a failure its findings stay open. */
async function rebuild({ remedies, publisher }: RepairDeps, codename: string, context: TaskContext): Promise<void> {
  const offered = remedies.all.find(({ distribution }) => distribution.codename === codename)
  if (!offered && !isRepository(codename)) return
  try {
    // A listing is replaced as a whole.
    const removed = offered ? await removeDamaged(remedies, offered) : 0
    await publisher.rebuild(codename)
    context.line(`${codename} is published again; ${removed} damaged files were removed before`)
  } catch (error) {
    context.line(`${codename} could not be published: ${(error as Error).message}`)
  }
}

async function resolveSound(
  { remedies: { db, clock }, confirm }: RepairDeps,
  signal: AbortSignal,
): Promise<{ total: number; subjects: ReadonlySet<string> }> {
  const subjects = new Set<string>()
  let total = 0
  for await (const findings of openFindings(db)) {
    for (const finding of findings) {
      signal.throwIfAborted()
      const verdict = await confirm(finding)
      if (verdict.state === 'faulty') await noteFinding(db, verdict.suspect, clock.now())
      if (verdict.state !== 'sound') continue
      await resolveFinding(db, finding.subject, 'repaired', clock.now())
      total++
      // The findings in the results are among the first.
      if (subjects.size < MOST_REMEMBERED) subjects.add(finding.subject)
    }
  }
  return { total, subjects }
}

/** One entry for each batch names everything that was deleted, replaced or given up. */
async function record({ audit }: RepairDeps, by: string, done: readonly Repaired[]): Promise<void> {
  await audit.record({
    ...{ action: 'DRIFT_REPAIR', result: 'SUCCESS', user: by, outcome: 'repaired' },
    detail: `${done.length} findings`,
    extra: { repairs: done.map(({ subject, fault, action, detail }) => ({ subject, fault, action, detail })) },
  })
}
