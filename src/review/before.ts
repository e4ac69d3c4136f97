// The state of a record before a decision: kept when the decision is made, and given back when it is reverted or undone. Pure.
import type { Change } from '../packages/records/change-record.ts'
import type { PackageRow, StateBefore } from '../store/tables.ts'

type Held = Pick<
  PackageRow,
  | 'served'
  | 'cve_status'
  | 'held_reason'
  | 'review_due_at'
  | 'review_origin'
  | 'review_since'
  | 'overdue_noted_at'
  | 'review_reasons'
  | 'validation_steps'
>

const text = (at: Date | null) => at?.toISOString() ?? null
const time = (at: string | null) => (at === null ? null : new Date(at))

/** @param replaced ids of the decisions that the new one replaces */
export function stateBefore(row: Held, replaced: readonly number[]): StateBefore {
  const { served, cve_status, held_reason, review_origin, review_reasons, validation_steps } = row
  return {
    ...{ served, cve_status, held_reason, review_origin, review_reasons, validation_steps },
    review_due_at: text(row.review_due_at),
    review_since: text(row.review_since),
    overdue_noted_at: text(row.overdue_noted_at),
    replaced: [...replaced],
  }
}

/** The change that gives a record this state back; its event, its findings and its decisions are separate. */
export function givenBack(before: StateBefore): Required<Pick<Change, 'set' | 'review'>> {
  return {
    set: {
      cve_status: before.cve_status,
      held_reason: before.held_reason,
      review_due_at: time(before.review_due_at),
      validation_steps: JSON.stringify(before.validation_steps),
    },
    review: {
      review_origin: before.review_origin,
      review_since: time(before.review_since),
      overdue_noted_at: time(before.overdue_noted_at),
      review_reasons: before.review_reasons && JSON.stringify(before.review_reasons),
    },
  }
}
