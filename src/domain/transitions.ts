// Every change of a package's status, declared once (specification and decisions, "States and transitions"). Pure.
import type { PackageStatus } from './status.ts'

/** What happens to a record. The first four make it, `delete` ends it. */
export const STATUS_EVENTS = [
  'arrive_passed',
  'arrive_held',
  'arrive_refused',
  'place',
  'approve',
  'unpublishable',
  'reject',
  'require_upgrade',
  'reopen',
  'expire',
  'withdraw',
  'quarantine',
  'clear',
  'refresh',
  'note_overdue',
  'delete',
] as const
export type StatusEvent = (typeof STATUS_EVENTS)[number]

/** A record that is not there yet, or no more. */
export type Place = PackageStatus | 'absent'

/** What a transition does to the published index. */
export type ServedEffect = 'offered' | 'withdrawn' | 'kept' | 'withheld'

export interface Transition {
  from: Place
  event: StatusEvent
  /** what must hold, for people */
  when: string
  to: Place
  served: ServedEffect
}

const REOPENING = 'findings the policy does not let pass came up, and no active decision covers them'

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
    when: 'infected, blocked by the policy, signature bad or missing where it must be there',
    to: 'quarantined',
    served: 'withheld',
  },
  {
    from: 'absent',
    event: 'place',
    when: 'promotion or migration of a published record',
    to: 'published',
    served: 'offered',
  },

  {
    from: 'pending_review',
    event: 'approve',
    when: 'a person accepts the risk, for good or for a time',
    to: 'published',
    served: 'offered',
  },
  {
    from: 'published',
    event: 'unpublishable',
    when: 'the index of an approval could not be published',
    to: 'pending_review',
    served: 'withdrawn',
  },
  { from: 'pending_review', event: 'reject', when: 'a person refuses it', to: 'rejected', served: 'withdrawn' },
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
    when: 'the exception it was approved by has run out',
    to: 'pending_review',
    served: 'kept',
  },
  {
    from: 'published',
    event: 'withdraw',
    when: 'the decision it was approved by was taken back',
    to: 'pending_review',
    served: 'kept',
  },

  { from: 'published', event: 'quarantine', when: 'a person takes it away', to: 'quarantined', served: 'withdrawn' },
  {
    from: 'pending_review',
    event: 'quarantine',
    when: 'a person takes it away',
    to: 'quarantined',
    served: 'withdrawn',
  },
  {
    from: 'quarantined',
    event: 'clear',
    when: 'a rescan finds no cause any more',
    to: 'pending_review',
    served: 'withheld',
  },

  { from: 'published', event: 'refresh', when: 'a scan brings nothing to decide', to: 'published', served: 'kept' },
  {
    from: 'pending_review',
    event: 'refresh',
    when: 'a scan, or a decision that ended',
    to: 'pending_review',
    served: 'kept',
  },
  { from: 'quarantined', event: 'refresh', when: 'a scan that leaves a cause', to: 'quarantined', served: 'kept' },
  { from: 'rejected', event: 'refresh', when: 'a scan', to: 'rejected', served: 'kept' },

  { from: 'published', event: 'delete', when: 'a person removes it', to: 'absent', served: 'withdrawn' },
  { from: 'pending_review', event: 'delete', when: 'a person removes it', to: 'absent', served: 'withdrawn' },
  { from: 'quarantined', event: 'delete', when: 'a person removes it', to: 'absent', served: 'withheld' },
  {
    from: 'rejected',
    event: 'delete',
    when: 'a person removes it; the rejection is forgotten',
    to: 'absent',
    served: 'withheld',
  },
]

/** Null when that may not happen to a record there. */
export function transitionOf(from: Place, event: StatusEvent): Transition | null {
  return TRANSITIONS.find((transition) => transition.from === from && transition.event === event) ?? null
}

/** Whether the record is in the published index afterwards. */
export function servedAfter(transition: Transition, servedBefore: boolean): boolean {
  return transition.served === 'offered' || (transition.served === 'kept' && servedBefore)
}

/** Whether bytes of a record there lie in quarantine, apart from those that are or may be offered. */
export function isRefused(status: PackageStatus): boolean {
  return status === 'quarantined' || status === 'rejected'
}
