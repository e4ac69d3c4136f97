// Typed reasons, kept in this tab until they are sent: a session that ends, a link that is followed or a reload loses none.
import type { Draft } from './decision.ts'
import { isChoice } from './ending.ts'
import type { Action } from './item.ts'
import { idOf, type RecordId } from './record-id.ts'

export interface KeptDraft {
  /** the open form; null when it was closed */
  action: Action | null
  draft: Draft
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** Another person who signs in on this tab gets none of these. */
export const draftKey = (user: string, record: RecordId) => `gatehouse-draft ${user} ${idOf(record)}`

/** Keeps a draft; one without text is forgotten. A full store keeps nothing, which is no reason to stop the person. */
export function keepDraft(store: Store, key: string, kept: KeptDraft): void {
  if (kept.draft.reason.trim() === '') {
    forgetDraft(store, key)
    return
  }
  try {
    store.setItem(key, JSON.stringify(kept))
  } catch {
    forgetDraft(store, key)
  }
}

export function forgetDraft(store: Store, key: string): void {
  store.removeItem(key)
}

const ACTIONS: readonly unknown[] = ['accept_risk', 'exception', 'upgrade_required', 'reject'] satisfies Action[]

/** @returns null when there is none, or another build wrote it */
export function keptDraft(store: Store, key: string): KeptDraft | null {
  try {
    const { action, draft } = JSON.parse(store.getItem(key) ?? 'null') as KeptDraft
    const { reason, ending, target } = draft
    const isKnown =
      (action === null || ACTIONS.includes(action)) &&
      [reason, target, ending.day].every((text) => typeof text === 'string') &&
      isChoice(ending.choice)
    return isKnown ? { action, draft: { reason, target, ending: { choice: ending.choice, day: ending.day } } } : null
  } catch {
    return null
  }
}
