// Times: how long ago, with the exact time in UTC on request.

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/** @returns "3 hours ago", "in 2 days" */
export function distance(iso: string, now = Date.now()): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1000)
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
  return unit === 'second' ? 'just now' : relative.format(Math.trunc(seconds / length), unit)
}

export function utc(iso: string): string {
  return `${exact.format(new Date(iso))} UTC`
}

export function utcDay(iso: string): string {
  return day.format(new Date(iso))
}

/** Without a tooltip of Mantine, because lists have one in each row, and it would cost as much as the rest of the row. */
export function When({ at, none = 'never' }: { at: string | null | undefined; none?: string }) {
  if (!at) return <span>{none}</span>
  return (
    <time dateTime={at} title={utc(at)} style={{ whiteSpace: 'nowrap' }}>
      {distance(at)}
    </time>
  )
}
