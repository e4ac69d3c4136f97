// The OpenAPI document and the two pages that show it.
import { readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { pathOf } from '../../../src/api/http/paths.ts'
import type { Route } from '../../../src/api/http/route.ts'
import { STATUS_OF } from '../../../src/api/http/problems.ts'
import { givenBy, keyOf } from '../declared.ts'
import type { Gate } from '../harness.ts'
import { propertiesOf } from '../schema-values.ts'

interface Parameter {
  name: string
  in: string
}

interface Response {
  description: string
  content?: Record<string, { schema: object }>
}

interface Document {
  openapi: string
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, object>>
}

interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security?: object[]
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, unknown> }
  responses: Record<string, Response | { $ref: string }>
}

function bodyTypes({ flags, body, stream }: Route): string[] {
  if (stream) return [...stream.media]
  if (flags?.multipart) return ['multipart/form-data']
  if (!body) return []
  return flags?.formBody ? ['application/json', 'application/x-www-form-urlencoded'] : ['application/json']
}

export function openapiContract(gate: Gate): void {
  const { routes } = gate.app
  const shown = routes.filter((route) => !route.flags?.hidden)
  const load = async () =>
    (await gate.call<Document>('GET', '/api/v1/openapi.json', { as: gate.people.reader.token })).body

  test('is the same at its development address', async () => {
    expect((await gate.call('GET', '/openapi.json', { as: null })).body).toEqual(await load())
  })

  test('has the version of package.json', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
    expect((await load()).info.version).toBe(version)
  })

  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    const result = await validator.validate({ ...(await load()) })
    expect(result.errors ?? []).toEqual([])
    expect(result.valid).toBe(true)
    expect(validator.version).toBe('3.1')
  })

  test('contains every route that is not hidden, and nothing else', async () => {
    const { paths } = await load()
    const found = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(found.sort()).toEqual(shown.map((route) => keyOf(route).replaceAll('+}', '}')).sort())
  })

  test.each(shown.map((route) => [keyOf(route), route] as const))(
    'describes the input and the answers of %s',
    async (_, route) => {
      const { paths, components } = await load()
      const operation = paths[pathOf(route).replaceAll('+}', '}')]?.[route.method.toLowerCase()] as Operation
      const resolved = <T extends object>(one: T | { $ref: string }): T => {
        const [room = '', name = ''] = '$ref' in one ? one.$ref.split('/').slice(-2) : []
        return ('$ref' in one ? components[room]?.[name] : one) as T
      }
      expect(operation.summary).toBe(route.summary)
      const names = (place: string) =>
        operation.parameters.map(resolved<Parameter>).flatMap((one) => (one.in === place ? [one.name] : []))
      expect(names('path')).toEqual([...route.path.matchAll(/\{(\w+)\+?\}/g)].map((match) => match[1]))
      expect(names('query')).toEqual(Object.keys(propertiesOf(route.query)))
      expect(Object.keys(operation.requestBody?.content ?? {})).toEqual(bodyTypes(route))
      const { scheme } = route.protocol?.challenge ?? {}
      const asked = scheme ? [{ [scheme.toLowerCase()]: [] }] : undefined
      expect(operation.security).toEqual(route.access === 'public' ? [] : asked)
      for (const code of givenBy(route)) {
        const { description } = resolved<Response>(
          operation.responses[STATUS_OF[code]] ?? operation.responses['default']!,
        )
        expect(description.split(/, (?:each .*)?/)).toContain(code)
      }
      const types = [...(route.answer ? ['application/json'] : []), ...(route.media ?? [])]
      for (const status of [route.success ?? 200, ...Object.keys(route.also ?? {})].map(Number)) {
        const { content = {} } = resolved<Response>(operation.responses[status]!)
        expect([status, Object.keys(content)]).toEqual([status, [304, 412, 416].includes(status) ? [] : types])
      }
    },
  )

  test('gives each operation a unique id that a generated client can use', async () => {
    const ids = Object.values((await load()).paths).flatMap((operations) =>
      Object.values(operations).map((operation) => operation.operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]*$/)
  })

  test.each(['/docs', '/docs/', '/redoc'])('is shown by %s, with files of this server only', async (path) => {
    const page = await gate.call('GET', path, { as: null })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const named = [...page.text.matchAll(/(?:src|href|spec-url)="([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(named.length).toBeGreaterThan(1)
    for (const file of named) {
      expect(file).toMatch(/^\/[^/]/)
      const answer = await gate.call('GET', file, { as: null })
      expect([file, answer.status, answer.text.length > 10]).toEqual([file, 200, true])
    }
    expect(page.headers['content-security-policy']).toContain("default-src 'self'")
  })

  test('an unknown file of the documentation is refused', async () => {
    expect((await gate.call('GET', '/docs/..%2f..%2fpackage.json', { as: null })).status).toBe(400)
    expect((await gate.call('GET', '/docs/none.js', { as: null })).status).toBe(400)
  })
}
