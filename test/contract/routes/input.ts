// Bodies, queries and path parameters that do not match the declaration of a route.
import { expect, test } from 'vitest'
import { ACCESS } from '../../../src/domain/roles.ts'
import type { Route } from '../../../src/api/http/route.ts'
import { keyOf } from '../declared.ts'
import type { Gate } from '../harness.ts'
import {
  addressOf,
  neededQuery,
  propertiesOf,
  refusedTexts,
  requiredOf,
  SAMPLE_TEXT,
  valueFor,
  wrongTypeFor,
} from '../schema-values.ts'

interface Refusal {
  code: string
  detail: string
  errors: { field: string; message: string }[]
}

export function inputContract(gate: Gate): void {
  // Protocols of others have errors of their own, and suites of their own.
  const routes = gate.app.routes.filter(({ protocol }) => !protocol)
  const withBody = routes.filter((route) => route.body).map((route) => [keyOf(route), route] as const)
  /** A caller whom the route admits, so that the input is checked. */
  const callerOf = (route: Route) => (route.access === 'public' ? null : gate.people[ACCESS[route.access][0]].session)
  const json = { 'content-type': 'application/json' }

  async function refused(route: Route, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const reply = await gate.call<Refusal>(route.method, path, {
      as: callerOf(route),
      headers,
      ...(body === undefined ? {} : { body }),
    })
    expect([path, reply.status, reply.body.code], reply.text).toEqual([path, 400, 'validation_error'])
    expect(reply.body.errors.length).toBeGreaterThan(0)
    for (const error of reply.body.errors)
      expect(error).toEqual({ field: expect.stringMatching(/./), message: expect.stringMatching(/./) })
    return reply.body.errors.map((error) => error.field)
  }

  test.each(withBody)('%s refuses a body that is not a JSON object', async (_, route) => {
    const path = addressOf(route)
    for (const text of ['{"broken', 'null', '[]', '"text"', '7', '{"a":1}{"b":2}', '\u0000', '['.repeat(50_000)])
      await refused(route, path, Buffer.from(text), json)
    if (!route.flags?.optionalBody) await refused(route, path, Buffer.from(''), json)
    await refused(route, path, Buffer.from([0x7b, 0x22, 0xff, 0xfe]), json)
    if (!route.flags?.optionalBody) await refused(route, path)
    await refused(route, path, Buffer.from('<a/>'), { 'content-type': 'text/xml' })
    await refused(route, path, Buffer.from('{}'), { 'content-type': 'nonsense' })
  })

  test.each(withBody)('%s names each field that is missing or has a wrong type', async (_, route) => {
    const properties = Object.entries(propertiesOf(route.body))
    const required = requiredOf(route.body)
    if (required.length > 0)
      expect(await refused(route, addressOf(route), {})).toEqual(expect.arrayContaining(required))
    const whole = valueFor(route.body as object) as Record<string, unknown>
    for (const [name, schema] of properties) {
      const wrong = wrongTypeFor(schema)
      if (wrong !== undefined)
        expect(await refused(route, addressOf(route), { ...whole, [name]: wrong })).toEqual([name])
      if (schema.maxLength !== undefined)
        expect(
          await refused(route, addressOf(route), { ...whole, [name]: 'x'.repeat(schema.maxLength + 1) }),
        ).toContain(name)
    }
  })

  test.each(withBody)('%s refuses a body of more than 1 MB with 413', async (_, route) => {
    const reply = await gate.call(route.method, addressOf(route), {
      as: callerOf(route),
      body: { padding: 'x'.repeat(1024 * 1024) },
    })
    expect([reply.status, reply.body['code']]).toEqual([413, 'body_too_large'])
  })

  test.each(withBody)('%s has no server error for strings that a database cannot store', async (_, route) => {
    const whole = valueFor(route.body as object) as Record<string, unknown>
    for (const [name, schema] of Object.entries(propertiesOf(route.body))) {
      if (schema.type !== 'string') continue
      for (const text of ['a\u0000b', '\ud800', '\u{10ffff}', "'; drop table users; --"]) {
        const { status } = await gate.call(route.method, addressOf(route), {
          as: callerOf(route),
          body: { ...whole, [name]: text },
          headers: { 'x-forwarded-for': '203.0.113.2' },
        })
        expect([name, text, status < 500]).toEqual([name, text, true])
      }
    }
  })

  const withQuery = routes.filter((route) => route.query).map((route) => [keyOf(route), route] as const)
  test.each(withQuery)('%s refuses queries out of range and names the parameter', async (_, route) => {
    for (const [name, schema] of Object.entries(propertiesOf(route.query))) {
      const around = neededQuery(route, name)
      const of = (...pairs: [string, string][]) =>
        `${addressOf(route)}?${new URLSearchParams([...around, ...pairs]).toString()}`
      // The body is validated before the query.
      const body = route.body ? valueFor(route.body) : undefined
      for (const text of refusedTexts(schema))
        expect([text, await refused(route, of([name, text]), body)]).toEqual([text, [name]])
      const fitting = String(valueFor(schema))
      expect(await refused(route, of([name, fitting], [name, fitting]), body), 'given twice').toEqual([name])
      expect(await refused(route, of([name, 'a\u0000b']), body), 'NUL').toEqual([name])
    }
  })

  const withParams = routes.filter((route) => route.params).map((route) => [keyOf(route), route] as const)
  test.each(withParams)('%s refuses invalid path parameters', async (_, route) => {
    for (const [name, schema] of Object.entries(propertiesOf(route.params))) {
      const body = route.body ? valueFor(route.body) : undefined
      for (const text of [...refusedTexts(schema), 'a\u0000b']) {
        expect([text.slice(0, 40), await refused(route, addressOf(route, { [name]: text }), body)]).toEqual([
          text.slice(0, 40),
          [name],
        ])
      }
      await refused(route, addressOf(route, { [name]: 'BROKEN' }).replace('BROKEN', '%ff'), body)
      await refused(route, addressOf(route, { [name]: 'BROKEN' }).replace('BROKEN', '%zz'), body)
    }
  })

  test.each(withParams)('%s answers 404 or has nothing to do for an unknown name', async (_, route) => {
    const body = route.body ? valueFor(route.body) : undefined
    for (const text of [SAMPLE_TEXT, 'a/b', '../../etc/passwd', 'ü', 'a'.repeat(1000)]) {
      const names = Object.fromEntries(Object.keys(propertiesOf(route.params)).map((name) => [name, text]))
      const { status } = await gate.call(route.method, addressOf(route, names), {
        as: callerOf(route),
        headOnly: route.answer === null,
        ...(body === undefined ? {} : { body }),
      })
      expect([text, status < 500]).toEqual([text, true])
    }
  })

  test('unknown body keys are ignored, __proto__ among them', async () => {
    const body = Buffer.from(
      '{"username":"extra-keys","password":"Contract-pass-1","role":"reader","__proto__":{"role":"admin"},"id":99,"constructor":{}}',
    )
    const reply = await gate.call('POST', '/auth/users', { body, headers: json })
    expect([reply.status, reply.body]).toMatchObject([201, { username: 'extra-keys', role: 'reader' }])
  })

  test('a login may be form encoded', async () => {
    const body = Buffer.from(`username=${gate.people.reader.username}&password=Contract-pass-1&grant_type=password`)
    const reply = await gate.call('POST', '/auth/token', {
      as: null,
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(reply).toMatchObject({ status: 200, body: { token_type: 'bearer', mfa_required: false, expires_in: 3600 } })
  })
}
