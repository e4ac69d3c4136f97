import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { acceptBodies, createBodyBudget, parseJson } from './bodies.ts'
import { problemOf } from './problems.ts'
import { sendProblem } from './protocol.ts'

const parse = (text: string) => parseJson(Buffer.from(text))

test.each([
  ['', undefined],
  ['{"a":[1,"b\\"]",{"c":null}]}', { a: [1, 'b"]', { c: null }] }],
  ['"\\u00e9"', 'é'],
  ['{"a":{"__proto__":1,"b":"\\u0041"}}', { a: { b: 'A' } }],
  [`{"text":"${'[{,'.repeat(60_000)}"}`, { text: '[{,'.repeat(60_000) }],
])('%s is parsed', (text, value) => {
  expect(parse(text)).toEqual(value)
})

test.each([
  ['not JSON', '{"a"', 'body: is not valid JSON'],
  ['NUL in a string', '{"a":"\\u0000"}', 'a: contains NUL'],
  ['half a surrogate pair in a list', '["\\ud800"]', 'body: contains NUL'],
  ['half a surrogate pair in a name', '{"\\ud800":1}', 'body: contains NUL'],
  ['NUL below an escaped name', '{"a":{"b":[{"c":"\\u0000"}]}}', 'c: contains NUL'],
  ['a megabyte of numbers', `[${'1,'.repeat(500_000)}1]`, 'body: has more than 50000 values'],
  ['a megabyte of objects', `[${'{},'.repeat(300_000)}{}]`, 'body: has more than 50000 values'],
  ['a megabyte of brackets', '['.repeat(1_000_000), 'body: is nested deeper than 64 levels'],
  ['a megabyte of nested objects', '{"a":'.repeat(200_000), 'body: is nested deeper than 64 levels'],
])('%s is refused', (_, text, sentence) => {
  expect(() => parse(text)).toThrow(sentence)
})

test('the largest unfinished body is dropped when those of anonymous callers exceed their budget', async () => {
  const app = Fastify()
  const budget = createBodyBudget(1_000)
  app.decorateRequest('caller', null)
  acceptBodies(app, budget)
  app.setErrorHandler((error, request, reply) => sendProblem(reply, problemOf(error, request.id).problem))
  app.post('/', async ({ body }) => body)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const large = connect(port, '127.0.0.1')
  large.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n')
  large.write(`"${'x'.repeat(899)}`)
  await expect.poll(() => budget.totalBytes).toBe(900)
  const refused = once(large, 'data')
  const small = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'x'.repeat(200) }),
  })
  expect(small.status).toBe(200)
  expect(String(await refused)).toMatch(/^HTTP\/1\.1 503 [^]*"code":"overloaded"/)
  expect(budget.totalBytes).toBe(0)
  large.destroy()
  await app.close()
})
