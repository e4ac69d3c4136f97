// Removes what is older than the settings allow, as a task, one step for each kind of data.
import { isObject, type Json } from '../../domain/json.ts'
import { Problem } from '../../domain/problem.ts'
import type { TaskContext, TaskKind, TaskRequest } from '../../domain/tasks.ts'
import { failureOf, type Failure } from '../../kernel/failure.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { RetentionStep } from './step.ts'

export const RETENTION = 'retention'
/** Key of tasks that only count: a request to remove must never join one. */
const PLAN = 'plan'

export interface RetentionRequest {
  by: string
  /** true: counts what would be removed, and changes nothing */
  dryRun: boolean
  requestId?: string | null
}

/** The request for a task that removes what is too old, or counts it. */
export function retentionRequest({ by, dryRun, requestId = null }: RetentionRequest): TaskRequest & { key: string } {
  return { kind: RETENTION, key: dryRun ? PLAN : '', arguments: { by }, createdBy: by, requestId }
}

export interface RetentionDeps {
  steps: readonly RetentionStep[]
  audit: Pick<AuditLog, 'record'>
  onError(error: unknown): void
}

/** A failed step does not prevent the others; the task then fails with the first failure. */
export function retentionKind({ steps, audit, onError }: RetentionDeps): TaskKind {
  async function removeAll(context: TaskContext) {
    const { by } = context.arguments as { by: string }
    const { done, current } = cursorOf(context.cursor)
    let failure: Failure | null = null
    for (const { name, run } of steps) {
      if (name in done) continue
      context.signal.throwIfAborted()
      const progress = {
        by,
        before: current[name] ?? null,
        save: (counts: Json) => context.save({ done, current: { [name]: counts } }),
        line: (message: string) => context.line(`${name}: ${message}`),
        signal: context.signal,
      }
      try {
        done[name] = await run(progress)
      } catch (error) {
        context.signal.throwIfAborted()
        const one = failureOf(error)
        if (one.isUnexpected) onError(error)
        failure ??= one
        done[name] = { error: one.code }
        context.line(`${name} failed: ${one.detail}`)
      }
      await context.save({ done, current: {} })
    }
    await audit.record({
      ...{ action: 'RETENTION', result: failure ? 'FAILURE' : 'SUCCESS', user: by, outcome: failure?.code ?? 'ok' },
      ...{ detail: failure?.detail ?? null, extra: done },
    })
    if (failure) throw new Problem(failure.code, failure.detail, { result: done })
    return { dry_run: false, result: done }
  }

  async function count({ signal }: TaskContext) {
    const result: Record<string, Json> = {}
    for (const { name, plan } of steps) {
      signal.throwIfAborted()
      result[name] = await plan(signal)
    }
    return { dry_run: true, result }
  }

  return {
    kind: RETENTION,
    lane: 'maintenance',
    leaderOnly: true,
    atOnce: 2,
    run: (context) => (context.key === PLAN ? count(context) : removeAll(context)),
  }
}

function cursorOf(cursor: unknown): { done: Record<string, Json>; current: Readonly<Record<string, Json>> } {
  const { done, current } = (isObject(cursor) ? cursor : {}) as Record<string, Record<string, Json>>
  return { done: { ...done }, current: current ?? {} }
}
