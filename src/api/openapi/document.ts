// Makes the OpenAPI document from the declared routes.
import type { TSchema } from 'typebox'
import { ACCESS } from '../../domain/roles.ts'
import { limitText } from '../http/limits.ts'
import { pathOf } from '../http/paths.ts'
import type { Declaration } from '../http/route.ts'
import { actionOf } from '../http/scopes.ts'
import { createResponses, HEADERS } from './errors.ts'
import { operationId } from './operation-id.ts'
import { parametersOf, shareParameters } from './parameters.ts'
import { createSchemas } from './schemas.ts'

const ABOUT = [
  'A private repository for operating-system packages with a gate in front.',
  "Where an operation names no limit, GET counts as a read of the role's rate limit and other methods as a write.",
  'Tokens with scopes need the action that it names as its scope; where it names none, they need `read` for GET, and `manage` for other methods and for what only admins may do.',
  'The events of a stream are in `x-events` beside its schema, by name; one without a name is called `message`, and `heartbeat` without data may come at any time.',
  'Connections get further answers, which belong to no operation: 400 `malformed_request`, 404 `unknown_api_version`,',
  '405 `method_not_allowed`, 408 `request_timeout` and 431 `header_too_large`, all with the schema `Error`.',
].join(' ')

/** Statuses of HTTP's conditions and ranges (RFC 9110), without a body. */
const WITHOUT_BODY = ['304', '412', '416']

interface Operation {
  [key: string]: unknown
  parameters?: object[]
}

/** What an operation needs to be shown. */
interface Parts {
  shown(schema: TSchema): object
  errorsOf(route: Declaration): Record<string, object>
}

/**
 * OpenAPI 3.1, because its schemas are JSON Schema, which TypeBox makes.
 * @param info.version of the service, as package.json has it
 */
export function openapi(routes: readonly Declaration[], info: { version: string }): Record<string, unknown> {
  const schemas = createSchemas()
  const responses = createResponses(schemas)
  const parts: Parts = { shown: schemas.shown, errorsOf: responses.of }
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    if (route.flags?.hidden) continue
    // OpenAPI has no parameters with several segments.
    const path = pathOf(route).replaceAll('+}', '}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, parts) }
  }
  const parameters = shareParameters(Object.values(paths).flatMap((methods) => Object.values(methods)))
  return {
    openapi: '3.1.0',
    info: { title: 'Gatehouse', version: info.version, description: ABOUT },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A JWT from POST /auth/token, or an API token svc_…' },
        ...(routes.some(({ protocol }) => protocol?.challenge.scheme === 'Basic')
          ? { basic: { type: 'http', scheme: 'basic', description: 'A user name with its password or an API token' } }
          : {}),
      },
      ...(Object.keys(parameters).length > 0 ? { parameters } : {}),
      headers: HEADERS,
      responses: responses.named(),
      schemas: schemas.named(),
    },
    paths,
  }
}

function operation(route: Declaration, parts: Parts): Operation {
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    description: descriptionOf(route),
    ...securityOf(route),
    ...listed(parametersOf(route, parts.shown)),
    ...requestBody(route, parts),
    responses: { ...parts.errorsOf(route), ...successesOf(route, parts) },
  }
}

const listed = (parameters: object[]) => (parameters.length > 0 ? { parameters } : {})

function rolesText(access: Declaration['access']): string {
  if (access === 'public') return 'No credential is needed.'
  return access === 'reader+' ? 'Any role.' : `Roles: ${ACCESS[access].join(', ')}.`
}

function scopeText(action: ReturnType<typeof actionOf>): string {
  if (action === 'always') return 'Open to tokens with any scopes.'
  if (action === 'never') return 'Closed to tokens with scopes.'
  return `Scope: \`${action}\`.`
}

/** The declaration in sentences: who may call it, how often, and from where. `ABOUT` says what holds for all others. */
export function descriptionOf(route: Declaration): string {
  const { access, limit, flags = {} } = route
  const action = actionOf(route)
  const ordinary = actionOf({ method: route.method, access })
  return [
    rolesText(access),
    flags.sessionOnly && 'It needs a login session: an API token is answered `session_required`.',
    access !== 'public' && !flags.sessionOnly && action !== ordinary && scopeText(action),
    (limit ?? access === 'public') && limitText(route),
    flags.leaderOnly && 'A passive replica answers `passive_replica`.',
    flags.enterprise && 'The community edition answers `feature_unavailable`.',
    flags.developmentOnly && 'Absent in production.',
    flags.optionalBody && 'The body may be left out.',
  ]
    .filter((sentence) => typeof sentence === 'string')
    .join(' ')
}

/** A schema without a name gets that of its operation, so that generated clients have a name for it. */
function named(schema: TSchema, route: Declaration, what: 'Answer' | 'Body'): TSchema {
  const id = operationId(route)
  return 'title' in schema ? schema : { ...schema, title: `${id.charAt(0).toUpperCase()}${id.slice(1)}${what}` }
}

function securityOf({ access, protocol }: Declaration): object {
  if (access === 'public') return { security: [] }
  return protocol ? { security: [{ [protocol.challenge.scheme.toLowerCase()]: [] }] } : {}
}

/** OpenAPI 3.1 has no words for events. `itemSchema` of 3.2 does not tell their names. */
function eventsOf({ events }: Declaration, type: string, shown: Parts['shown']): object {
  if (!events || type !== 'text/event-stream') return {}
  return { 'x-events': Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, shown(schema)])) }
}

function successesOf(route: Declaration, { shown }: Parts): Record<string, object> {
  const content = {
    ...(route.answer ? { 'application/json': { schema: shown(named(route.answer, route, 'Answer')) } } : {}),
    ...Object.fromEntries(
      (route.media ?? []).map((type) => [type, { schema: schemaOfMedia(type), ...eventsOf(route, type, shown) }]),
    ),
  }
  const words = { [route.success ?? 200]: successText(route), ...route.also }
  return Object.fromEntries(
    Object.entries(words).map(([status, description]) => [
      status,
      {
        description,
        ...(route.edited && route.method === 'GET' ? TAGGED : {}),
        ...(WITHOUT_BODY.includes(status) ? {} : { content }),
      },
    ]),
  )
}

function successText({ method, success, media }: Declaration): string {
  if (media?.includes('text/event-stream')) return 'The stream'
  if (media) return 'The file'
  if (success === 201) return 'Created'
  return method === 'GET' ? 'OK' : 'Done'
}

function schemaOfMedia(type: string): object {
  if (type.endsWith('json') && !type.endsWith('ndjson')) return { type: 'object' }
  return type.startsWith('text/') || type.endsWith('ndjson') ? { type: 'string' } : { type: 'string', format: 'binary' }
}

function requestBody(route: Declaration, { shown }: Parts): Record<string, unknown> {
  const { flags, body, stream, form, example } = route
  const schema = form ?? body
  if (stream) {
    const content = Object.fromEntries(stream.media.map((type) => [type, {}]))
    return { requestBody: { required: false, content } }
  }
  if (!schema) return {}
  const told = { schema: shown(named(schema, route, 'Body')), ...(example ? { example } : {}) }
  const types = form ? ['multipart/form-data'] : ['application/json', ...(flags?.formBody ? [FORM] : [])]
  return {
    requestBody: { required: !flags?.optionalBody, content: Object.fromEntries(types.map((type) => [type, told])) },
  }
}

const TAGGED = { headers: { ETag: { $ref: '#/components/headers/ETag' } } }

const FORM = 'application/x-www-form-urlencoded'
