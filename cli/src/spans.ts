// Times as people write them: 90s, 30m, 2h, 30d, 4w.
import { usage } from './failure.ts'

const MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** @returns ms. @throws Failure naming the flag */
export function spanMs(text: string, flag: string): number {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  const each = MS[unit ?? '']
  if (count === undefined || each === undefined || Number(count) === 0)
    throw usage(`--${flag} is a time such as 90s, 30m, 2h or 30d, not ${text}`)
  return Number(count) * each
}

/** @returns whole days from 1 to 3650. @throws Failure naming the flag */
export function spanDays(text: string, flag: string): number {
  const days = spanMs(/^\d+$/.test(text) ? `${text}d` : text, flag) / 86_400_000
  if (!Number.isInteger(days) || days > 3650) throw usage(`--${flag} is 1 to 3650 days, such as 30d, not ${text}`)
  return days
}

/** Bytes as people read them. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`
}
