// Every change of a package's status, declared once. Pure.
// docs/api-decisions.md, section 7
import type { PackageStatus } from './status.ts'

/** What can happen to a record. The first four create it, `delete` removes it. */
export const STATUS_EVENTS = [
  'arrive_passed',
  'arrive_held',
  'arrive_refused',
  'place',
  'approve',
  'pass',
  'unpublishable',
  'reject',
  'require_upgrade',
  'reopen',
  'expire',
  'revoke',
  'undo',
  'undo_served',
  'quarantine',
  'malicious',
  'clear',
  'refresh',
  'note_overdue',
  'sign_again',
  'delete',
] as const
export type StatusEvent = (typeof STATUS_EVENTS)[number]

/** Status of a record; `absent` before it is created and after it is deleted. */
export type RecordState = PackageStatus | 'absent'

/** What a transition does to the published index. */
export type ServedEffect = 'offered' | 'unpublished' | 'kept' | 'withheld'

export interface Transition {
  from: RecordState
  event: StatusEvent
  /** the condition, in words for people */
  when: string
  to: RecordState
  served: ServedEffect
}

const REOPENING = 'new findings need a decision and no active decision covers them'

export const TRANSITIONS: readonly Transition[] = [
  { from: 'absent', event: 'arrive_passed', when: 'no step holds or refuses it', to: 'published', served: 'offered' },
  {
    from: 'absent',
    event: 'arrive_held',
    when: 'a finding asks for review, or a scan could not be made',
    to: 'pending_review',
    served: 'withheld',
  },
  {
    from: 'absent',
    event: 'arrive_refused',
    when: 'infected, blocked by the policy, or its signature is invalid or missing although required',
    to: 'quarantined',
    served: 'withheld',
  },
  {
    from: 'absent',
    event: 'place',
    when: 'promotion or migration of a published record that nothing holds in its new distribution',
    to: 'published',
    served: 'offered',
  },

  {
    from: 'pending_review',
    event: 'approve',
    when: 'a person accepts the risk, permanently or until a date',
    to: 'published',
    served: 'offered',
  },
  {
    from: 'pending_review',
    event: 'pass',
    when: 'it was held only because it could not be scanned, and every step lets it pass now',
    to: 'published',
    served: 'offered',
  },
  {
    from: 'published',
    event: 'unpublishable',
    when: 'the package was approved but its index could not be published',
    to: 'pending_review',
    served: 'unpublished',
  },
  { from: 'pending_review', event: 'reject', when: 'a person refuses it', to: 'rejected', served: 'unpublished' },
  {
    from: 'pending_review',
    event: 'require_upgrade',
    when: 'a person waits for a newer version',
    to: 'pending_review',
    served: 'kept',
  },
  {
    from: 'pending_review',
    event: 'note_overdue',
    when: 'the due date of the review has passed',
    to: 'pending_review',
    served: 'kept',
  },

  { from: 'published', event: 'reopen', when: REOPENING, to: 'pending_review', served: 'kept' },
  {
    from: 'published',
    event: 'expire',
    when: 'the exception that approved it expired',
    to: 'pending_review',
    served: 'kept',
  },
  {
    from: 'published',
    event: 'revoke',
    when: 'the decision that approved it was revoked',
    to: 'pending_review',
    served: 'kept',
  },

  {
    from: 'published',
    event: 'undo',
    when: 'the person who approved it takes that back within ten minutes; clients did not get it before',
    to: 'pending_review',
    served: 'unpublished',
  },
  {
    from: 'published',
    event: 'undo_served',
    when: 'the same, and clients got it before',
    to: 'pending_review',
    served: 'kept',
  },
  {
    from: 'rejected',
    event: 'undo',
    when: 'the person who rejected it takes that back within ten minutes; clients did not get it before',
    to: 'pending_review',
    served: 'withheld',
  },
  {
    from: 'rejected',
    event: 'undo_served',
    when: 'the same, and clients got it before',
    to: 'pending_review',
    served: 'offered',
  },
  {
    from: 'pending_review',
    event: 'undo',
    when: 'the person who asked for an upgrade takes that back within ten minutes; clients do not get it',
    to: 'pending_review',
    served: 'kept',
  },
  {
    from: 'pending_review',
    event: 'undo_served',
    when: 'the same, and clients get it',
    to: 'pending_review',
    served: 'kept',
  },

  { from: 'published', event: 'quarantine', when: 'a person quarantines it', to: 'quarantined', served: 'unpublished' },
  {
    from: 'pending_review',
    event: 'quarantine',
    when: 'a person quarantines it',
    to: 'quarantined',
    served: 'unpublished',
  },
  {
    from: 'published',
    event: 'malicious',
    when: 'an advisory calls this library malicious',
    to: 'quarantined',
    served: 'unpublished',
  },
  {
    from: 'pending_review',
    event: 'malicious',
    when: 'an advisory calls this library malicious',
    to: 'quarantined',
    served: 'unpublished',
  },
  {
    from: 'quarantined',
    event: 'clear',
    when: 'a rescan finds no reason for quarantine',
    to: 'pending_review',
    served: 'withheld',
  },

  { from: 'published', event: 'refresh', when: 'a scan finds nothing new to decide', to: 'published', served: 'kept' },
  {
    from: 'pending_review',
    event: 'refresh',
    when: 'a scan ran, or a decision ended',
    to: 'pending_review',
    served: 'kept',
  },
  {
    from: 'quarantined',
    event: 'refresh',
    when: 'a scan ran and a reason for quarantine remains',
    to: 'quarantined',
    served: 'kept',
  },
  { from: 'rejected', event: 'refresh', when: 'a scan ran', to: 'rejected', served: 'kept' },

  {
    from: 'published',
    event: 'sign_again',
    when: 'its signature was one that clients refuse, and its file is replaced by one that they take',
    to: 'published',
    served: 'kept',
  },
  {
    from: 'pending_review',
    event: 'sign_again',
    when: 'the same, while it is held or served',
    to: 'pending_review',
    served: 'kept',
  },

  { from: 'published', event: 'delete', when: 'a person deletes it', to: 'absent', served: 'unpublished' },
  { from: 'pending_review', event: 'delete', when: 'a person deletes it', to: 'absent', served: 'unpublished' },
  { from: 'quarantined', event: 'delete', when: 'a person deletes it', to: 'absent', served: 'withheld' },
  {
    from: 'rejected',
    event: 'delete',
    when: 'a person deletes it; the rejection is forgotten',
    to: 'absent',
    served: 'withheld',
  },
]

/** @returns null when the event is not allowed in that state */
export function transitionOf(from: RecordState, event: StatusEvent): Transition | null {
  return TRANSITIONS.find((transition) => transition.from === from && transition.event === event) ?? null
}

/** Whether the record is in the published index after the transition. */
export function servedAfter(transition: Transition, servedBefore: boolean): boolean {
  return transition.served === 'offered' || (transition.served === 'kept' && servedBefore)
}

/** Whether the record's file is kept in quarantine instead of the pool. */
export function isRefused(status: PackageStatus): boolean {
  return status === 'quarantined' || status === 'rejected'
}
