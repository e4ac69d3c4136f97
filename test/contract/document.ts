// Compares a reply with the OpenAPI document: its status, its media type, and its body, in which every key must be declared.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { declarations } from '../../src/api/contract.ts'
import { pathOf } from '../../src/api/http/paths.ts'
import type { Route } from '../../src/api/http/route.ts'
import { openapi } from '../../src/api/openapi/document.ts'
import { eventsOf, type Reply } from './http.ts'

type Schema = Record<string, unknown>

interface Response {
  $ref?: string
  content?: Record<string, { schema: Schema; 'x-events'?: Record<string, Schema> }>
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> }
}

const document = openapi(declarations, { version: '0' }) as unknown as Document
const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })
addFormats.default(ajv)
ajv.addSchema({ $id: 'schemas', open: named(true), closed: named(false) })
const compiled = new Map<string, ValidateFunction>()

/** @returns what the document does not say about a reply of the route; null when it says everything */
export function undocumented(route: Route, method: string, reply: Reply): string | null {
  const responses = document.paths[pathOf(route)]?.[route.method.toLowerCase()]?.responses
  if (!responses) return null
  const given = responses[reply.status] ?? (reply.status >= 400 ? responses['default'] : undefined)
  if (!given) return 'with a status that the document does not have'
  const { content = {} } = given.$ref ? (document.components.responses[lastOf(given.$ref)] as Response) : given
  const type = reply.headers['content-type']?.split(';')[0]
  const types = Object.keys(content)
  if (type === undefined) return types.length === 0 || method === 'HEAD' ? null : 'without a media type'
  const schema = content[type]?.schema
  if (!schema) return `as ${type}, but the document has ${types.join(', ')}`
  if (method === 'HEAD' || reply.text === '') return null
  if (type === 'text/event-stream') return undocumentedEvents(route, reply.text)
  return type === 'application/json' ? misshapen(schema, reply.body) : null
}

/** @returns what the document does not say about the events of a stream; null when it says everything */
export function undocumentedEvents(route: Pick<Route, 'method' | 'path' | 'root'>, text: string): string | null {
  const answers = Object.values(document.paths[pathOf(route)]?.[route.method.toLowerCase()]?.responses ?? {})
  const events = answers.map(({ content }) => content?.['text/event-stream']?.['x-events']).find(Boolean) ?? {}
  for (const { event, data } of eventsOf(text)) {
    if (event === 'heartbeat') continue
    const schema = events[event]
    if (!schema) return `with the event ${event}, which the document does not have`
    // Some streams end with a text.
    const fault = misshapen(schema, data.startsWith('{') ? JSON.parse(data) : data)
    if (fault !== null) return `with an event ${event} ${fault}`
  }
  return null
}

function misshapen(schema: Schema, value: unknown): string | null {
  const key = JSON.stringify(schema)
  const validate = compiled.get(key) ?? ajv.compile(absolute(exact(schema)))
  compiled.set(key, validate)
  return validate(value) ? null : `not in its shape: ${faults(validate)}`
}

function faults({ errors }: ValidateFunction): string {
  const lines = (errors ?? []).map(({ instancePath, message, params }) => {
    const key = (params as { unevaluatedProperty?: string }).unevaluatedProperty
    return `${instancePath} ${key === undefined ? message : `has ${key}, which is not declared`}`
  })
  return [...new Set(lines)].join('; ')
}

function lastOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function named(open: boolean): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, exact(schema, open)]),
  )
}

/** References from outside of the schema that holds the named ones. */
function absolute(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"schemas#')) as Schema
}

/**
 * The schema, with objects that have no other keys than the declared ones.
 * @param open for a part of `allOf`: the keys of the other parts are declared elsewhere
 */
function exact(schema: Schema, open = false): Schema {
  const { $ref, properties, items, allOf, anyOf, additionalProperties, ...rest } = schema as {
    $ref?: string
    properties?: Record<string, Schema>
    items?: Schema
    allOf?: Schema[]
    anyOf?: Schema[]
    additionalProperties?: Schema | boolean
  } & Schema
  if ($ref) return { $ref: `#/${open ? 'open' : 'closed'}/${lastOf($ref)}` }
  const isClosed = !open && (properties ?? allOf) !== undefined && additionalProperties === undefined
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, exact(inner)])),
    }),
    ...(items && { items: exact(items) }),
    ...(allOf && { allOf: allOf.map((part) => exact(part, true)) }),
    ...(anyOf && { anyOf: anyOf.map((part) => exact(part, open)) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean' ? additionalProperties : exact(additionalProperties),
    }),
    ...(isClosed && { unevaluatedProperties: false }),
  }
}
