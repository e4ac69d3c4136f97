// Packages that arrive together in any order: a dependency that was missing at the gate may have arrived later.
import { sql } from 'kysely'
import { unpackFacts } from '../domain/packed-facts.ts'
import { verdictOf, type Policy } from '../domain/decide.ts'
import { asStep } from '../gate/gate.ts'
import type { ValidationStep } from '../gate/step.ts'
import { createOffersOf, missingIn, seenMissing } from '../gate/dependencies.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import { lockDistributions } from './records/lock-order.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { nextTurn } from '../kernel/next-turn.ts'

/** Records in one transaction; their requirements share a query. */
const TOGETHER = 50

/**
 * Checks missing dependencies again, for published and held records that were imported since `since`. Updates `deps_missing` and
 * the verdict `missing` where less is missing now; other verdicts of the gate stay.
 * @returns how many records changed
 */
export async function recheckMissing(db: Db, policy: Policy, target: Placed<Matching>, since: Date): Promise<number> {
  const { rows } = await sql<{ id: number }>`select id from packages
    where deps_missing <> '[]'::jsonb and status in ('published', 'pending_review')
      and distribution = ${target.distribution.codename} and imported_at >= ${since}::timestamptz order by id`.execute(
    db,
  )
  const read = createOffersOf(db)
  let changed = 0
  for (let at = 0; at < rows.length; at += TOGETHER) {
    const ids = rows.slice(at, at + TOGETHER).map(({ id }) => id)
    const blobs = await db
      .selectFrom('packages as p')
      .innerJoin('blobs as b', 'b.sha256', 'p.sha256')
      .selectAll('b')
      .select('p.id')
      .where('p.id', 'in', ids)
      .execute()
    const found = await Promise.all(
      blobs.map(async (blob) => {
        const missing = await missingIn(db, unpackFacts(blob), target, [], read)
        return { id: blob.id, missing: missing.map(({ text }) => text) }
      }),
    )
    changed += await storeMissing(db, policy, target.distribution.codename, found)
    await nextTurn()
  }
  return changed
}

async function storeMissing(
  db: Db,
  policy: Policy,
  codename: string,
  found: readonly { id: number; missing: string[] }[],
): Promise<number> {
  return transaction(db, async (tx) => {
    // Decisions change the same columns under this lock.
    await lockDistributions(tx, [codename])
    const rows = await tx
      .selectFrom('packages')
      .select(['id', 'deps_missing', 'pipeline', 'validation_steps'])
      .where(
        'id',
        'in',
        found.map(({ id }) => id),
      )
      .execute()
    const missingOf = new Map(found.map(({ id, missing }) => [id, missing]))
    const changes = rows.flatMap((row) => {
      const missing = missingOf.get(row.id) ?? []
      if (missing.length >= row.deps_missing.length) return []
      const pipeline = row.pipeline as { dependencies?: string }
      const steps = row.validation_steps as ValidationStep[]
      if (pipeline.dependencies !== 'missing') return [{ id: row.id, missing, pipeline, steps }]
      const verdict = verdictOf(policy, seenMissing(missing, codename), true)
      const step = asStep(verdict)
      return [
        {
          ...{ id: row.id, missing, pipeline: { ...pipeline, dependencies: verdict.result } },
          steps: steps.map((one) => (one.name === step.name ? step : one)),
        },
      ]
    })
    if (changes.length === 0) return 0
    await sql`update packages p set deps_missing = r.missing, pipeline = r.pipeline, validation_steps = r.steps, changes = p.changes + 1
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as r (id bigint, missing jsonb, pipeline jsonb, steps jsonb)
      where p.id = r.id`.execute(tx)
    return changes.length
  })
}
