// Makes values that match a JSON Schema and values that do not, for the keywords that the declarations use.
import type { TSchema } from 'typebox'
import { pathOf } from '../../src/api/http/paths.ts'
import type { Route } from '../../src/api/http/route.ts'

interface Schema {
  type?: string
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  default?: unknown
  minimum?: number
  maximum?: number
  minItems?: number
  minLength?: number
  maxLength?: number
  pattern?: string
}

/** Matches names, tokens and most patterns. No test creates anything with this name. */
export const SAMPLE_TEXT = 'nobody-has-this-name'

export function propertiesOf(schema: TSchema | undefined): Record<string, Schema> {
  const of: Schema | undefined = schema
  return of?.properties ?? {}
}

export function requiredOf(schema: TSchema | undefined): string[] {
  const of: Schema | undefined = schema
  return of?.required ?? []
}

/** A value that matches the schema. Objects have only required keys. */
export function valueFor(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return valueFor(schema.anyOf[0] ?? {})
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(valueFor)) as unknown
  switch (schema.type) {
    case 'string':
      return textFor(schema)
    case 'integer':
    case 'number':
      return schema.minimum ?? Math.min(1, schema.maximum ?? 1)
    case 'boolean':
      return true
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => valueFor(schema.items ?? {}))
    case 'null':
      return null
    default:
      return Object.fromEntries((schema.required ?? []).map((key) => [key, valueFor(schema.properties?.[key] ?? {})]))
  }
}

function textFor({ pattern, minLength = 0, maxLength = 1000 }: Schema): string {
  const fits = (text: string) =>
    text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text))
  const candidates = [
    SAMPLE_TEXT,
    'nobody@example.org',
    '1',
    'a'.repeat(Math.max(1, minLength)),
    'a'.repeat(64),
    'https://example.org/',
  ]
  const found = candidates.find(fits)
  if (found === undefined) throw new Error(`no sample text fits ${pattern ?? ''}; add one here`)
  return found
}

/** A JSON value of a type that the schema refuses; undefined when it accepts every type. */
export function wrongTypeFor(schema: Schema): unknown {
  const types = typesOf(schema)
  if (types.length === 0) return undefined
  const values: [string, unknown][] = [
    ['number', 7.5],
    ['string', 'seven'],
    ['boolean', true],
    ['object', { a: 1 }],
    ['array', [1]],
  ]
  return values.find(([type]) => !types.includes(type) && !(type === 'number' && types.includes('integer')))?.[1]
}

function typesOf(schema: Schema): string[] {
  if (schema.anyOf) {
    const all = schema.anyOf.map(typesOf)
    return all.some((types) => types.length === 0) ? [] : all.flat()
  }
  if (schema.type) return [schema.type]
  return (schema.enum ?? (schema.const === undefined ? [] : [schema.const])).map((value) => typeof value)
}

/** Strings that a query or path parameter of this schema must refuse. */
export function refusedTexts(schema: Schema): string[] {
  const refused: string[] = []
  if (schema.type === 'integer' || schema.type === 'number') refused.push('seven', '1e999')
  if (schema.type === 'integer') refused.push('1.5')
  if (schema.minimum !== undefined) refused.push(String(schema.minimum - 1))
  if (schema.maximum !== undefined) refused.push(String(schema.maximum + 1))
  if (schema.type === 'boolean') refused.push('perhaps', '2')
  if (schema.enum) refused.push('no-such-word', `${String(schema.enum[0])} `)
  if (schema.maxLength !== undefined) refused.push('x'.repeat(schema.maxLength + 1))
  return refused
}

/** The path of a route with every `{parameter}` replaced. */
export function addressOf(route: Route, values: Record<string, string> = {}): string {
  const schemas = propertiesOf(route.params)
  return pathOf(route).replace(/\{(\w+)\+?\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? String(valueFor(schemas[name] ?? { type: 'string' }))),
  )
}

/** The required query parameters, so that the rest of the request is checked. */
export function neededQuery(route: Route, without?: string): URLSearchParams {
  const schemas = propertiesOf(route.query)
  const names = requiredOf(route.query).filter((name) => name !== without && !('default' in (schemas[name] ?? {})))
  return new URLSearchParams(names.map((name): [string, string] => [name, String(valueFor(schemas[name] ?? {}))]))
}
