// The schemas of the document: a schema with a `title` is a component of that name, and each use of it is a reference.
import type { TSchema } from 'typebox'
import { EXAMPLES } from './examples.ts'

export interface Schemas {
  /** @returns the schema as the document shows it. @throws when two different schemas have one title */
  shown(schema: TSchema): object
  /** the named schemas that were shown, sorted by name */
  named(): Record<string, object>
}

type Schema = Record<string, unknown>

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ['items', 'additionalProperties', 'propertyNames', 'not']
const LISTS = ['anyOf', 'allOf', 'oneOf', 'prefixItems']
const MAPS = ['properties', 'patternProperties']

export function createSchemas(): Schemas {
  const declared = new Map<string, string>()
  const components = new Map<string, object>()

  const shown = (schema: Schema): Schema => {
    const { title, ...rest } = schema
    if (typeof title !== 'string') return plain(inner(rest, shown))
    const text = JSON.stringify(rest)
    const before = declared.get(title)
    if (before !== undefined && before !== text) throw new Error(`two different schemas have the title ${title}`)
    declared.set(title, text)
    const example = EXAMPLES[title]
    if (before === undefined)
      components.set(title, { ...plain(inner(rest, shown)), ...(example ? { examples: [example] } : {}) })
    return { $ref: `#/components/schemas/${title}` }
  }

  return {
    shown: (schema) => shown(schema as unknown as Schema),
    named: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Applies a function to the schemas inside of a schema. */
function inner(schema: Schema, change: (inner: Schema) => Schema): Schema {
  const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null
  const changed = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (ONE.includes(keyword) && isSchema(value)) return [keyword, change(value)]
    if (LISTS.includes(keyword)) return [keyword, (value as Schema[]).map(change)]
    if (!MAPS.includes(keyword)) return [keyword, value]
    return [
      keyword,
      Object.fromEntries(Object.entries(value as Record<string, Schema>).map(([n, s]) => [n, change(s)])),
    ]
  })
  return Object.fromEntries(changed)
}

/** The same schema in the words that generators of clients know best. */
function plain(schema: Schema): Schema {
  if (Array.isArray(schema['enum']) && !schema['type'] && schema['enum'].every((value) => typeof value === 'string'))
    return { type: 'string', ...schema }
  const { patternProperties, ...rest } = schema
  const [any, ...others] = Object.entries((patternProperties ?? {}) as Record<string, Schema>)
  if (any?.[0] === '^.*$' && others.length === 0) return { ...rest, additionalProperties: any[1] }
  return nullable(schema)
}

/** `type: [string, null]` in place of a union of a text, number or boolean with null. */
function nullable(schema: Schema): Schema {
  const { anyOf, ...rest } = schema as { anyOf?: Schema[] }
  const [of, none, ...more] = anyOf ?? []
  if (none?.['type'] !== 'null' || more.length > 0) return schema
  if (!['string', 'integer', 'number', 'boolean'].includes(of?.['type'] as string)) return schema
  const { enum: values, ...kept } = of as { enum?: unknown[]; type: string }
  return { ...kept, ...rest, type: [kept.type, 'null'], ...(values ? { enum: [...values, null] } : {}) }
}
