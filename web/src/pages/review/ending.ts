// When an approval ends. The same value is shown in the form and sent, so that they cannot differ.

export const CHOICES = ['7', '30', '90', '180', 'date', 'none'] as const

export interface Ending {
  choice: (typeof CHOICES)[number]
  /** the last day, `2026-12-24`, as far as it was typed; for the choice `date` */
  day: string
}

export const NO_END: Ending = { choice: 'none', day: '' }

/** The end that a form offers first: what is exploited today is looked at again, the policy ends no other approval. */
export const safeEnding = (exploited: boolean): Ending => (exploited ? { choice: '90', day: '' } : NO_END)

const DAY_MS = 86_400_000
/** The limit of the service: ten years. */
const MOST_DAYS = 3650

/** @returns days until it ends; null: it has no end; undefined: nothing can be sent, for the reason of `wrongEnding` */
export function daysOf({ choice, day }: Ending, now: number): number | null | undefined {
  if (choice === 'none') return null
  if (choice !== 'date') return Number(choice)
  const days = Math.ceil((Date.parse(`${day}T23:59:59Z`) - now) / DAY_MS)
  return days >= 1 && days <= MOST_DAYS && day > dayAt(now) ? days : undefined
}

/** Why the ending cannot be sent; null when it can. */
export function wrongEnding(ending: Ending, now: number): string | null {
  if (daysOf(ending, now) !== undefined) return null
  if (ending.day === '') return 'Choose the last day, or another end.'
  return ending.day <= dayAt(now) ? 'This day is not in the future.' : 'The last day is at most ten years away.'
}

/** The first day that can be chosen. */
export const firstDay = (now: number): string => dayAt(now + DAY_MS)

const dayAt = (now: number): string => new Date(now).toISOString().slice(0, 10)
