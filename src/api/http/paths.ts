// Templates of paths: `{name}` is one segment, and `{name+}` is one or more, anywhere in the path but only once.
import type { IncomingMessage } from 'node:http'
import { invalidField } from '../../domain/problem.ts'

export const API_PREFIX = '/api/v1'

/** The part of a route that gives its address. */
export interface Addressed {
  path: string
  root?: boolean
}

/** The full path of a route, with `{name}` parameters. */
export function pathOf(route: Addressed): string {
  return route.root ? route.path : `${API_PREFIX}${route.path}`
}

/** The segments of a request target, decoded once; null when it cannot be decoded. One slash at the end does not count. */
export function segmentsOf(target: string): string[] | null {
  // RFC 9112, section 3.2.2: clients may send the whole address.
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#][^]*/, '')
  const raw = path.split('/').slice(1)
  if (raw.length > 1 && raw.at(-1) === '') raw.pop()
  try {
    return raw.map(decodeURIComponent)
  } catch {
    return null
  }
}

const isParameter = (part: string) => part.startsWith('{')
const isWide = (part: string) => part.endsWith('+}')
const nameOf = (part: string) => part.replace(/^\{|\+?\}$/g, '')

export type Params = Record<string, string>

/** @returns the parameters of a path by name; null for a path that does not match the template */
export function matcherOf(template: string): (segments: readonly string[]) => Params | null {
  const parts = template.split('/').slice(1)
  const wideAt = parts.findIndex(isWide)
  if (parts.filter(isWide).length > 1) throw new Error(`${template} has more than one {name+}`)
  return (segments) => {
    const more = segments.length - parts.length
    if (wideAt === -1 ? more !== 0 : more < 0) return null
    const params: Params = {}
    for (const [at, part] of parts.entries()) {
      const first = wideAt !== -1 && at > wideAt ? at + more : at
      const text = at === wideAt ? segments.slice(at, at + more + 1).join('/') : (segments[first] as string)
      if (isParameter(part)) params[nameOf(part)] = text
      if (isParameter(part) ? text === '' && at !== wideAt : text !== part) return null
    }
    return params
  }
}

/** What the router gets: it knows parameters of one segment, and one `*` at the end. */
export function routerPath(template: string): { url: string; constraints?: { wide: string } } {
  const wideAt = template.search(/\{\w+\+\}/)
  const url = (wideAt === -1 ? template : template.slice(0, wideAt)).replace(/\{(\w+)\}/g, ':$1')
  return wideAt === -1 ? { url } : { url: `${url}*`, constraints: { wide: template } }
}

/** For the router's `constraints`: chooses among templates with `{name+}`, of which the router knows only the beginning. */
export function wideRouting(routes: readonly (Addressed & { method: string })[]) {
  const wide = routes
    .map((route) => ({ method: route.method, template: pathOf(route) }))
    .filter(({ template }) => template.includes('+}'))
    .map((one) => ({ ...one, matches: matcherOf(one.template) }))
    .sort((a, b) => byLiterals(a.template, b.template))
  return {
    name: 'wide',
    storage<Handler>() {
      const handlers = new Map<string, Handler>()
      return {
        get: (template: string) => handlers.get(template) ?? null,
        set: (template: string, handler: Handler) => void handlers.set(template, handler),
      }
    },
    deriveConstraint({ method, url = '/' }: Pick<IncomingMessage, 'method' | 'url'>): string {
      const segments = segmentsOf(url)
      const asked = method === 'HEAD' ? 'GET' : method
      const found = wide.find((one) => one.method === asked && segments && one.matches(segments) !== null)
      // Undefined leaves the request to the other routes. The types of the router do not say so.
      return found?.template as string
    },
  }
}

/** Orders templates that match the same path: most literal segments first, then most segments. */
export function byLiterals(a: string, b: string): number {
  const [ofA, ofB] = [a.split('/'), b.split('/')]
  const literals = (parts: string[]) => parts.filter((part) => !isParameter(part)).length
  return literals(ofB) - literals(ofA) || ofB.length - ofA.length
}

/** The parameters of a request to a template with `{name+}`, as clients wrote them. */
export function wideParams(template: string, target: string): Params {
  return matcherOf(template)(segmentsOf(target) ?? []) ?? {}
}

/**
 * Refuses paths that different programs read differently. The segments of a `{name+}` were decoded before they were joined,
 * so an encoded slash can be found only in the target.
 * @throws Problem('validation_error') naming the parameter
 */
export function requirePlainPath(params: Params, target: string, encodedSlashes: boolean): void {
  const [path = ''] = target.split(/[?#]/)
  if (!encodedSlashes && /%2f/i.test(path)) throw invalidField('path', 'has an encoded slash')
  for (const [name, text] of Object.entries(params)) {
    if (/[\u0000-\u001f\u007f\\]/.test(text)) throw invalidField(name, 'has a backslash or a control character')
    if (text.split('/').some((segment) => segment === '' || segment === '.' || segment === '..'))
      throw invalidField(name, 'has a segment that is empty, `.` or `..`')
  }
}
