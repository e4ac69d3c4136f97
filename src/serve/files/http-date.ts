// HTTP dates, whole seconds since 1970 (RFC 9110 section 5.6.7). `Date.parse` accepts far too much to be used here.

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const MONTH = MONTHS.join('|')
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})'
const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'

const IMF_FIXDATE = new RegExp(`^${SHORT_DAY}, (\\d{2}) (${MONTH}) (\\d{4}) ${TIME} GMT$`)
const RFC_850 = new RegExp(`^${LONG_DAY}, (\\d{2})-(${MONTH})-(\\d{2}) ${TIME} GMT$`)
const ASCTIME = new RegExp(`^${SHORT_DAY} (${MONTH}) ([ \\d]\\d) ${TIME} (\\d{4})$`)

export function formatHttpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString()
}

/**
 * Parses the three forms a recipient must accept; null for anything else.
 * @param nowSeconds decides the century of the obsolete two-digit years
 */
export function parseHttpDate(text: string, nowSeconds: number): number | null {
  let match = IMF_FIXDATE.exec(text)
  if (match) return seconds(Number(match[3]), match[2], match[1], match.slice(4, 7))
  match = ASCTIME.exec(text)
  if (match) return seconds(Number(match[6]), match[1], match[2], match.slice(3, 6))
  match = RFC_850.exec(text)
  if (match) return seconds(fullYear(Number(match[3]), nowSeconds), match[2], match[1], match.slice(4, 7))
  return null
}

/** A year more than 50 years ahead means the most recent past year with the same last two digits. */
function fullYear(twoDigits: number, nowSeconds: number): number {
  const thisYear = new Date(nowSeconds * 1000).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}

function seconds(year: number, month = '', dayText = '', time: string[] = []): number | null {
  const [hour = 0, minute = 0, second = 0] = time.map(Number)
  const day = Number(dayText)
  if (hour > 23 || minute > 59 || second > 60) return null
  const date = new Date(0)
  date.setUTCFullYear(year, MONTHS.indexOf(month), day)
  // 31 February would become a day in March.
  if (day < 1 || date.getUTCDate() !== day) return null
  date.setUTCHours(hour, minute, second)
  return date.getTime() / 1000
}
