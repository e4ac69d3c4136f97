// Checks every reply against the declaration of its route: success bodies by schema, failures by code and shape.
import { Ajv, type ValidateFunction } from 'ajv'
import { impliedProblems } from '../../src/api/http/openapi.ts'
import { byLiterals, matcherOf, pathOf, segmentsOf } from '../../src/api/http/paths.ts'
import { STATUS_OF } from '../../src/api/http/problems.ts'
import { protocolsOf } from '../../src/api/http/protocol.ts'
import type { Route } from '../../src/api/http/route.ts'
import { PROBLEM_CODES, type ProblemCode } from '../../src/domain/problem.ts'
import type { Reply } from './http.ts'

/** Codes that any request may get. */
const ANYWHERE: readonly ProblemCode[] = [
  'internal_error',
  'shutting_down',
  'validation_error',
  'body_too_large',
  'not_found',
  'unknown_api_version',
  'method_not_allowed',
]

/** All codes of a route, declared and implied. */
export function givenBy(route: Route): Set<ProblemCode> {
  return new Set([...route.problems, ...impliedProblems(route)])
}

/** Statuses of HTTP's conditions and ranges (RFC 9110), without a body. */
const OF_HTTP = [304, 412, 416]

/** Statuses without an error code. */
function successes(route: Route): number[] {
  return [route.success ?? 200, ...Object.keys(route.also ?? {}).map(Number), ...OF_HTTP]
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
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  const protocolOf = protocolsOf(routes)
  const compiled = new Map<Route, ValidateFunction>()

  return (method, path, reply) => {
    const route = findRoute(routes, method, path)
    const fail = (what: string) => {
      throw new Error(`${method} ${path} answered ${reply.status}, ${what}: ${reply.text.slice(0, 500)}`)
    }
    const protocol = protocolOf(path)
    if (protocol) {
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
    const hasVerdict =
      code === undefined ? reply.status < 400 || route?.tag === 'health' : route?.verdicts?.includes(code)
    if (route?.answer && hasVerdict && method !== 'HEAD' && reply.text !== '') {
      const validate = compiled.get(route) ?? ajv.compile(route.answer)
      compiled.set(route, validate)
      if (!validate(reply.body)) fail(`not in its shape: ${ajv.errorsText(validate.errors)}`)
    }
  }
}
