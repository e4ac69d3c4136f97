// Makes the OpenAPI document from the declared routes.
import type { TSchema } from 'typebox'
import type { ProblemCode } from '../../domain/problem.ts'
import { ACCESS } from '../../domain/roles.ts'
import { limitText } from './limits.ts'
import { pathOf } from './paths.ts'
import { STATUS_OF } from './problems.ts'
import type { Declaration } from './route.ts'
import { actionOf } from './scopes.ts'

/** Error codes that follow from a route's declaration, in addition to those it lists. */
export function impliedProblems(route: Declaration): ProblemCode[] {
  const codes: ProblemCode[] = []
  if (route.limit !== 'none') codes.push('rate_limited')
  if (!route.root) codes.push('database_unavailable', 'database_busy')
  if (route.params || route.query || route.body) codes.push('validation_error')
  if (route.access !== 'public') codes.push('unauthorized')
  if (isRefusedToSome(route)) codes.push('forbidden')
  if (route.flags?.sessionOnly) codes.push('session_required')
  if (route.access !== 'public' && !route.flags?.enrolment) codes.push('mfa_required')
  if (route.flags?.enterprise) codes.push('feature_unavailable')
  if (route.flags?.leaderOnly) codes.push('passive_replica')
  if (route.body || route.stream) codes.push('body_too_large')
  return codes
}

/** Whether some roles, or tokens with scopes, are refused. */
function isRefusedToSome({ access, action, flags }: Declaration): boolean {
  if (access === 'public') return false
  return ACCESS[access].length < ACCESS['reader+'].length || (action !== 'always' && !flags?.sessionOnly)
}

/** OpenAPI 3.1, because its schemas are JSON Schema, which TypeBox makes. */
export function openapi(routes: readonly Declaration[], info: { version: string }): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    if (route.flags?.hidden) continue
    // OpenAPI has no parameters with several segments.
    const path = pathOf(route).replaceAll('+}', '}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      // Client generators use it as a package version, which `dev` is not (semver, PEP 440).
      version: /^\d/.test(info.version) ? info.version : '0.0.0-dev',
      description: 'A private repository for operating-system packages with a gate in front.',
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A JWT from POST /auth/token, or an API token svc_…' },
        ...(routes.some(({ protocol }) => protocol?.challenge.scheme === 'Basic')
          ? { basic: { type: 'http', scheme: 'basic', description: 'A user name with its password or an API token' } }
          : {}),
      },
      schemas: {
        Error: {
          type: 'object',
          required: ['detail', 'code'],
          properties: { detail: { type: 'string' }, code: { type: 'string' } },
          additionalProperties: true,
        },
      },
    },
    paths,
  }
}

function operation(route: Declaration): Record<string, unknown> {
  const problems = [...new Set([...impliedProblems(route), ...route.problems])]
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of problems) byStatus.set(STATUS_OF[code], [...(byStatus.get(STATUS_OF[code]) ?? []), code])
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replace(/\{(\w+)\+?\}/g, '$1').replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [route.tag],
    summary: route.summary,
    description: descriptionOf(route),
    ...(route.access === 'public'
      ? { security: [] }
      : { security: [{ [schemeOf(route)]: [] }], 'x-roles': ACCESS[route.access] }),
    parameters: [...parameters('path', route.params), ...parameters('query', route.query)],
    ...requestBody(route),
    responses: {
      ...Object.fromEntries(
        [...byStatus].map(([status, codes]) => [
          String(status),
          { description: codes.join(', '), content: errorContent(route, codes) },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries({ [route.success ?? 200]: 'Success', ...route.also }).map(([status, description]) => [
          status,
          { description, content: successOf(route) },
        ]),
      ),
    },
  }
}

function scopeText(action: ReturnType<typeof actionOf>): string {
  if (action === 'always') return 'Open to tokens with any scopes.'
  if (action === 'never') return 'Closed to tokens with scopes.'
  return `Tokens with scopes need the action \`${action}\`.`
}

/** The declaration in sentences: who may call it, how often, and from where. */
export function descriptionOf(route: Declaration): string {
  const { access, flags = {} } = route
  const action = actionOf(route)
  return [
    access === 'public' ? 'No credential is needed.' : `Roles: ${ACCESS[access].join(', ')}.`,
    flags.sessionOnly && 'It needs a login session: an API token is answered `session_required`.',
    access !== 'public' && !flags.sessionOnly && scopeText(action),
    limitText(route),
    flags.leaderOnly && 'A passive replica answers `passive_replica`.',
    flags.enterprise && 'The community edition answers `feature_unavailable`.',
    flags.developmentOnly && 'Absent in production.',
    flags.optionalBody && 'The body may be left out.',
  ]
    .filter((sentence) => typeof sentence === 'string')
    .join(' ')
}

function successOf({ answer, media = [] }: Declaration): Record<string, unknown> {
  if (answer) return { 'application/json': { schema: answer } }
  return Object.fromEntries(media.map((type) => [type, { schema: { type: 'string' } }]))
}

const ERROR = { $ref: '#/components/schemas/Error' }

const schemeOf = ({ protocol }: Declaration) => protocol?.challenge.scheme.toLowerCase() ?? 'bearer'

function errorContent(route: Declaration, codes: readonly ProblemCode[]): Record<string, unknown> {
  if (route.protocol) return { [route.protocol.errors.media]: {} }
  return { 'application/json': { schema: errorOf(route, codes) } }
}

function errorOf({ answer, verdicts = [] }: Declaration, codes: readonly ProblemCode[]): object {
  if (!answer || !verdicts.some((code) => codes.includes(code))) return ERROR
  return { anyOf: [{ allOf: [ERROR, answer] }, ERROR] }
}

function parameters(place: 'path' | 'query', schema: TSchema | undefined): unknown[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, inner]) => ({
    name,
    in: place,
    required: place === 'path' || (required.includes(name) && !('default' in inner)),
    schema: inner,
  }))
}

function requestBody(route: Declaration): Record<string, unknown> {
  if (route.flags?.multipart) {
    const properties = {
      file: { type: 'string', format: 'binary' },
      distribution: { type: 'string' },
      sha256: { type: 'string' },
    }
    return {
      requestBody: {
        required: true,
        content: {
          'multipart/form-data': { schema: { type: 'object', required: ['file', 'distribution'], properties } },
        },
      },
    }
  }
  if (route.stream) {
    const content = Object.fromEntries(route.stream.media.map((type) => [type, {}]))
    return { requestBody: { required: false, content } }
  }
  if (!route.body) return {}
  const required = !route.flags?.optionalBody
  return {
    requestBody: {
      required,
      content: { 'application/json': { schema: route.body, ...(route.example ? { example: route.example } : {}) } },
    },
  }
}
