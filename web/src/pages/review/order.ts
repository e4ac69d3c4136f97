// What a row of the queue says: the words of orders and groups, and which facts are the same in all rows. Pure.
import type { QueueItem } from './item.ts'

/** Values of `sort`, with their words; the first one is the default. */
export const ORDERS = [
  { value: 'risk', label: 'risk' },
  { value: 'due', label: 'due date' },
  { value: 'since', label: 'longest wait' },
  { value: 'name', label: 'name' },
] as const

/** Values of `group`, with their words; the empty one is the default. */
export const GROUPS = [
  { value: '', label: 'not grouped' },
  { value: 'source', label: 'by source package' },
  { value: 'fix', label: 'by fix' },
  { value: 'findings', label: 'by findings' },
] as const

const DAY_MS = 86_400_000

/** @returns "29 d", "today", "overdue"; empty without a deadline */
export function dueWord(
  { expires_at: at, expired }: Pick<QueueItem['sla'], 'expires_at' | 'expired'>,
  now: number,
): string {
  if (at === null) return ''
  if (expired) return 'overdue'
  const days = Math.floor((Date.parse(at) - now) / DAY_MS)
  return days === 0 ? 'today' : `${days} d`
}

type Shown = Pick<QueueItem, 'distribution' | 'sla'>

/** The facts that all rows share. They are said once, above the rows. */
export interface Shared {
  distribution: string | null
  /** as `dueWord` */
  due: string | null
}

export function sharedBy(items: readonly Shown[], now: number): Shared {
  const same = (words: readonly string[]) => (words.length > 1 && new Set(words).size === 1 ? (words[0] ?? null) : null)
  return {
    distribution: same(items.map(({ distribution }) => distribution)),
    due: same(items.map(({ sla }) => dueWord(sla, now))),
  }
}

/** @returns "all in almalinux9, all due in 29 d"; null when the rows share nothing */
export function sharedWords({ distribution, due }: Shared): string | null {
  const words = [
    ...(distribution === null ? [] : [`all in ${distribution}`]),
    ...(due === null || due === ''
      ? []
      : [due.endsWith(' d') ? `all due in ${due}` : `all ${due === 'today' ? 'due today' : due}`]),
  ]
  return words.length === 0 ? null : words.join(', ')
}
