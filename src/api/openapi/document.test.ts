import { Ajv2020 } from 'ajv/dist/2020.js'
import { Value } from 'typebox/value'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { declarations } from '../contract.ts'
import type { Declaration } from '../http/route.ts'
import { descriptionOf, openapi } from './document.ts'
import { EXAMPLES } from './examples.ts'
import { createSchemas } from './schemas.ts'

interface Parameter {
  name: string
  description?: string
  example?: unknown
  schema: object
}

interface Document {
  paths: Record<string, Record<string, { operationId: string; parameters?: (Parameter | { $ref: string })[] }>>
  components: { parameters: Record<string, Parameter>; schemas: Record<string, object> }
}

/** Bytes of the document without white space, for each operation. Clients load it whole, and generators show it to people. */
const MOST_BYTES = 1_800

const nameOf = ({ method, path }: Declaration) => `${method} ${path}`
const shown = declarations.filter(({ flags }) => !flags?.hidden)
const document = openapi(declarations, { version: '1.2.3' }) as unknown as Document

describe('the example of', () => {
  const withBody = shown.filter(({ body, form }) => body ?? form)
  test.each(withBody.map((route) => [nameOf(route), route] as const))('%s is a body that it takes', (_, route) => {
    expect(route.example).toBeDefined()
    expect([...Value.Errors(route.form ?? route.body ?? {}, route.example)]).toEqual([])
  })
})

test('every parameter has a description and an example that it takes', () => {
  const ajv = new Ajv2020({ strict: false })
  ajv.addSchema(document, 'openapi')
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const faults = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      .map((one) =>
        '$ref' in one ? (document.components.parameters[one.$ref.split('/').at(-1) ?? ''] as Parameter) : one,
      )
      .filter(({ description, example, schema }) => {
        const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"openapi#')) as object
        return !description || example === undefined || !ajv.validate(absolute, example)
      })
      .map(({ name }) => `${operationId}: ${name}`),
  )
  expect(operations.length).toBeGreaterThan(150)
  expect(faults).toEqual([])
})

test.each(Object.entries(EXAMPLES))('the example of %s is such an answer, and has all of its keys', (name, example) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'openapi')
  const validate = ajv.compile({ $ref: `openapi#/components/schemas/${name}` })
  expect([validate(example), validate.errors]).toEqual([true, null])
  const { properties } = document.components.schemas[name] as { properties: object }
  expect(Object.keys(example).filter((key) => !(key in properties))).toEqual([])
})

test('every event stream says what its events hold', () => {
  const streams = shown.filter(({ media }) => media?.includes('text/event-stream'))
  expect(streams.length).toBeGreaterThan(8)
  expect(streams.filter(({ events }) => !events).map(nameOf)).toEqual([])
})

test('is small enough to be loaded whole', () => {
  expect(JSON.stringify(document).length / shown.length).toBeLessThan(MOST_BYTES)
})

describe('schemas', () => {
  test('equal ones with one title are one component, also inside of others', () => {
    const schemas = createSchemas()
    const inner = () => Type.Object({ id: Type.Integer() }, { title: 'Inner' })
    const answer = schemas.shown(Type.Object({ one: inner(), some: Type.Array(inner()) }))
    const inside = { $ref: '#/components/schemas/Inner' }
    expect(answer).toMatchObject({ properties: { one: inside, some: { type: 'array', items: inside } } })
    expect(Object.keys(schemas.named())).toEqual(['Inner'])
  })

  test('different ones with one title are a mistake', () => {
    const schemas = createSchemas()
    schemas.shown(Type.Object({ id: Type.Integer() }, { title: 'Inner' }))
    expect(() => schemas.shown(Type.Object({ id: Type.String() }, { title: 'Inner' }))).toThrow('the title Inner')
  })

  test('a text that may be null has two types, and a property may be called title', () => {
    const schema = Type.Object({ title: Type.Union([Type.String({ maxLength: 3 }), Type.Null()]) })
    expect(createSchemas().shown(schema)).toMatchObject({
      properties: { title: { type: ['string', 'null'], maxLength: 3 } },
    })
  })
})

test.each([
  ['POST /auth/token', 'No credential is needed. At most 10 requests per minute and address.'],
  [
    'POST /distributions/promote',
    'Roles: admin, maintainer. Scope: `promote`. At most 5 requests per minute and caller.',
  ],
  ['POST /auth/logout', 'Any role. It needs a login session: an API token is answered `session_required`.'],
])('the description of %s says who may call it and how often', (name, text) => {
  const route = declarations.find((one) => nameOf(one) === name) as Declaration
  expect(descriptionOf(route)).toBe(text)
})
