// What holds for every declared route. A new route is covered as soon as it is declared.
import { afterAll, describe, expect, test } from 'vitest'
import { invite, startGate } from './harness.ts'
import { accessContract } from './routes/access.ts'
import { addressContract } from './routes/addresses.ts'
import { badCredentials } from './routes/credentials.ts'
import { headerContract } from './routes/headers.ts'
import { inputContract } from './routes/input.ts'
import { openapiContract } from './routes/openapi.ts'

const gate = await startGate({ start: false, people: false })
const credentials = await badCredentials(gate)
await gate.app.start()
await invite(gate)
afterAll(() => gate.close())

describe('access', () => accessContract(gate, credentials))
describe('input', () => inputContract(gate))
describe('paths', () => addressContract(gate))
describe('headers', () => headerContract(gate))
describe('the OpenAPI document', () => openapiContract(gate))

test('no test above caused an unexpected error', () => {
  expect(gate.errors).toEqual([])
})
