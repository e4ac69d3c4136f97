// Writes the types of the client from dist/openapi.json: one entry for each endpoint, keyed `METHOD /path`, and one for each
// named schema.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * @typedef {{
 *   type?: string | string[], enum?: unknown[], const?: unknown, anyOf?: Schema[], allOf?: Schema[], description?: string,
 *   deprecated?: boolean,
 *   properties?: Record<string, Schema>, required?: string[], items?: Schema, default?: unknown, $ref?: string,
 *   additionalProperties?: boolean | Schema, patternProperties?: Record<string, Schema>
 * }} Schema
 * @typedef {{ name: string, in: string, required?: boolean, schema: Schema }} Parameter
 * @typedef {{
 *   summary: string, parameters?: (Parameter | { $ref: string })[], requestBody?: { required: boolean, content: Record<string, { schema: Schema }> },
 *   responses: Record<string, { content?: Record<string, { schema: Schema }> }>
 * }} Operation
 * @typedef {{
 *   paths: Record<string, Record<string, Operation>>,
 *   components: { schemas: Record<string, Schema>, parameters?: Record<string, Parameter> }
 * }} Document
 */

/** Paths of the API are written without this prefix; the client adds it again. */
const PREFIX = '/api/v1'

/**
 * The TypeScript type of values that match a schema, for the keywords that the declarations use.
 * @param {Schema} schema
 * @returns {string}
 */
export function typeOf(schema) {
  if (schema.$ref) return `Schemas['${nameOf(schema.$ref)}']`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return `(${schema.anyOf.map(typeOf).join(' | ')})`
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`
  if (Array.isArray(schema.type)) return `(${schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')})`
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return `(${typeOf(schema.items ?? {})})[]`
    case 'object':
      return objectOf(schema)
    default:
      return 'unknown'
  }
}

/** @param {Schema} schema */
function noteOf({ description, deprecated }) {
  const words = [description, deprecated && '@deprecated'].filter(Boolean).join(' ')
  return words ? `/** ${words.replaceAll('*/', '* /')} */ ` : ''
}

/** @param {Schema} schema */
function objectOf({ properties = {}, required = [], patternProperties, additionalProperties }) {
  const keys = Object.entries(properties).map(([name, inner]) => {
    return `${noteOf(inner)}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(inner)}`
  })
  const [others] = Object.values(patternProperties ?? {})
  if (others) return `Record<string, ${typeOf(others)}>`
  if (typeof additionalProperties === 'object') return `Record<string, ${typeOf(additionalProperties)}>`
  if (keys.length === 0) return 'Record<string, unknown>'
  return `{ ${keys.join('; ')} }${additionalProperties === true ? ' & Record<string, unknown>' : ''}`
}

/**
 * The type of the parameters in one place. Those with a default may be omitted.
 * @param {Document} document
 * @param {Operation} operation
 * @param {string} place
 */
function parametersOf({ components }, { parameters = [] }, place) {
  const keys = parameters
    .map((one) => ('$ref' in one ? /** @type {Parameter} */ (components.parameters?.[nameOf(one.$ref)]) : one))
    .filter((one) => one.in === place)
    .map(({ name, required, schema }) => `${JSON.stringify(name)}${required ? '' : '?'}: ${typeOf(schema)} | undefined`)
  return keys.length > 0 ? `{ ${keys.join('; ')} }` : 'undefined'
}

/** @param {Operation} operation */
function answerOf({ responses }) {
  const success = responses['200'] ?? responses['201']
  const schema = success?.content?.['application/json']?.schema
  return schema ? typeOf(schema) : 'null'
}

/** The last word of a reference. */
function nameOf(/** @type {string} */ reference) {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** @param {Document} document */
export function operations(document) {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const body = operation.requestBody?.content['application/json']?.schema
      const optional = operation.requestBody?.required === false ? ' | undefined' : ''
      return `  /** ${operation.summary.replaceAll('*/', '* /')} */
  '${method.toUpperCase()} ${path.startsWith(PREFIX) ? path.slice(PREFIX.length) : path}': {
    params: ${parametersOf(document, operation, 'path')}
    query: ${parametersOf(document, operation, 'query')}
    body: ${body ? `${typeOf(body)}${optional}` : 'undefined'}
    answer: ${answerOf(operation)}
  }`
    }),
  )
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `${noteOf(schema)}  ${name}: ${typeOf(schema)}`,
  )
  return [
    '// Made by bin/client-types.mjs from dist/openapi.json; not kept in the repository.',
    `export interface Schemas {\n${schemas.join('\n')}\n}`,
    `export interface Operations {\n${entries.join('\n')}\n}`,
    '',
  ].join('\n')
}

/**
 * @param {string} from path of openapi.json
 * @param {string} to path of the file to write
 */
export function writeClientTypes(from, to) {
  const text = operations(JSON.parse(readFileSync(from, 'utf8')))
  // An unchanged file must not look new to the builds that read it.
  if (!existsSync(to) || readFileSync(to, 'utf8') !== text) writeFileSync(to, text)
}
