// Checks every reply against the declaration of its route: failures by their code, everything by the OpenAPI document.
import { impliedProblems } from '../../src/api/http/implied-problems.ts'
import { byLiterals, matcherOf, pathOf, segmentsOf } from '../../src/api/http/paths.ts'
import { STATUS_OF } from '../../src/api/http/problems.ts'
import { protocolsOf } from '../../src/api/http/protocol.ts'
import type { Route } from '../../src/api/http/route.ts'
import { PROBLEM_CODES, type ProblemCode } from '../../src/domain/problem.ts'
import { undocumented } from './document.ts'
import type { Reply } from './http.ts'

/** Codes that any request may get. */
const ANYWHERE: readonly ProblemCode[] = [
  // a path that cannot be decoded, and a parameter that no database stores
  'validation_error',
  'not_found',
  'unknown_api_version',
  'method_not_allowed',
]

/** All codes of a route, declared and implied. */
export function givenBy(route: Route): Set<ProblemCode> {
  return new Set([...route.problems, ...impliedProblems(route)])
}

/** Statuses without an error code. */
function successes(route: Route): number[] {
  return [route.success ?? 200, ...Object.keys(route.also ?? {}).map(Number)]
}

export function keyOf(route: Route): string {
  return `${route.method} ${pathOf(route)}`
}

/** The route of a request. Literal segments take precedence over parameters. */
export function findRoute(routes: readonly Route[], method: string, path: string): Route | null {
  const segments = segmentsOf(path)
  const fits = routes.filter(
    (route) =>
      route.method === (method === 'HEAD' ? 'GET' : method) &&
      segments !== null &&
      matcherOf(pathOf(route))(segments) !== null,
  )
  const literal = (route: Route) =>
    pathOf(route)
      .split('/')
      .map((part) => (part.startsWith('{') ? '1' : '0'))
      .join('')
  const narrow = fits.filter((route) => !route.path.includes('+}'))
  if (narrow.length === 0) return fits.sort((a, b) => byLiterals(pathOf(a), pathOf(b)))[0] ?? null
  return narrow.sort((a, b) => (literal(a) < literal(b) ? -1 : 1))[0] ?? null
}

/** @returns a check that throws when a reply does not match the declaration of its route */
export function createDeclaredCheck(routes: readonly Route[]): (method: string, path: string, reply: Reply) => void {
  const protocolOf = protocolsOf(routes)

  return (method, path, reply) => {
    const route = findRoute(routes, method, path)
    const fail = (what: string) => {
      throw new Error(`${method} ${path} answered ${reply.status}, ${what}: ${reply.text.slice(0, 500)}`)
    }
    const protocol = protocolOf(path)
    if (protocol && method !== 'OPTIONS') {
      const codes = [...(route ? givenBy(route) : []), ...ANYWHERE]
      const statuses = [...(route ? successes(route) : []), ...codes.map((code) => STATUS_OF[code])]
      if (!statuses.includes(reply.status)) return fail('a status that its route does not declare')
      if (reply.status >= 400 && reply.headers['content-type'] !== protocol.errors.media)
        return fail(`not as ${protocol.errors.media}`)
      return
    }
    const code = reply.body['code'] as ProblemCode | undefined
    if (route && code === undefined && method !== 'HEAD' && !successes(route).includes(reply.status))
      return fail('a status that its route does not declare')
    if (reply.status >= 400 && method !== 'HEAD' && !(route?.tag === 'health' && code === undefined)) {
      if (code === undefined || !PROBLEM_CODES.includes(code)) return fail('without a known code')
      if (typeof reply.body['detail'] !== 'string' || reply.body['detail'] === '') return fail('without a sentence')
      if (STATUS_OF[code] !== reply.status) return fail(`but ${code} is ${STATUS_OF[code]}`)
      if (route && !givenBy(route).has(code) && !ANYWHERE.includes(code))
        return fail(`a code that ${keyOf(route)} does not declare`)
    }
    const fault = route && undocumented(route, method, reply)
    if (fault) fail(fault)
  }
}
