// Makes the OpenAPI document from the declared routes.
import type { TSchema } from 'typebox'
import type { ProblemCode } from '../domain/problem.ts'
import { ACCESS } from '../domain/roles.ts'
import { pathOf } from './mount.ts'
import { STATUS_OF } from './problems.ts'
import type { Declaration } from './route.ts'

/** Error codes that follow from a route's declaration, in addition to those it lists. */
export function impliedProblems(route: Declaration): ProblemCode[] {
  const codes: ProblemCode[] = []
  if (route.limit !== 'none') codes.push('rate_limited')
  if (route.params || route.query || route.body) codes.push('validation_error')
  if (route.access !== 'public') codes.push('unauthorized')
  if (isRefusedToSome(route)) codes.push('forbidden')
  if (route.flags?.sessionOnly) codes.push('session_required')
  if (route.flags?.enterprise) codes.push('feature_unavailable')
  if (route.flags?.leaderOnly) codes.push('passive_replica')
  if (route.body) codes.push('body_too_large')
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
    const path = pathOf(route)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: info.version,
      description: 'A private repository for operating-system packages with a gate in front.',
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A JWT from POST /auth/token, or an API token svc_…' },
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
    operationId: `${route.method.toLowerCase()}${route.path.replace(/\{(\w+)\}/g, '$1').replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [route.tag],
    summary: route.summary,
    ...(route.access === 'public' ? { security: [] } : { security: [{ bearer: [] }], 'x-roles': ACCESS[route.access] }),
    parameters: [...parameters('path', route.params), ...parameters('query', route.query)],
    ...requestBody(route),
    responses: {
      [String(route.success ?? 200)]: {
        description: 'Success',
        ...(route.answer ? { content: { 'application/json': { schema: route.answer } } } : {}),
      },
      ...Object.fromEntries(
        [...byStatus].map(([status, codes]) => [
          String(status),
          {
            description: codes.join(', '),
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        ]),
      ),
    },
  }
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
  if (!route.body) return {}
  const required = !route.flags?.optionalBody
  return { requestBody: { required, content: { 'application/json': { schema: route.body } } } }
}
