// Which form of a document of the Simple API a client accepts (PEP 691; RFC 9110, section 12.5.1). Pure.
import { HTML_MEDIA, JSON_MEDIA } from '../../formats/pypi/documents.ts'

export interface Form {
  form: 'json' | 'html'
  media: string
}

const TEXT = { form: 'html', media: 'text/html; charset=utf-8' } as const

/** Of forms that a client likes as much, the first one. */
const OFFERED: readonly (Form & { names: readonly string[] })[] = [
  { form: 'json', media: JSON_MEDIA, names: [JSON_MEDIA, latest(JSON_MEDIA)] },
  { form: 'html', media: HTML_MEDIA, names: [HTML_MEDIA, latest(HTML_MEDIA)] },
  { ...TEXT, names: ['text/html'] },
]

export const FORMS = OFFERED.flatMap(({ names }) => names.slice(0, 1))

function latest(media: string): string {
  return media.replace('.v1', '.latest')
}

/** @returns null when the client accepts none of the forms */
export function formFor(accept: string | undefined): Form | null {
  if (accept === undefined || accept.trim() === '') return TEXT
  const ranges = accept.toLowerCase().split(',').map(rangeOf)
  const weighed = OFFERED.map((offer) => ({ offer, ...weightOf(offer.names, ranges) })).filter(({ q }) => q > 0)
  if (weighed.length === 0) return null
  // A client that names no form, as browsers and curl do, gets what every client reads.
  if (weighed.every(({ isNamed }) => !isNamed))
    return weighed.some(({ offer }) => offer.media === TEXT.media) ? TEXT : null
  return weighed.sort((a, b) => b.q - a.q || Number(b.isNamed) - Number(a.isNamed))[0]!.offer
}

interface Range {
  media: string
  q: number
}

function rangeOf(text: string): Range {
  const [media = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((one) => one.startsWith('q='))?.slice(2)
  return {
    media,
    q: weight === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0,
  }
}

/** The most specific range counts. */
function weightOf(names: readonly string[], ranges: readonly Range[]): { q: number; isNamed: boolean } {
  const named = ranges.find(({ media }) => names.includes(media))
  if (named) return { q: named.q, isNamed: true }
  const kind = `${names[0]!.split('/')[0]}/*`
  const wide = ranges.find(({ media }) => media === kind) ?? ranges.find(({ media }) => media === '*/*')
  return { q: wide?.q ?? 0, isNamed: false }
}
