// Who has to look at a held package, or at a decision.
import { usernameKey } from '../accounts/user.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { invalidField } from '../domain/problem.ts'
import { ACCESS, type Role } from '../domain/roles.ts'
import { noteChanged, notUnderReview } from '../packages/records/change-record.ts'
import { lockDistributionsOf } from '../packages/records/lock-order.ts'
import { headRows, type RecordSelector } from '../store/records/artifact-query.ts'
import type { Db } from '../store/db.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import { transaction } from '../store/transaction.ts'
import { eventBase, noSuchPackage, type Actor, type ReviewDeps } from './deps.ts'
import { lockDecision, type Check } from './lock-decision.ts'

type AssignDeps = Pick<ReviewDeps, 'db' | 'clock' | 'audit'>

export interface Reviewer {
  username: string
  full_name: string
}

const active = (db: Db) => db.selectFrom('users').where('active', '=', true).where('directory_gone_at', 'is', null)

/** The people who may decide, by name. */
export async function reviewersOf(db: Db): Promise<Reviewer[]> {
  return active(db)
    .select(['username', 'full_name'])
    .where('role', 'in', ACCESS['maintainer+'])
    .orderBy('username_key')
    .execute()
}

/** @throws Problem('validation_error') when there is no such active user of one of these roles */
async function requireUser(db: Db, name: string, roles: readonly Role[]): Promise<string> {
  const user = await active(db)
    .select('username')
    .where('username_key', '=', usernameKey(name))
    .where('role', 'in', roles)
    .executeTakeFirst()
  if (!user) throw invalidField('assigned_to', `must be the name of an active user (${roles.join(', ')})`)
  return user.username
}

const assigned = (name: string | null) =>
  ({
    action: 'SECURITY_DECISION',
    result: 'SUCCESS',
    outcome: 'assigned',
    detail: name === null ? 'unassigned' : `assigned to ${name}`,
  }) satisfies Partial<AuditEvent>

/**
 * Assigns every matching record that is held. The assignment stays when a record is decided and held again.
 * @param to a user name; null removes the assignment
 * @throws Problem('not_found', 'not_under_review' when none of them is held), 'validation_error' when that person could not decide
 */
export async function assignHeld(
  { db, clock, audit }: AssignDeps,
  selector: RecordSelector,
  to: string | null,
  actor: Actor,
): Promise<{ name: string | null; records: Pick<PackageRow, 'distribution' | 'arch'>[] }> {
  return transaction(db, async (tx) => {
    const held = await lockHeld(tx, selector)
    const name = to === null ? null : await requireUser(tx, to, ACCESS['maintainer+'])
    const set = { assigned_to: name, assigned_at: name === null ? null : clock.now() }
    // The record before its review, like everybody who changes both.
    await noteChanged(
      tx,
      held.map(({ id }) => id),
    )
    await tx
      .insertInto('reviews')
      .values(held.map(({ id }) => ({ package_id: id, ...set })))
      .onConflict((c) => c.column('package_id').doUpdateSet(set))
      .execute()
    for (const row of held) await audit.record({ ...eventBase(row, actor), ...assigned(name) }, tx)
    return { name, records: held }
  })
}

async function lockHeld(tx: Db, selector: RecordSelector) {
  const ids = (await headRows(tx, selector)).map(({ id }) => id)
  if (ids.length > 0) await lockDistributionsOf(tx, ids)
  const rows = await headRows(tx, selector)
  const newest = rows.at(-1)
  if (!newest) throw noSuchPackage(selector)
  const held = rows.filter(({ status }) => status === 'pending_review')
  if (held.length === 0) throw notUnderReview(newest)
  return held
}

/**
 * @param to a user name; null removes the assignment
 * @throws Problem('not_found'), 'validation_error' when there is no such active user
 */
export async function assignDecision(
  { db, clock, audit }: AssignDeps,
  id: number,
  to: string | null,
  actor: Actor,
  check?: Check,
): Promise<DecisionRow> {
  return transaction(db, async (tx) => {
    const { decision, record } = await lockDecision(tx, id)
    check?.(decision)
    const name = to === null ? null : await requireUser(tx, to, ACCESS['reader+'])
    const row = await tx
      .updateTable('decisions')
      .set({ assigned_to: name, assigned_at: name === null ? null : clock.now() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
    if (record) await noteChanged(tx, [record.id])
    const base = eventBase({ ...row, name: row.package }, actor)
    await audit.record({ ...base, ...assigned(name), extra: { decision_id: id } }, tx)
    return row
  })
}
