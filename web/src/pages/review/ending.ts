// When an approval ends. The same value is shown in the form and sent, so that they cannot differ.

const DAYS = ['7', '30', '90', '180']

export interface Ending {
  /** a number of days, `date` or `none` */
  choice: string
  /** the last day, `2026-12-24`, as far as it was typed; for the choice `date` */
  day: string
}

export const NO_END: Ending = { choice: 'none', day: '' }

/** What is exploited today is looked at again within these days, unless the person chooses otherwise. */
const EXPLOITED_DAYS = 90

/** What a form suggests, and why. */
export interface Suggested {
  ending: Ending
  why: string | null
}

/** @param days of the setting `security.approval_days`; 0: no end */
export function suggestedEnding(exploited: boolean, days: number): Suggested {
  const ends = exploited ? Math.min(days || EXPLOITED_DAYS, EXPLOITED_DAYS) : days
  if (ends === 0) return { ending: NO_END, why: null }
  const why = ends === days ? 'as the settings suggest' : 'because it is known to be exploited'
  return { ending: { choice: String(ends), day: '' }, why: `${ends} days, ${why}.` }
}

/** The choices of a form. @param also the suggested one, which need not be one of the usual ones */
export function choicesWith(also: string): string[] {
  const days = /^[1-9]\d*$/.test(also) ? [...new Set([...DAYS, also])].sort((a, b) => Number(a) - Number(b)) : DAYS
  return [...days, 'date', 'none']
}

export const isChoice = (text: unknown): text is string =>
  text === 'date' || text === 'none' || (typeof text === 'string' && /^[1-9]\d{0,3}$/.test(text))

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
